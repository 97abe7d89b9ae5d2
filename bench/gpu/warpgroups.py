"""``python -m mlopt.bench.gpu.warpgroups``: products for Hopper, and Triton's beside them, without a GPU.

    python -m mlopt.bench.gpu.warpgroups                         every product
    python -m mlopt.bench.gpu.warpgroups gelu --triton PYTHON    some; Triton of another Python
    python -m mlopt.bench.gpu.warpgroups --save                  and write gpu_warpgroups.md

Each is compiled with the block that the schedule chooses, and Triton's kernel is told the same block; one
ptxas assembles both. Triton's factors and results come and go by boxes, from tensor maps that the host makes
(`triton_warpgroups.py`), where their rows are multiples of 16 bytes, else by masked pointers. It has no warp
that only copies: asked for one (``tl.range(warp_specialize=True)``, 4096x4096x4096 in bf16 by 128x256x64) its
compiler leaves a kernel of 8 warps as it is, and fails for 4. Of factors of f32 our boxes bring the nearest
tf32; of Triton's, tensor cores cut bits off. Exits with 1 if a kernel of ours misses a gate (`Facts.misses`)
for which `MISSED` has no reason, or has one that is not true.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...passes.gpu.layouts.access import WIDE
from ...passes.gpu.layouts.warpgroup import ROWS
from ...runtime.cuda.chips import Chip, find_chip
from ...runtime.cuda.ptxas import find_ptxas
from .arguments import finish, parse_arguments
from .beside_triton import TRITON, assembled, made_by_triton, with_reasons
from .machine_code import Code, parse
from .product_problems import DTYPES, HOPPER_PROBLEMS, Problem, compile_problem, told
from .to_ptx import MEANING, ToPtx, time_to_ptx, told_times

RESULTS = Path(__file__).parent.parent / "results" / "gpu_warpgroups.md"
CHIP = "sm_90a"
WIDEST = 128  # columns that an instruction of warpgroups should have
MULTIPLIES = ("HGMMA", "IGMMA", "QGMMA", "HMMA", "IMMA")
BOXES = ("UTMALDG", "UTMASTG", "STSM")
_COLUMNS = re.compile(r"GMMA\.\d+x(\d+)x")
_SHORT = (
    "rows are no multiples of 16 bytes, as boxes and wide copies want them: single elements pass through "
    "threads"
)
MISSED: dict[tuple[str, str], str] = {("4095x4097x4093 bf16", gate): _SHORT for gate in ("columns", "boxes")}


@dataclass(frozen=True)
class Facts:
    """What ptxas makes of a kernel.

    ``columns`` of its widest instruction of warpgroups, 0 without; ``boxes``: which of `BOXES` it has;
    ``loop``: the instructions of the main loop, of which so many multiply on tensor cores.
    """

    registers: int
    spills: int
    warnings: int
    shared: int
    columns: int
    boxes: tuple[str, ...]
    loop: int
    multiplies: int
    instructions: int

    @staticmethod
    def of(code: Code, registers: int, spills: int, warnings: int, shared: int) -> Facts:
        """Counts a kernel's code."""
        real = [each for each in code.instructions if each.name != "NOP"]
        loop = code.loop_with(*MULTIPLIES)
        columns = [int(found[1]) for each in real if (found := _COLUMNS.search(each.name))]
        multiplies = sum(each.name.startswith(MULTIPLIES) for each in loop)
        boxes = tuple(name for name in BOXES if code.named(name))
        counts = len(loop), multiplies, len(real)
        return Facts(registers, spills, warnings, shared, max(columns, default=0), boxes, *counts)

    def misses(self, problem: Problem) -> list[str]:
        """The gates that this misses; of fewer rows than warpgroups have, or columns, two are not asked."""
        allows = problem.m >= ROWS and problem.n >= WIDEST
        held = {
            "spills": not self.spills,
            "warnings": not self.warnings,
            "columns": not allows or self.columns >= WIDEST,
            "boxes": not allows or "UTMALDG" in self.boxes,
        }
        return [gate for gate, holds in held.items() if not holds]


@dataclass(frozen=True)
class Row:
    """A product: the block, our kernel, the bytes that its twin for what is unaligned spills, Triton's.

    ``to_ptx``: the CPU time from linalg to our PTX.
    """

    problem: Problem
    block: str
    ours: Facts
    twin: int
    to_ptx: ToPtx
    triton: Facts

    @property
    def misses(self) -> list[str]:
        """The gates that our kernel, or its twin, misses."""
        return self.ours.misses(self.problem) + ["the twin's spills"] * bool(self.twin)


def compile_ours(problem: Problem, chip: Chip) -> tuple[str, Facts, int, ToPtx]:
    """The block that the schedule chose, the kernel, the bytes that its twin spills, and the time to PTX."""
    block, compiled, kernel = compile_problem(problem, chip)
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    code = parse(compiled.asm["cubin"])[kernel.name]
    twin = max(
        (each.spills or 0 for each in gpu.kernels if each.name == f"{kernel.name}_unaligned"), default=0
    )
    made = (kernel.registers or 0, kernel.spills or 0, len(gpu.warnings), kernel.shared)
    to_ptx = time_to_ptx(compiled.asm["linalg"], chip, problem.kind == "tf32")
    return block, Facts.of(code, *made), twin, to_ptx


def compile_triton(launch: Mapping[str, Any], chip: Chip) -> Facts:
    """Triton's kernel from its PTX; stores and loads of what it spills count, as in ours."""
    code, made = assembled(launch["ptx"], chip)
    spills = made.spill_stores + made.spill_loads
    return Facts.of(code, made.registers, spills, 0, launch["shared"])


def has_maps(problem: Problem) -> bool:
    """Whether rows of factors and results are multiples of 16 bytes, as tensor maps want them."""
    inner = (problem.m if problem.left else problem.k, problem.k if problem.right else problem.n, problem.n)
    return all(size * DTYPES[problem.kind].itemsize % WIDE == 0 for size in inner)


def table(rows: Sequence[Row], chip: Chip, version: str) -> str:
    """The rows in Markdown, and why some miss a gate."""
    ptxas = find_ptxas(chip)
    head = [
        f"# Products for {chip.name} beside Triton's, without a GPU",
        "Made by `python -m mlopt.bench.gpu.warpgroups --save`.",
        f"Triton {version} (`bench/gpu/triton_warpgroups.py`), ahead of time, with the block that our "
        "schedule chose, factors and results by tensor maps of the host's where rows are multiples of 16 "
        f"bytes; both through ptxas {ptxas.version if ptxas else '?'}. `N`: columns of the widest HGMMA, "
        "IGMMA or QGMMA, 0 where warps multiply by mma.sync. `loop`: SASS of the main loop, of which so many "
        "multiply; of ours that of the warps that do, others copy. `spills`: bytes that a thread stores "
        "and loads, and those of the twin for what is unaligned; `C75xx`: warnings about both.",
        f"{MEANING} {told_times([row.to_ptx for row in rows])}",
    ]
    lines = [
        "| product | block | registers | spills | C75xx | shared memory | N | by boxes | loop | instructions "
        "| s to PTX | Triton: registers | spills | shared memory | N | by boxes | loop | instructions |",
        f"|{' --- |' * 18}",
        *map(_line, rows),
    ]
    return with_reasons(head, lines, MISSED)


def _line(row: Row) -> str:
    ours, triton = row.ours, row.triton
    spills = f"{ours.spills}, {row.twin}"
    cells = [row.problem.name, row.block, ours.registers, spills, ours.warnings, *_rest(ours), row.to_ptx]
    return f"| {' | '.join(map(str, [*cells, triton.registers, triton.spills, *_rest(triton)]))} |"


def _rest(facts: Facts) -> list[str]:
    loop = f"{facts.loop} ({facts.multiplies})"
    return [str(facts.shared), str(facts.columns), ", ".join(facts.boxes), loop, str(facts.instructions)]


def surprises(rows: Sequence[Row]) -> list[str]:
    """Rows that miss a gate without a reason, and reasons of rows that do not."""
    missed = {(row.problem.name, gate) for row in rows for gate in row.misses}
    known = {key for key in MISSED if key[0] in {row.problem.name for row in rows}}
    lines = [f"{name} misses a gate: {gate}" for name, gate in sorted(missed - known)]
    return lines + [f"{name} holds the gate now: {gate}" for name, gate in sorted(known - missed)]


def main(arguments: Sequence[str]) -> int:
    """Compile both, print; 0 if everything is as known."""
    parser = argparse.ArgumentParser(prog="python -m mlopt.bench.gpu.warpgroups")
    parser.add_argument("--triton", default=str(TRITON), metavar="PYTHON", help=f"default: {TRITON}")
    options = parse_arguments(parser, arguments, RESULTS, CHIP)
    chip = find_chip(options.chip)
    problems = [
        each
        for each in HOPPER_PROBLEMS
        if not options.only or any(part in each.name for part in options.only)
    ]
    compile_ours(problems[0], chip)  # the first one loads MLIR and LLVM, too
    ours = {problem: compile_ours(problem, chip) for problem in problems}
    triton, version = dict[Problem, Facts](), ""
    for script, some in (
        ("triton_warpgroups.py", [each for each in problems if has_maps(each)]),
        ("triton_products.py", [each for each in problems if not has_maps(each)]),
    ):
        asked = [{**told(problem, ours[problem][0]), "rounds": False} for problem in some]
        try:
            made = made_by_triton(options.triton, script, chip, asked)
        except OSError as error:
            parser.error(str(error))
        version = made["version"]
        launches = zip(some, made["kernels"], strict=True)
        triton |= {problem: compile_triton(launch, chip) for problem, launch in launches}
    rows = [Row(problem, *ours[problem], triton[problem]) for problem in problems]
    return finish(table(rows, chip, version), RESULTS if options.save else None, surprises(rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
