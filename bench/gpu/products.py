"""``python -m mlopt.bench.gpu.products``: products on tensor cores, and Triton's beside them, without a GPU.

    python -m venv .venv-triton && .venv-triton/bin/pip install triton==3.9.0    once
    python -m mlopt.bench.gpu.products                            every product, for sm_80
    python -m mlopt.bench.gpu.products bias --triton PYTHON       some; Triton of another Python
    python -m mlopt.bench.gpu.products --save                     and write gpu_products.md

Each is compiled with the block that the schedule chooses, and Triton's kernel is told the same block; one
ptxas assembles both. Products of f32 round their factors to the nearest tf32, in Triton's kernels, too
(cvt.rna). Without being told to it leaves f32 to the tensor cores, which cut bits off: another result, in a
table of its own. Exits with 1 if a kernel of ours spills, or has more registers, shared memory or
instructions in its main loop than Triton's of the same result.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...runtime.cuda.chips import Chip, find_chip
from ...runtime.cuda.ptxas import find_ptxas
from .arguments import finish, parse_arguments
from .beside_triton import TRITON, assembled, made_by_triton
from .machine_code import Code, parse
from .product_problems import PROBLEMS, Problem, compile_problem, told
from .to_ptx import MEANING, ToPtx, time_to_ptx, told_times

RESULTS = Path(__file__).parent.parent / "results" / "gpu_products.md"
MULTIPLIES = ("HMMA", "IMMA")
_CUT = (
    "Triton's products of f32 as it makes them: the tensor cores cut off what tf32 has not, up to 2^-10 of a "
    "factor, always towards zero, where ours, and those above, round to the nearest, 2^-11 at most. Of our "
    "loop 208 instructions round 128 factors (half an ulp where a comparison finds no NaN). A step keeps an "
    "A100's tensor cores busy for 2048 cycles, in which a scheduler issues its two warps' 918 to 1094 "
    "instructions; shared memory has room for one block either way."
)


@dataclass(frozen=True)
class Kernel:
    """``loop``: the instructions of the main loop, of which so many multiply on tensor cores."""

    registers: int
    spills: int
    shared: int
    instructions: int
    loop: int
    multiplies: int

    @staticmethod
    def of(code: Code, registers: int, spills: int, shared: int) -> Kernel:
        """Counts a kernel's code."""
        real = [each for each in code.instructions if each.name != "NOP"]
        loop = code.loop_with(*MULTIPLIES)
        multiplies = sum(each.name.startswith(MULTIPLIES) for each in loop)
        return Kernel(registers, spills, shared, len(real), len(loop), multiplies)


@dataclass(frozen=True)
class Row:
    """A product: the block, our kernel and Triton's; ``to_ptx``: the CPU time from linalg to our PTX."""

    name: str
    block: str
    ours: Kernel
    triton: Kernel
    to_ptx: ToPtx

    @property
    def ratios(self) -> dict[str, float]:
        """Ours over Triton's: registers, shared memory, instructions of the loop for a step of the block."""
        return {
            "registers": self.ours.registers / self.triton.registers,
            "shared memory": self.ours.shared / max(self.triton.shared, 1),
            "loop": self.ours.loop / max(self.triton.loop, 1),
        }


def compile_ours(problem: Problem, chip: Chip) -> tuple[str, Kernel, ToPtx]:
    """The block that the schedule chose, the kernel, and the CPU time from linalg to PTX."""
    block, compiled, kernel = compile_problem(problem, chip)
    assert compiled.report.gpu is not None, "the target is a GPU"
    code = parse(compiled.asm["cubin"])[kernel.name]
    spills = max(each.spills or 0 for each in compiled.report.gpu.kernels)
    made = Kernel.of(code, kernel.registers or 0, spills, kernel.shared)
    return block, made, time_to_ptx(compiled.asm["linalg"], chip, problem.kind == "tf32")


def compile_triton(launch: dict[str, Any], chip: Chip) -> Kernel:
    """Triton's kernel from its PTX."""
    code, made = assembled(launch["ptx"], chip)
    return Kernel.of(code, made.registers, made.spill_stores, launch["shared"])


def table(rows: Sequence[Row], cut: Sequence[Row], chip: Chip, version: str) -> str:
    """The rows in Markdown; those beside Triton's that ``cut`` bits off below."""
    ptxas = find_ptxas(chip)
    head = [
        f"# Products on tensor cores beside Triton's, for {chip.name}, without a GPU",
        "Made by `python -m mlopt.bench.gpu.products --save`.",
        f"Triton {version} (`bench/gpu/triton_products.py`), ahead of time, with the block that our schedule "
        f"chose, and as many steps in shared memory; both through ptxas {ptxas.version if ptxas else '?'}. "
        "`loop`: SASS of the main loop, of which so many are HMMA or IMMA; it makes one step of "
        "the block on either side.",
        f"{MEANING} {told_times([row.to_ptx for row in rows])}",
    ]
    return "\n\n".join([*head, _lines(rows), *([_CUT, _lines(cut)] if cut else [])])


def _lines(rows: Sequence[Row]) -> str:
    titles = [
        "| product | block | registers | Triton | ratio | shared memory | Triton | ratio | loop | Triton "
        "| ratio | instructions | Triton | s to PTX |",
        f"|{' --- |' * 14}",
    ]
    return "\n".join([*titles, *map(_line, rows)])


def _line(row: Row) -> str:
    cells = [row.name, row.block]
    sides = (row.ours, row.triton)
    for what, each in (
        ("registers", [str(side.registers) for side in sides]),
        ("shared memory", [str(side.shared) for side in sides]),
        ("loop", [f"{side.loop} ({side.multiplies})" for side in sides]),
    ):
        cells += [*each, f"{row.ratios[what]:.2f}"]
    cells += [*(str(side.instructions) for side in sides), str(row.to_ptx)]
    return f"| {' | '.join(cells)} |"


def surprises(rows: Sequence[Row]) -> list[str]:
    """What is above Triton's, and what spills."""
    return [
        *(
            f"{row.name}: more {what} than Triton's"
            for row in rows
            for what, ratio in row.ratios.items()
            if ratio > 1
        ),
        *(f"{row.name}: spills {row.ours.spills} bytes" for row in rows if row.ours.spills),
    ]


def main(arguments: Sequence[str]) -> int:
    """Compile both, print; 0 if everything is as known."""
    parser = argparse.ArgumentParser(prog="python -m mlopt.bench.gpu.products")
    parser.add_argument("--triton", default=str(TRITON), metavar="PYTHON", help=f"default: {TRITON}")
    options = parse_arguments(parser, arguments, RESULTS)
    chip = find_chip(options.chip)
    problems = [
        each for each in PROBLEMS if not options.only or any(part in each.name for part in options.only)
    ]
    compile_ours(problems[0], chip)  # the first one loads MLIR and LLVM, too
    ours = [compile_ours(problem, chip) for problem in problems]
    every = [(at, problem.kind == "tf32") for at, problem in enumerate(problems)]
    own = [(at, False) for at, rounds in every if rounds]
    asked = [{**told(problems[at], ours[at][0]), "rounds": rounds} for at, rounds in every + own]
    try:
        triton = made_by_triton(options.triton, "triton_products.py", chip, asked)
    except OSError as error:
        parser.error(str(error))
    rows = [
        Row(problems[at].name, block, kernel, compile_triton(launch, chip), to_ptx)
        for (at, _), launch in zip(every + own, triton["kernels"], strict=True)
        for block, kernel, to_ptx in [ours[at]]
    ]
    same, cut = rows[: len(every)], rows[len(every) :]
    text = table(same, cut, chip, triton["version"])
    return finish(text, RESULTS if options.save else None, surprises(same))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
