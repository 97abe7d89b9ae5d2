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
from mlopt.bench.gpu.products import OVER, RESULTS, ROUNDING, Kernel, Row, surprises
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


def _rows() -> dict[str, list[str]]:
    lines = [line.strip("| \n").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    return {cells[0]: cells for cells in lines[2:]}


@pytest.mark.parametrize("name", ["4096x4096x4096 bf16", "16x4096x4096 bf16 bias, relu"])
def test_a_row_is_made_again(name: str) -> None:
    (problem,) = (each for each in PROBLEMS if each.name == name)
    block, compiled, kernel = compile_problem(problem, find_chip("sm_80"))
    code = parse(compiled.asm["cubin"])[kernel.name]
    made = Kernel.of(code, kernel.registers or 0, kernel.spills or 0, kernel.shared)
    cells = _rows()[name]
    assert [block, made.registers, made.shared] == [cells[1], int(cells[2]), int(cells[5])]
    assert [f"{made.loop} ({made.multiplies})", made.instructions] == [cells[8], int(cells[11])]
    assert not made.spills


def test_what_the_table_has_above_has_a_reason() -> None:
    """`bench/results/gpu_products.md`, as `python -m mlopt.bench.gpu.products --save` has written it."""
    rows = _rows()
    rounding = {problem.name + ROUNDING for problem in PROBLEMS if problem.kind == "tf32"}
    assert set(rows) == {problem.name for problem in PROBLEMS} | rounding
    places = {"registers": 4, "shared memory": 7, "loop": 10}
    above = {
        (name, what)
        for name, cells in rows.items()
        for what, at in places.items()
        if int(cells[at - 2].split()[0]) > int(cells[at - 1].split()[0])
    }
    assert above == set(OVER)
    four = {problem.name for problem in PROBLEMS if problem.kind == "tf32"}
    assert len(four) == 4 and {name for name, what in OVER if what == "loop"} == four


def test_surprises() -> None:
    ours, triton = Kernel(100, 8, 1000, 300, 90, 64), Kernel(90, 0, 1000, 300, 64, 64)
    assert surprises([Row("a", "", ours, triton, 0.1)]) == [
        "a: more loop than Triton's",
        "a: more registers than Triton's",
        "a: spills 8 bytes",
    ]
    assert surprises([Row("a", "", triton, triton, 0.1)]) == []
    name, what = next(iter(OVER))
    assert f"{name}: no more {what} now" in surprises([Row(name, "", triton, triton, 0.1)])
