"""Gates of products on tensor cores: a corpus of types, transposes and edges, without a GPU.

No spills, tensor cores and ldmatrix in the machine code, shared memory within the chip, right and without a
finding under each order of warps, no bank conflicts, and from memory what the tiling implies
(`gpu_product_cases`, which sweeps many more).
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.product_problems import PROBLEMS, compile_problem
from mlopt.bench.gpu.products import RESULTS, Kernel, Row, surprises, table
from mlopt.bench.gpu.to_ptx import ToPtx
from mlopt.runtime.cuda.chips import find_chip

sys.path.insert(0, str(Path(__file__).parent))
from gpu_product_cases import Case, drawn, problems

BLOCK = "warps = array<i64: 4>, min_blocks = array<i64: 2>, stages = array<i64: 3>, tile = array<i64: {}>"
ONCE = BLOCK.replace("array<i64: 3>", "array<i64: 1>").format("64, 64, 64")
CORPUS = [
    Case("bf16", False, False, (64, 128, 96), BLOCK.format("64, 64, 32")),
    Case("bf16", True, True, (64, 64, 96), BLOCK.format("64, 64, 32")),
    Case("f16", False, True, (72, 136, 64), BLOCK.format("64, 64, 32")),
    Case("f16", True, False, (64, 128, 64), BLOCK.format("64, 128, 32")),
    Case("f16", False, False, (1, 64, 128)),
    Case("i8", False, True, (64, 96, 128), BLOCK.format("64, 64, 64")),
    Case("i8", False, True, (33, 17, 63)),
    Case("bf16", False, True, (72, 96, 64)),
    Case("f16", True, False, (64, 96, 136)),
    Case("bf16", False, False, (70, 75, 66), ONCE),  # results lie swizzled where the factors were
    Case("f16", True, True, (70, 67, 63), ONCE),
]
SLICE = [*islice(drawn(seed=3, most=48), 12)]  # of each type and transpose one


@pytest.mark.parametrize("cases", [CORPUS, SLICE], ids=["corpus", "slice"])
def test_gates(cases: list[Case]) -> None:
    assert problems(cases) == {}


PAIRS = [(2, 3), (5, 6), (8, 9)]  # where ours and Triton's registers, shared memory and loop stand in a row


def _tables() -> list[dict[str, list[str]]]:
    """The rows beside Triton's products of the same results, and beside those that cut bits off."""
    tables = list[dict[str, list[str]]]()
    for line in RESULTS.read_text().splitlines():
        cells = line.strip("| \n").split(" | ")
        if line.startswith("| product"):
            tables.append({})
        elif line.startswith("| ") and not cells[0].startswith("---"):
            tables[-1][cells[0]] = cells
    return tables


@pytest.mark.parametrize("name", ["4096x4096x4096 bf16", "16x4096x4096 bf16 bias, relu"])
def test_a_row_is_made_again(name: str) -> None:
    (problem,) = (each for each in PROBLEMS if each.name == name)
    block, compiled, kernel = compile_problem(problem, find_chip("sm_80"))
    code = parse(compiled.asm["cubin"])[kernel.name]
    made = Kernel.of(code, kernel.registers or 0, kernel.spills or 0, kernel.shared)
    cells = _tables()[0][name]
    assert [block, made.registers, made.shared] == [cells[1], int(cells[2]), int(cells[5])]
    assert [f"{made.loop} ({made.multiplies})", made.instructions] == [cells[8], int(cells[11])]
    assert not made.spills


def test_nothing_is_above_triton_in_any_row() -> None:
    """`bench/results/gpu_products.md`, as `python -m mlopt.bench.gpu.products --save` has written it."""
    same, cut = _tables()
    assert list(same) == [problem.name for problem in PROBLEMS]
    assert list(cut) == [problem.name for problem in PROBLEMS if problem.kind == "tf32"] and len(cut) == 4
    for cells in same.values():
        for ours, triton in PAIRS:
            assert int(cells[ours].split()[0]) <= int(cells[triton].split()[0])
    for name, cells in cut.items():  # another Triton's, beside our kernels
        ours = [at for at, _ in PAIRS]
        assert [cells[at] for at in ours] == [same[name][at] for at in ours]


def test_surprises() -> None:
    ours, triton = Kernel(100, 8, 1000, 300, 90, 64), Kernel(90, 0, 1000, 300, 64, 64)
    quick = ToPtx(0.2, 2)
    assert surprises([Row("a", "", ours, triton, quick)]) == [
        "a: more registers than Triton's",
        "a: more loop than Triton's",
        "a: spills 8 bytes",
    ]
    assert surprises([Row("a", "", triton, triton, quick)]) == []


def test_what_cuts_bits_off_has_a_table_of_its_own() -> None:
    kernel = Kernel(90, 0, 1000, 300, 64, 64)
    row, chip = Row("a", "", kernel, kernel, ToPtx(0.2, 2)), find_chip("sm_80")
    line = next(each for each in table([row], [], chip, "3").splitlines() if each.startswith("| a "))
    assert table([row], [], chip, "3").splitlines().count(line) == 1
    assert table([row], [row], chip, "3").splitlines()[-1] == line
