"""Results of warpgroups that TMA stores, without a GPU: types, edges, transposes, and what ptxas makes of them."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from pathlib import Path

import mlopt
import numpy as np
import pytest
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.passes.gpu import pair_blocks
from mlopt.passes.gpu.tma_stores import TmaStores
from mlopt.runtime.cuda import emulated
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, disassemble_cubin, find_ptxas
from mlopt.runtime.emulator.machine import SCHEDULES

sys.path.insert(0, str(Path(__file__).parent))
from gpu_dynamic_products import NARROWED
from gpu_gate_runs import SPARE
from gpu_kernels import Kernel, compile_kernel, run_kernel
from gpu_numbers import wide
from gpu_product_cases import Case, implied_bytes
from gpu_products import DTYPES, drawn

CHIP = find_chip("sm_90a")
PRODUCT = """
func.func private @product(%a: tensor<{m}x{k}x{kind}>, %b: tensor<{n}x{k}x{kind}>, %bias: tensor<{n}xf32>,
                           %out: tensor<{out}x{kind}>) -> tensor<{out}x{kind}> attributes {{mlopt.kernel}} {{
  %zero = arith.constant 0.0 : f32
  {sizes}
  %e = tensor.empty({given}) : tensor<{m}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{m}x{k}x{kind}>, tensor<{n}x{k}x{kind}>) outs(%f : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: {kind}, %y: {kind}, %s: f32):
    %xw = arith.extf %x : {kind} to f32
    %yw = arith.extf %y : {kind} to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  %q = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, {map}],
                       iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias : tensor<{m}x{n}xf32>, tensor<{n}xf32>) outs(%out : tensor<{out}x{kind}>) {{
  ^bb0(%x: f32, %y: f32, %s: {kind}):
    %p = arith.addf %x, %y : f32
    %t = arith.maximumf %p, %zero : f32
    %h = arith.truncf %t : f32 to {kind}
    linalg.yield %h : {kind}
  }} -> tensor<{out}x{kind}>
  return %q : tensor<{out}x{kind}>
}}
"""
SIZES = """
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x{k}x{kind}>
  %n = tensor.dim %b, %c0 : tensor<?x{k}x{kind}>
"""
BLOCK = (
    "beyond = array<i64: 1>, warps = array<i64: {}>, min_blocks = array<i64: 1>, stages = array<i64: {}>, "
    "tile = array<i64: {}>"
)
ALL = SCHEDULES
# Types, sizes (not the block's multiples, but rows of whole 16 bytes), whether columns lie along memory, blocks:
# rows of 512, 256, 128, 64 and 32 bytes in shared memory, warpgroups below each other and side by side. A block's
# first size is that of the result's first dim.
CASES = [
    ("bf16", (136, 264, 136), False, BLOCK.format(8, 3, "128, 256, 64"), ALL),
    ("f16", (72, 264, 104), False, BLOCK.format(8, 3, "64, 256, 64"), ("ahead",)),
    ("f16", (72, 136, 136), False, BLOCK.format(4, 4, "64, 64, 64"), ALL),
    ("bf16", (72, 40, 72), False, BLOCK.format(4, 2, "64, 32, 32"), ALL),
    ("f16", (64, 24, 64), False, BLOCK.format(4, 3, "64, 16, 32"), ("together",)),
    ("bf16", (136, 72, 104), True, BLOCK.format(4, 4, "64, 64, 32"), ALL),
    ("f16", (264, 72, 72), True, BLOCK.format(8, 2, "32, 256, 32"), ("random",)),
]


def text(size: tuple[int, int, int], kind: str, turned: bool = False, dynamic: bool = False) -> str:
    """``relu(a @ b.T + bias)`` of ``kind``, or its transpose."""
    m, n, k = ("?", "?", size[2]) if dynamic else size
    words = {"m": m, "n": n, "k": k, "kind": kind, "out": f"{n}x{m}" if turned else f"{m}x{n}"}
    order = "n, m" if turned else "m, n"
    given = {"sizes": SIZES.format(**words) if dynamic else "", "given": "%m, %n" if dynamic else ""}
    return PRODUCT.format(map=f"affine_map<(m, n) -> ({order})>", **words, **given)


def arguments_of(
    size: tuple[int, int, int], kind: str, turned: bool, rng: np.random.Generator
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The arguments, what the result is, and how far it may be off: a rounding to ``kind`` more than its sums."""
    m, n, _ = size
    (a, b, bias, _), want, bound = drawn(size, kind, False, True, rng)
    bound = bound + np.abs(want) * 2.0 ** (-8 if kind == "bf16" else -11) + 2.0**-24
    out = np.full((n, m) if turned else (m, n), 77, DTYPES[kind])
    return [a, b, bias, out], *((each.T if turned else each) for each in (want, bound))


@pytest.mark.parametrize(("kind", "size", "turned", "schedule", "orders"), CASES)
def test_results(
    kind: str,
    size: tuple[int, int, int],
    turned: bool,
    schedule: str,
    orders: tuple[str, ...],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Right, without a finding or a conflict, and what threads would store; so is what the twin stores."""
    kernel = compile_kernel(text(size, kind, turned), chip=CHIP.name, schedule=schedule)
    arguments, want, bound = arguments_of(size, kind, turned, rng)
    results = []
    with emulator.record() as reports:
        for order in orders:
            options = emulator.Options(schedule=order, seed=7)
            results += run_kernel(kernel, arguments, options=options)
        results += run_kernel(kernel, arguments, shift=4)
    assert [name for name, *_ in kernel.launches] == [*["product"] * len(orders), "product_unaligned"]
    assert (np.abs(wide(results[0]) - want) <= bound).all()
    assert all(np.array_equal(results[0], each) for each in results)
    assert not [finding for report in reports for finding in report.findings]
    counters = reports[0].counters
    assert counters is not None and counters.bank_conflicts == 0
    case = Case(kind, False, True, size, schedule)
    assert counters.l2_bytes <= SPARE * implied_bytes(case, kernel.tile, 2, turned)
    _check_code(kernel, turned)
    monkeypatch.setattr(TmaStores, "run", lambda *_: None)
    other = compile_kernel(text(size, kind, turned), chip=CHIP.name, schedule=schedule)
    assert "stmatrix" not in other.ptx
    assert np.array_equal(results[0], run_kernel(other, arguments)[0])


def test_blocks_of_a_cluster_store_their_own(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_blocks, "should_pair", lambda *_: True)
    size = (120, 136, 72)
    kernel = compile_kernel(text(size, "bf16"), chip=CHIP.name, schedule=BLOCK.format(4, 3, "64, 128, 64"))
    assert "multicast" in kernel.ptx
    arguments, want, bound = arguments_of(size, "bf16", False, rng)
    (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule="random", seed=3))
    assert (np.abs(wide(found) - want) <= bound).all()
    _check_code(kernel)


@pytest.mark.parametrize(("columns", "name"), [(72, "product"), (67, "product_unaligned")])
def test_rows_of_dynamic_size(columns: int, name: str, rng: np.random.Generator) -> None:
    """By boxes if they are multiples of 16 bytes."""
    size = (70, columns, 64)
    kernel = compile_kernel(
        text(size, "f16", dynamic=True), chip=CHIP.name, schedule=BLOCK.format(4, 2, "64, 64, 32")
    )
    arguments, want, bound = arguments_of(size, "f16", False, rng)
    (found,) = run_kernel(kernel, arguments, options=emulator.Options(schedule="ahead"))
    assert kernel.launches[-1][0] == name
    assert (np.abs(wide(found) - want) <= bound).all()


def _check_code(kernel: Kernel, turned: bool = False) -> None:
    """The engine stores, and no thread: no register is spilled, no product waits for another one."""
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None, "the tests' environment has one"
    assert ("stmatrix.sync.aligned.m8n8.x4.trans" in kernel.ptx) == turned
    assembled = assemble(kernel.ptx, CHIP, ptxas)
    assert not assembled.warnings
    assert all(made.spill_stores == made.stack == 0 for made in assembled.kernels.values())
    for name, code in parse(disassemble_cubin(assembled.cubin)).items():
        is_twin = name.endswith("_unaligned")
        assert code.named("HGMMA")
        for instruction in ("UTMASTG", "STSM"):
            assert bool(code.named(instruction)) != is_twin
        assert bool(code.named("STG")) == is_twin


def test_results_have_maps_like_factors(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by the driver's part for each address and size of the result."""
    made: set[tuple[int, ...]] = set()

    def tiled(kind: str, address: int, dims: list[int], *others: list[int], **modes: str) -> bytes:
        made.add(tuple(dims))
        return emulator.tiled(kind, address, dims, *others, **modes)

    monkeypatch.setattr(emulated, "tiled", tiled)
    call = mlopt.compile_mlir(NARROWED, target="cuda:sm_90a", device="emulator")
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in call.asm["ptx"]
    a, b = (rng.standard_normal((rows, 64)).astype(np.float16) for rows in (70, 4096))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    bound = np.abs(exact) * 2.0**-11 + 66 * np.finfo(np.float32).eps * (np.abs(a) @ np.abs(b.T)) + 2.0**-24
    assert (np.abs(call(a, b) - exact) <= bound).all()
    assert made == {(64, 70), (64, 4096), (4096, 70)}
