"""Kernels whose blocks make tile after tile, compiled for Hopper and run on the emulator: what tests of them share."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
ONE, ALL = ("random",), ("together", "ahead", "random", "round-robin")
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


def blocks_are(count: int, monkeypatch: pytest.MonkeyPatch, pairs: bool = False) -> None:
    """Let so many blocks run at once, in clusters of two if ``pairs``."""
    monkeypatch.setattr(persistent_grid, "blocks_at_once", lambda *_: count)
    monkeypatch.setattr(pair_blocks, "should_pair", lambda *_: pairs)


def gelu_and_residual(size: tuple[int, int, int]) -> str:
    """``gelu(a @ b.T + bias) + residual`` in bf16."""
    m, n, _ = size
    head = stores.text(size, "bf16").partition("  %q = ")[0]
    head = head.replace("%out: tensor", f"%residual: tensor<{m}x{n}xbf16>, %out: tensor")
    return head + EPILOGUE.format(m=m, n=n)


class Gelu(NamedTuple):
    """Arguments of `gelu_and_residual`, what comes of them, and how far from it a result may be."""

    arguments: list[Any]
    total: np.ndarray[Any, Any]
    bound: np.ndarray[Any, Any]

    @staticmethod
    def drawn(size: tuple[int, int, int], rng: np.random.Generator) -> Gelu:
        (a, b, bias, _), _, bound = drawn(size, "bf16", False, True, rng)
        residual = to_bf16(rng.standard_normal(size[:2]))
        exact = wide(a).astype(np.float64) @ wide(b).astype(np.float64).T + bias
        total = exact * 0.5 * (1 + np.vectorize(math.erf)(exact * np.sqrt(0.5))) + wide(residual)
        bounds = 2 * bound + np.abs(total) * 2.0**-8 + 2.0**-8
        return Gelu([a, b, bias, residual, np.zeros(size[:2], DTYPES["bf16"])], total, bounds)


def check_results_by_boxes(
    kind: str,
    size: tuple[int, int, int],
    turned: bool,
    schedule: str,
    blocks: int,
    pairs: bool,
    orders: Sequence[str],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, tuple[Any, Any]]:
    """What a block for each tile makes, to the bit, under ``orders`` of warps, and by the twin; the launches."""
    text = stores.text(size, kind, turned)
    arguments, want, bound = stores.arguments_of(size, kind, turned, rng)
    plain = run_kernel(compile_kernel(text, chip=CHIP.name, schedule=schedule), arguments)[0]
    assert (np.abs(wide(plain) - want) <= bound).all()
    blocks_are(blocks, monkeypatch, pairs)
    kernel = compile_kernel(text, chip=CHIP.name, schedule=schedule)
    assert ("multicast" in kernel.ptx) == pairs
    with emulator.record() as reports:
        for order in orders:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=7))
            assert np.array_equal(found, plain), order
        (twin,) = run_kernel(kernel, arguments, shift=4)
    assert np.array_equal(twin, plain)
    assert not [finding for report in reports for finding in report.findings]
    counters = reports[0].counters
    assert counters is not None and counters.bank_conflicts == 0
    check_code(kernel)
    return {name: (grid, block) for name, grid, block, _ in kernel.launches}


def check_products(
    kind: str,
    left: bool,
    right: bool,
    size: tuple[int, int, int],
    schedule: str,
    blocks: int,
    pairs: bool,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> set[tuple[Any, Any]]:
    """Right under each order of warps, without a finding; the launches' blocks and threads."""
    blocks_are(blocks, monkeypatch, pairs)
    kernel = compile_kernel(product(*size, kind, left, right), chip=CHIP.name, schedule=schedule)
    assert ("multicast" in kernel.ptx) == pairs
    arguments, want, bound = drawn(size, kind, left, right, rng)
    with emulator.record() as reports:
        for order in ALL:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule=order, seed=5))
            assert (np.abs(found - want) <= bound).all(), order
    assert not [finding for report in reports for finding in report.findings]
    check_code(kernel)
    return {(grid, block) for _, grid, block, _ in kernel.launches}


def check_dynamic_sizes(schedule: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> set[Any]:
    """One kernel for fewer tiles than blocks, as many, and more; the threads of a block."""
    blocks_are(4, monkeypatch)
    kernel = compile_kernel(stores.text((0, 0, 72), "f16", dynamic=True), chip=CHIP.name, schedule=schedule)
    threads = set()
    for m, n, tiles in ((40, 72, 2), (128, 120, 4), (136, 136, 9), (72, 264, 10)):
        arguments, want, bound = stores.arguments_of((m, n, 72), "f16", False, rng)
        kernel.launches.clear()
        with emulator.record() as reports:
            (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=1))
        assert (np.abs(wide(found) - want) <= bound).all()
        assert kernel.launches[0][1] == min(tiles, 4)
        assert not reports[0].findings
        threads.add(kernel.launches[0][2])
    return threads


def check_code(kernel: Kernel) -> dict[str, int]:
    """Nothing is spilled or serialised, and TMA copies; the registers of a thread of each kernel."""
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assembled = assemble(kernel.ptx, CHIP, ptxas)
    assert not assembled.warnings  # C75xx: wgmma would be serialised
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        assert bool(code.named("UTMALDG")) != name.endswith("_unaligned")
    return {name: made.registers for name, made in assembled.kernels.items()}
