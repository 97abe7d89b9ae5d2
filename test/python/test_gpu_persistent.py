"""Blocks that make tile after tile (a persistent grid): right, and as fast as they can be, without a GPU."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.passes.gpu import pair_blocks, persistent_grid
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas

sys.path.insert(0, str(Path(__file__).parent))
import test_gpu_tma_stores as stores
from gpu_kernels import Kernel, compile_kernel, run_kernel
from gpu_numbers import to_bf16, wide
from gpu_products import DTYPES, drawn, product

CHIP = find_chip("sm_90a")
BLOCK = (
    "beyond = array<i64: 1>, warps = array<i64: {}>, min_blocks = array<i64: 1>, stages = array<i64: {}>, "
    "tile = array<i64: {}>"
)
ONE, ALL = ("random",), ("together", "ahead", "random", "round-robin")


def blocks_are(count: int, monkeypatch: pytest.MonkeyPatch, pairs: bool = False) -> None:
    """Let so many blocks run at once, in clusters of two if ``pairs``."""
    monkeypatch.setattr(persistent_grid, "blocks_at_once", lambda *_: count)
    monkeypatch.setattr(pair_blocks, "should_pair", lambda *_: pairs)


# Types, sizes (not the block's multiples), whether columns lie along memory, blocks of the launch, orders of warps.
# Four stages of 128x256 leave room for half of a tile, which is stored in two parts; two stages free their own slot.
HALVES = [
    ("bf16", (136, 520, 136), False, BLOCK.format(8, 4, "128, 256, 64"), 4, ONE),
    ("f16", (264, 136, 72), False, BLOCK.format(4, 4, "64, 64, 64"), 4, ALL),
    ("bf16", (200, 40, 264), False, BLOCK.format(4, 2, "64, 32, 32"), 3, ALL),
    ("f16", (72, 264, 104), False, BLOCK.format(8, 3, "64, 256, 64"), 3, ("ahead",)),
    ("bf16", (136, 200, 104), True, BLOCK.format(4, 3, "64, 64, 32"), 5, ALL),
    ("f16", (264, 136, 72), True, BLOCK.format(8, 4, "64, 128, 64"), 2, ONE),
]


@pytest.mark.parametrize(("kind", "size", "turned", "schedule", "blocks", "orders"), HALVES)
def test_results_by_boxes(
    kind: str,
    size: tuple[int, int, int],
    turned: bool,
    schedule: str,
    blocks: int,
    orders: tuple[str, ...],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a block for each tile makes, to the bit; the twin has those."""
    text = stores.text(size, kind, turned)
    arguments, want, bound = stores.arguments_of(size, kind, turned, rng)
    plain = run_kernel(compile_kernel(text, chip=CHIP.name, schedule=schedule), arguments)[0]
    assert (np.abs(wide(plain) - want) <= bound).all()
    blocks_are(blocks, monkeypatch)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule)
    with emulator.record() as reports:
        for order in orders:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=7))
            assert np.array_equal(found, plain), order
        (twin,) = run_kernel(kernel, arguments, shift=4)
    assert np.array_equal(twin, plain)
    grids = {name: grid for name, grid, *_ in kernel.launches}
    assert grids["product"] == blocks < grids["product_unaligned"]
    assert not [finding for report in reports for finding in report.findings]
    counters = reports[0].counters
    assert counters is not None and counters.bank_conflicts == 0
    _check_code(kernel)


# Types, transposes, sizes, blocks, those of the launch, whether in pairs: results of 4 bytes, which threads store.
FACTORS = [
    ("bf16", True, False, (136, 136, 104), BLOCK.format(4, 3, "64, 64, 32"), 4, False),
    ("f16", True, True, (72, 200, 296), BLOCK.format(4, 4, "64, 32, 32"), 6, False),
    ("i8", False, True, (200, 144, 144), BLOCK.format(4, 4, "64, 128, 128"), 3, False),
    ("e4m3", False, True, (264, 144, 400), BLOCK.format(8, 3, "128, 128, 128"), 4, False),
    ("e5m2", False, True, (136, 40, 272), BLOCK.format(4, 4, "64, 32, 64"), 5, False),
    ("f16", False, True, (248, 136, 72), BLOCK.format(4, 4, "64, 32, 32"), 4, True),
    ("bf16", False, False, (248, 264, 136), BLOCK.format(4, 3, "64, 128, 64"), 6, True),
    ("i8", False, True, (248, 144, 272), BLOCK.format(4, 3, "64, 128, 128"), 2, True),
]


@pytest.mark.parametrize(("kind", "left", "right", "size", "schedule", "blocks", "pairs"), FACTORS)
def test_products(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under each order of warps, without a finding."""
    blocks_are(blocks, monkeypatch, pairs)
    kernel = compile_kernel(product(*size, kind, left, right), chip=CHIP.name, schedule=schedule)
    assert ("multicast" in kernel.ptx) == pairs
    arguments, want, bound = drawn(size, kind, left, right, rng)
    with emulator.record() as reports:
        for order in ALL:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=5))
            assert (np.abs(found - want) <= bound).all(), order
    assert {grid for _, grid, *_ in kernel.launches} == {blocks}
    assert not [finding for report in reports for finding in report.findings]
    _check_code(kernel)


EPILOGUE = """
  %q = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias, %residual : tensor<{m}x{n}xf32>, tensor<{n}xf32>, tensor<{m}x{n}xbf16>) outs(%out : tensor<{m}x{n}xbf16>) {{
  ^bb0(%x: f32, %y: f32, %z: bf16, %s: bf16):
    %p = arith.addf %x, %y : f32
    %root = arith.constant 0.70710678 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %u = arith.mulf %p, %root : f32
    %e1 = math.erf %u : f32
    %e2 = arith.addf %e1, %one : f32
    %e3 = arith.mulf %e2, %half : f32
    %g = arith.mulf %p, %e3 : f32
    %w = arith.extf %z : bf16 to f32
    %t = arith.addf %g, %w : f32
    %h = arith.truncf %t : f32 to bf16
    linalg.yield %h : bf16
  }} -> tensor<{m}x{n}xbf16>
  return %q : tensor<{m}x{n}xbf16>
}}
"""


def gelu_and_residual(size: tuple[int, int, int]) -> str:
    """``gelu(a @ b.T + bias) + residual`` in bf16."""
    m, n, _ = size
    head = stores.text(size, "bf16").partition("  %q = ")[0]
    head = head.replace("%out: tensor", f"%residual: tensor<{m}x{n}xbf16>, %out: tensor")
    return head + EPILOGUE.format(m=m, n=n)


@pytest.mark.parametrize(
    ("size", "schedule", "blocks", "pairs"),
    [
        ((248, 136, 136), BLOCK.format(4, 4, "64, 64, 64"), 4, True),
        ((384, 512, 72), BLOCK.format(8, 3, "128, 256, 64"), 4, False),
    ],
)
def test_gelu_and_residual(
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is read behind the product belongs to the tile."""
    m, n, _ = size
    text = gelu_and_residual(size)
    (a, b, bias, _), _, bound = drawn(size, "bf16", False, True, rng)
    residual = to_bf16(rng.standard_normal((m, n)))
    exact = wide(a).astype(np.float64) @ wide(b).astype(np.float64).T + bias
    gelu = exact * 0.5 * (1 + np.vectorize(math.erf)(exact * np.sqrt(0.5)))
    results = []
    for count in (1 << 20, blocks):
        blocks_are(count, monkeypatch, pairs)
        kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule)
        arguments = [a, b, bias, residual, np.zeros((m, n), DTYPES["bf16"])]
        with emulator.record() as reports:
            results += run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=3))
        assert not [finding for report in reports for finding in report.findings]
    assert kernel.launches[0][1] == blocks
    assert np.array_equal(*results)
    total = gelu + wide(residual)
    assert (np.abs(wide(results[1]) - total) <= 2 * bound + np.abs(total) * 2.0**-8 + 2.0**-8).all()
    _check_code(kernel)


def test_sizes_are_known_at_the_call(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel for fewer tiles than blocks, as many, and more."""
    blocks_are(4, monkeypatch)
    schedule = BLOCK.format(4, 3, "64, 64, 32")
    kernel = compile_kernel(stores.text((0, 0, 72), "f16", dynamic=True), chip=CHIP.name, schedule=schedule)
    for m, n, tiles in ((40, 72, 2), (128, 120, 4), (200, 136, 12), (72, 392, 14)):
        arguments, want, bound = stores.arguments_of((m, n, 72), "f16", False, rng)
        kernel.launches.clear()
        with emulator.record() as reports:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=1))
        assert (np.abs(wide(found) - want) <= bound).all()
        assert kernel.launches[0][1] == min(tiles, 4)
        assert not reports[0].findings


def test_bands_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 blocks that make four tiles each need as many bytes from memory as 64 do, in bands or not."""
    m = n = 512
    k = 128
    arrays = [
        np.zeros(shape, kind)
        for shape, kind in (
            ((m, k), np.float16), ((n, k), np.float16), ((n,), np.float32), ((m, n), np.float16)
        )
    ]  # fmt: skip
    schedule, moved = BLOCK.format(4, 2, "64, 64, 64"), {}
    for blocks in (1 << 20, 16):
        for band in ("", ", group = array<i64: 0, 1, 4>"):
            blocks_are(blocks, monkeypatch)
            text = stores.text((m, n, k), "f16")
            kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule + band)
            with emulator.record(trace=True) as reports:
                run_kernel(kernel, arrays)
            assert kernel.launches[0][1] == min(blocks, 64)
            assert reports[0].trace is not None
            # Room for a wave's factors, not for the next one's.
            moved[blocks, band] = reports[0].trace.moved(16, 163840) - m * n * 2
    plain, persistent = ([moved[key] for key in moved if key[0] == blocks] for blocks in (1 << 20, 16))
    assert persistent[0] <= 1.01 * plain[0] and persistent[1] <= 1.01 * plain[1]
    assert persistent[1] < 0.85 * persistent[0]


LARGE = (4096, 4096, 4096)


@pytest.mark.parametrize(
    ("text", "stages", "waits"),
    [
        (stores.text(LARGE, "bf16"), 4, 3),  # beside four stages there is room for half of a tile
        (product(*LARGE, "bf16", right=True), 4, 0),  # of f32: stored by threads
        (gelu_and_residual(LARGE), 3, 0),  # the residual changes hands as a whole
    ],
    ids=["relu", "f32", "residual"],
)
def test_large_products(text: str, stages: int, waits: int) -> None:
    """The schedule's own block is one that leaves room; as many registers as without, and nothing spilled."""
    kernel = compile_kernel(text, chip=CHIP.name)
    assert f"stages = array<i64: {stages}>, tile = array<i64: 128, 256, 64>" in kernel.tile
    assert "arith.constant 132 : i64" in kernel.threads
    assert not waits or kernel.ptx.count("cp.async.bulk.wait_group.read") == waits
    assert _check_code(kernel)["product"] == 168


def _check_code(kernel: Kernel) -> dict[str, int]:
    """Nothing is spilled or serialised, and TMA copies; the registers of a thread of each kernel."""
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(kernel.ptx, CHIP, ptxas)
    assert not assembled.warnings  # C75xx: wgmma would be serialised
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        assert bool(code.named("UTMALDG")) != name.endswith("_unaligned")
    return {name: made.registers for name, made in assembled.kernels.items()}
