"""Gates of products on tensor cores: a corpus of types, transposes, epilogues and edges, without a GPU.

No spills, tensor cores and ldmatrix in the machine code, shared memory within the chip, right and without a
finding under each order of warps, no bank conflicts, and from memory what the tiling implies.
"""

from __future__ import annotations

import re
import sys
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.products import OVER, PROBLEMS, RESULTS, Kernel, Row, surprises
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel, run_kernel
from gpu_products import numbers, product, wide

CHIP = find_chip("sm_80")
ORDERS = ("round-robin", "ahead", "random")
BLOCK = "warps = array<i64: 4>, min_blocks = array<i64: 2>, stages = array<i64: 3>, tile = array<i64: {}>"
# Types, transposes, sizes, and the block that a larger product would have; "": that of the schedule.
CORPUS = [
    ("bf16", False, False, (128, 128, 96), BLOCK.format("64, 64, 32")),
    ("bf16", True, True, (128, 64, 96), BLOCK.format("64, 64, 32")),
    ("f16", False, True, (72, 136, 64), BLOCK.format("64, 64, 32")),
    ("f16", True, False, (64, 256, 64), BLOCK.format("64, 128, 32")),
    ("f16", False, False, (1, 64, 128), ""),
    ("i8", False, True, (64, 96, 128), BLOCK.format("64, 64, 64")),
    ("i8", False, True, (33, 17, 63), ""),
    ("bf16", False, True, (72, 256, 64), ""),
    ("f16", True, False, (128, 96, 128), ""),
]
WHOLE = 16  # bytes: of rows that are not a multiple sectors are read in part


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule"), CORPUS)
def test_machine_code(kind: str, left: bool, right: bool, size: tuple[int, int, int], schedule: str) -> None:
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(
        compile_kernel(product(*size, kind, left, right), schedule=schedule or None).ptx, CHIP, ptxas
    )
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    codes = parse(disassemble_cubin(assembled.cubin) or "")
    for code in codes.values():
        assert code.named("IMMA" if kind == "i8" else "HMMA")
        assert code.named("LDSM") or size[-1] % WHOLE  # bytes of odd rows are loaded one by one


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule"), CORPUS)
def test_runs(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    rng: np.random.Generator,
) -> None:
    m, n, k = size
    a = numbers(rng, (k, m) if left else (m, k), kind)
    b = numbers(rng, (n, k) if right else (k, n), kind)
    total = np.int32 if kind == "i8" else np.float32
    bias, out = np.zeros(n, total), np.zeros((m, n), total)
    kernel = compile_kernel(product(m, n, k, kind, left, right), schedule=schedule or None)
    found = []
    for order in ORDERS:
        with emulator.record() as reports:
            found += run_kernel(kernel, [a, b, bias, out], options=emulator.Options(schedule=order, seed=7))
    assert all(np.array_equal(found[0], other) for other in found)
    one, other = (wide(x).astype(np.float64) for x in (a, b))
    exact = (one.T if left else one) @ (other.T if right else other)
    np.testing.assert_allclose(found[0], np.maximum(exact, 0), atol=1e-3, rtol=1e-4)
    (report,) = reports
    assert report.counters is not None and not report.findings
    assert report.counters.bank_conflicts == 0
    assert kernel.launches[-1][3] <= CHIP.limits.shared_per_block
    if a.itemsize * a.shape[1] % WHOLE == b.itemsize * b.shape[1] % WHOLE == 0:
        _check_bytes(kernel.tile, report, size, a.itemsize)


def _check_bytes(tile: str, report: emulator.Report, size: tuple[int, int, int], each: int) -> None:
    """What blocks ask the caches for: their rows and columns of the factors, once for each block."""
    m, n, k = size
    tiles = re.search(r"tile = array<i64: (\d+), (\d+), \d+>", tile)
    assert tiles is not None and report.counters is not None
    rows, columns = (int(text) or extent for text, extent in zip(tiles.groups(), (m, n), strict=True))
    implied = (ceil(n / columns) * m * k + ceil(m / rows) * n * k) * each + m * n * 4 + ceil(m / rows) * n * 4
    assert report.counters.l2_bytes <= 1.05 * implied


def test_what_the_table_has_above_has_a_reason() -> None:
    """`bench/results/gpu_products.md`, as `python -m mlopt.bench.gpu.products --save` has written it."""
    lines = [line.strip("| \n").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    rows = {cells[0]: cells for cells in lines[2:]}
    assert set(rows) == {problem.name for problem in PROBLEMS}
    places = {"registers": 4, "shared memory": 7, "loop": 10}
    above = {
        (name, what)
        for name, cells in rows.items()
        for what, at in places.items()
        if int(cells[at - 2].split()[0]) > int(cells[at - 1].split()[0])
    }
    assert above == set(OVER)


def test_surprises() -> None:
    ours, triton = Kernel(100, 8, 1000, 300, 90, 64), Kernel(90, 0, 1000, 300, 64, 64)
    assert surprises([Row("a", "", ours, triton)]) == [
        "a: more loop than Triton's",
        "a: more registers than Triton's",
        "a: spills 8 bytes",
    ]
    assert surprises([Row("a", "", triton, triton)]) == []
