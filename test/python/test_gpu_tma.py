"""Products whose factors TMA copies, as they are called: dynamic sizes, alignment, which maps are made."""

from __future__ import annotations

from collections.abc import Iterator

import mlopt
import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.cuda import emulated

COLUMNS = 4096  # of fewer warps make the product alone, for any number of rows
PRODUCT = """
func.func @main(%a: tensor<?x?xf16>, %b: tensor<4096x?xf16>) -> tensor<?x4096xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf16>
  %e = tensor.empty(%m) : tensor<?x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x?xf16>, tensor<4096x?xf16>) outs(%f : tensor<?x4096xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x4096xf32>
  return %r : tensor<?x4096xf32>
}
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, ...]]]:
    """The sizes of which the driver's part makes maps, from the innermost on."""
    sizes: list[tuple[int, ...]] = []

    def tiled(kind: str, address: int, dims: list[int], *others: list[int], **modes: str) -> bytes:
        sizes.append(tuple(dims))
        return emulator.tiled(kind, address, dims, *others, **modes)

    monkeypatch.setattr(emulated, "tiled", tiled)
    yield sizes


def test_maps_are_of_what_the_call_gives(made: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    call = mlopt.compile_mlir(PRODUCT, target="cuda:sm_90a", device="emulator")
    assert "cp.async.bulk.tensor.2d" in call.asm["ptx"]

    def check(a: np.ndarray, b: np.ndarray) -> None:
        one, other = a.astype(np.float64), b.astype(np.float64).T
        bound = (a.shape[1] + 2) * np.finfo(np.float32).eps * (np.abs(one) @ np.abs(other))
        assert (np.abs(call(a, b) - one @ other) <= bound).all()

    def drawn(rows: int, depth: int) -> np.ndarray:
        return rng.standard_normal((rows, depth)).astype(np.float16)

    for rows, depth, times in ((70, 40, 1), (1, 64, 3)):
        a, b = drawn(rows, depth), drawn(COLUMNS, depth)
        for _ in range(times):
            check(a, b)
        assert sorted(made) == [(depth, rows), (depth, COLUMNS)]  # once, however often they are used
        made.clear()
    # Rows that are no multiple of 16 bytes, buffers that begin elsewhere, no elements: the kernel's twin.
    check(drawn(2, 33), drawn(COLUMNS, 33))
    check(drawn(1, 33)[:, 1:], drawn(COLUMNS, 32))
    check(drawn(3, 0), drawn(COLUMNS, 0))
    assert not made
