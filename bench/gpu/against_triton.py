"""``python -m mlopt.bench.gpu.against_triton``: our machine code beside Triton's, without a GPU.

    python -m venv .venv-triton && .venv-triton/bin/pip install triton==3.9.0    once
    python -m mlopt.bench.gpu.against_triton                            every operation, for sm_80
    python -m mlopt.bench.gpu.against_triton softmax --triton PYTHON    some; Triton of another Python
    python -m mlopt.bench.gpu.against_triton --save                     and write gpu_triton.md

Triton makes PTX in a process of its own (bench/gpu/triton_ptx.py says how); one ptxas assembles both. Exits
with 1 if an operation has more instructions an element, or more registers, than Triton's plus 5 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import mlopt
import torch
from mlopt import emulator
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ...compiled import Compiled
from ...runtime.cuda.chips import Chip, find_chip
from ...runtime.cuda.ptxas import find_ptxas
from ...test.corpus.basic import Function
from .arguments import finish, parse_arguments
from .attentions import ATTENTIONS
from .beside_triton import HERE, TRITON, assembled, made_by_triton, with_reasons
from .machine_code import Code, Instruction, parse
from .operations import OPERATIONS, Operation
from .places import WIDEST
from .timed import TIMED
from .workload import Source

RESULTS = HERE.parent / "results" / "gpu_triton.md"
MOST = 1.05

STEP, FREE = 8, 32  # registers are handed out by eights; up to 32 a multiprocessor holds all its 64 warps

UNCHECKED = ", unchecked"  # of operations whose Triton kernels are compiled without their assertions


@dataclass(frozen=True)
class Kernel:
    """One kernel's code: instructions without NOPs, registers, elements of a thread, and what it runs.

    ``share`` are a thread's elements, or those of a turn of its loop: what is stored there, or else loaded;
    ``run`` the instructions that all threads run if no assertion fails, for each element of the operation.
    Of a kernel that multiplies on tensor cores it is all about the shortest loop that does most of that, and
    the products in there.
    """

    instructions: int
    registers: int
    share: float
    run: float

    @staticmethod
    def of(code: Code, registers: int, threads: int, elements: int, size: int, own: int = 0) -> Kernel:
        """``elements`` of ``size`` bytes are the operation's, ``threads`` those that are launched.

        ``own`` are the elements of this kernel, if they are fewer.
        """
        products = _real(code.loop_with("HMMA"))
        if products:
            count = sum(each.name.startswith("HMMA") for each in products)
            return Kernel(len(products), registers, count, len(products) / count)
        share = (own or elements) / threads
        real, loops = _real(code.instructions), [_real(loop) for loop in code.loops()]
        turn, run = share, float(len(real) - len(_real(code.reports())))
        for loop in loops:
            name = next((name for name in ("STG", "LDG") if _moved(loop, name)), None)
            if name is not None:
                moved = _moved(loop, name) / size
                straight = (_moved(real, name) - sum(_moved(other, name) for other in loops)) / size
                turn = min(moved, share)
                run += len(loop) * max((share - straight) / turn - 1, 0)
        return Kernel(len(real), registers, turn, run * threads / elements)


def _real(instructions: Sequence[Instruction]) -> list[Instruction]:
    return [each for each in instructions if each.name != "NOP"]


def _moved(loop: Sequence[Instruction], name: str) -> int:
    """The bytes of the wide accesses of a kind."""
    return sum(each.bits // 8 for each in loop if each.name.startswith(name) and each.bits == WIDEST)


@dataclass(frozen=True)
class Row:
    """One operation: our kernels and Triton's."""

    operation: str
    ours: tuple[Kernel, ...]
    triton: tuple[Kernel, ...]

    @property
    def ratios(self) -> dict[str, float]:
        """Ours over Triton's: instructions an element, and the registers that the largest kernel is given."""
        instructions = [sum(each.run for each in side) for side in (self.ours, self.triton)]
        registers = [max(map(_handed_out, side)) for side in (self.ours, self.triton)]
        return {
            "instructions": instructions[0] / instructions[1],
            "registers": registers[0] / registers[1],
        }

    @property
    def registers(self) -> tuple[int, int]:
        """Of the largest kernel of each side, as ptxas counts them."""
        ours, theirs = (max(kernel.registers for kernel in side) for side in (self.ours, self.triton))
        return ours, theirs

    @property
    def unpaid(self) -> str:
        """Why more than 5 % more registers cost nothing, or nothing if there are not or they do."""
        ours, theirs = self.registers
        if ours <= MOST * theirs or self.ratios["registers"] > 1:
            return ""
        given = max(map(_handed_out, self.ours))
        why = "with which a multiprocessor holds all its warps" if given == FREE else "by eights"
        return f"{ours} and {theirs}: both sides are given {given}, {why}"


def _handed_out(kernel: Kernel) -> int:
    return max(-(-kernel.registers // STEP) * STEP, FREE)


@dataclass(frozen=True)
class Subject:
    """What a row is about.

    ``elements`` of ``size`` bytes are those of its largest tensor, or of the rows that are taken of a table;
    ``dynamic`` are the sizes that are known at the call only.
    """

    module: nn.Module
    inputs: Sequence[Tensor]
    elements: int
    size: int
    dynamic: Any = None

    @staticmethod
    def of(name: str) -> Subject:
        """By the row's name; of the benchmark's operations only sizes and dtypes are wanted."""
        if name in TIMED:
            timed = TIMED[name]
            inputs = timed.inputs(Source(timed.dtype, empty=True), tiny=False)
            shapes = tuple(each.to("meta") for each in inputs)
            results = timed.function(*shapes)
            shapes = (results,) if timed.table else (*shapes, results)
            return Subject(Function(timed.function), inputs, *_largest(shapes))
        operation = operation_of(name)
        module, inputs = operation.module(), operation.inputs()
        with torch.no_grad():
            largest = _largest([*inputs, *pytree.tree_leaves(module(*inputs))])
        return Subject(module, inputs, *largest, operation.case.dynamic_shapes())


def _largest(tensors: Sequence[Tensor]) -> tuple[int, int]:
    """How many elements the largest tensor has, and their size: the least, of several."""
    most = max(tensor.numel() for tensor in tensors)
    return most, min(tensor.element_size() for tensor in tensors if tensor.numel() == most)


def measure(name: str, launches: Sequence[dict[str, Any]], chip: Chip) -> Row:
    """The row of an operation; ``launches`` are Triton's: PTX and threads."""
    subject = Subject.of(name)
    elements, size = subject.elements, subject.size
    with torch.no_grad():
        compiled = mlopt.jit(
            subject.module,
            *subject.inputs,
            dynamic_shapes=subject.dynamic,
            target=f"cuda:{chip.name}",
            device="emulator",
        )
    codes = parse(compiled.asm["cubin"])
    moved = {kernel.name: kernel.bytes for kernel in compiled.report.kernels}
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    registers = {kernel.name: kernel.registers or 0 for kernel in gpu.kernels}
    ours = []
    for kernel, threads in _launched(compiled, subject.inputs):
        known = subject.dynamic is None and moved.get(kernel)
        own = min(elements, -(-(known or elements * size) // size))
        ours.append(Kernel.of(codes[kernel], registers[kernel], threads, elements, size, own))
    theirs = [_triton(launch, chip, elements, size) for launch in launches]
    return Row(name, tuple(ours), tuple(theirs))


def _launched(compiled: Compiled, inputs: Sequence[Tensor]) -> list[tuple[str, int]]:
    """The kernels that run, and the threads of each: where sizes tell, as a call has them, of one block."""
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    kernels = [kernel for kernel in gpu.kernels if not kernel.name.endswith("_unaligned")]
    if all(kernel.grid for kernel in kernels):
        return [(each.name, prod(each.grid or ()) * (each.threads or 0)) for each in kernels]
    with emulator.record(blocks={kernel.name: 1 for kernel in kernels}) as launches, torch.no_grad():
        compiled(*inputs)
    return [(each.kernel, prod(each.grid) * prod(each.block)) for each in launches]


def operation_of(name: str) -> Operation:
    """What a row of the gates' operations is about."""
    return (OPERATIONS | ATTENTIONS)[name.removesuffix(UNCHECKED)]


def _triton(launch: dict[str, Any], chip: Chip, elements: int, size: int) -> Kernel:
    code, made = assembled(launch["ptx"], chip)
    return Kernel.of(code, made.registers, launch["threads"], elements, size, launch["elements"])


def table(rows: Sequence[Row], chip: Chip, version: str) -> str:
    """The rows in Markdown, and why some are above."""
    ptxas = find_ptxas(chip)
    head = [
        f"# Our kernels beside Triton's, for {chip.name}, without a GPU",
        "Made by `python -m mlopt.bench.gpu.against_triton --save`.",
        f"Triton {version} (`bench/gpu/triton_*.py`), ahead of time; both through ptxas "
        f"{ptxas.version if ptxas else '?'}. No ftz on either side, no contraction of a * b + c; Triton's "
        "divisions are off by up to 2 ulp, and its tanh-GELU is not rounded between its steps, as eager's "
        "and ours is. Names with hyphens are the benchmark's operations (`bench/gpu/timed.py`) at its "
        "sizes, the others those of the gates (`bench/gpu/operations.py`). Instructions are the code's, "
        "SASS without NOPs, slow paths included; elements a thread's, or those of a turn of its loop. The "
        "first ratio is of the instructions that all threads run, a loop as often as its elements need it, "
        "and on neither side what runs where an index is outside. "
        "Where our blocks take turns at rows, so do Triton's programs, with the next row loaded before this"
        " one is computed. Sizes that are known at the call only are arguments on both sides. "
        "Of attention the loop over keys that masks nothing is counted, and its products "
        "of 16 x 8 x 16 (HMMA), weights below 2^-126 being 0 on both sides. Registers are those that ptxas "
        "counts, and their ratio that of the largest kernels. Compared are those handed out, the last "
        f"column: a multiprocessor gives them to threads by eights, and of {FREE} it has enough for all the "
        "warps that it holds, so that fewer, or some of eight more, change nothing. Embedding and "
        "gather assert in Triton too that an index is inside, as they do where torch's Inductor compiles "
        "them; the rows that are called unchecked are without.",
    ]
    lines = [
        "| operation | instructions | Triton | elements a thread | Triton | ratio | registers | Triton "
        "| ratio | handed out |",
        f"|{' --- |' * 10}",
    ]
    lines += [_line(row) for row in rows]
    unpaid = {(row.operation, "registers"): row.unpaid for row in rows if row.unpaid}
    return with_reasons(head, lines, unpaid)


def _line(row: Row) -> str:
    def each(side: Sequence[Kernel], name: str) -> str:
        return " + ".join(f"{getattr(kernel, name):.4g}" for kernel in side)

    cells = [row.operation]
    for name in ("instructions", "share", "registers"):
        cells += [each(side, name) for side in (row.ours, row.triton)]
        cells += [f"{row.ratios['instructions']:.2f}"] if name == "share" else []
    ours, theirs = row.registers
    cells += [f"{ours / theirs:.2f}", f"{row.ratios['registers']:.2f}"]
    return f"| {' | '.join(cells)} |"


def above(rows: Sequence[Row]) -> list[str]:
    """What is more than 5 % above."""
    return [
        f"{row.operation}: more {what} than Triton plus 5 %"
        for row in rows
        for what, ratio in row.ratios.items()
        if ratio > MOST
    ]


def main(arguments: Sequence[str]) -> int:
    """Compile both, print; 0 if nothing is above."""
    parser = argparse.ArgumentParser(prog="python -m mlopt.bench.gpu.against_triton")
    parser.add_argument("--triton", default=str(TRITON), metavar="PYTHON", help=f"default: {TRITON}")
    options = parse_arguments(parser, arguments, RESULTS)
    chip = find_chip(options.chip)
    try:
        triton = made_by_triton(options.triton, "triton_ptx.py", chip)
    except OSError as error:
        parser.error(str(error))
    rows = [
        measure(name, launches, chip)
        for name, launches in triton["operations"].items()
        if not options.only or any(part in name for part in options.only)
    ]
    return finish(table(rows, chip, triton["version"]), RESULTS if options.save else None, above(rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
