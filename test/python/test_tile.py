"""Tile IR of element-wise ops and reductions computes what the ops compute, and so do its strips.

The shapes are tiny, since upstream's lowering unrolls whole tiles; tile sizes are set by hand so that tiles
are many and ragged.
"""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python import tile_kernels as kernels
from mlopt.test.python.kernel_checks import ARGMAX, EMBEDDING, check_tiles, data, tile_text


@pytest.mark.parametrize("tile", [None, (2, 3), (3, 0), (0, 4)])
def test_element_wise_chain(tile: tuple[int, ...] | None) -> None:
    check_tiles(kernels.relu_chain(5, 7), [data(5, 7), data(5, 7)], tile)


def test_a_chain_of_any_length() -> None:
    """Each op asks for what it reads: calls are as deep as the chain is long."""
    kernel = kernels.Kernel("chain")
    value = kernel.argument(kernels.tensor((8,)))
    out = kernel.argument(value[1])
    for _ in range(999):
        value = kernels.unary(kernel, value, 1, "%r = arith.addf %x, %x : f32")
    text = tile_text(kernel.text(kernels.unary(kernel, value, 1, "%r = arith.negf %x : f32", out)))
    assert text.count("arith.addf") == 999


def test_softmax() -> None:
    check_tiles(kernels.softmax(5, 7), [data(5, 7), data(5, 7)], (2, 0, 0, 0, 0))
    check_tiles(kernels.softmax("?", 7), [data(5, 7), data(5, 7)], (2, 0, 0, 0, 0))


def test_layer_norm() -> None:
    check_tiles(
        kernels.layer_norm(2, 5, 7),
        [data(2, 5, 7), data(7), data(7), data(2, 5, 7)],
        (1, 2, 0, 0, 0, 0, 0, 0),
        tolerance=1e-5,
    )


def test_column_sum() -> None:
    check_tiles(kernels.column_sum(7, 5), [data(7, 5), data(5)], (2, 0), tolerance=1e-5)
    check_tiles(kernels.column_sum("?", 5), [data(70, 5), data(5)], (2, 0), tolerance=1e-4)


def test_argmax() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<5xf32>", "tensor<5xi64>"]
    text = kernels.generic_kernel(
        "max_dim", kinds, "m,n -> m,n | m | m", "pr", ARGMAX, outs=2, inits=["-1.0e30", "0"]
    )
    check_tiles(text, [data(5, 7), data(5), data(5, kind="i64")], (2, 0), outs=2)


def test_two_sums_at_once() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<5xf32>", "tensor<5xf32>"]
    body = (
        "%x: f32, %s: f32, %q: f32 { %a = arith.addf %x, %s : f32\n %b = arith.mulf %x, %x : f32\n"
        " %c = arith.addf %b, %q : f32\n linalg.yield %a, %c : f32, f32 }"
    )
    text = kernels.generic_kernel(
        "sums", kinds, "m,n -> m,n | m | m", "pr", body, outs=2, inits=["0.0", "0.0"]
    )
    check_tiles(text, [data(5, 7), data(5), data(5)], (2, 0), outs=2, tolerance=1e-5)


def test_full_reduction_and_scalars() -> None:
    kinds = ["tensor<5x7xf32>", "tensor<f32>"]
    body = "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("sum", kinds, "m,n -> m,n | ", "rr", body, inits=["0.0"])
    check_tiles(text, [data(5, 7), np.array(1.5, np.float32)], tolerance=1e-5)
    dynamic = text.replace("5x7", "?x?")
    check_tiles(dynamic, [data(5, 70), np.array(1.5, np.float32)], tolerance=1e-5)
    kinds = ["tensor<f32>", "tensor<f32>", "tensor<f32>"]
    body = "%x: f32, %y: f32, %o: f32 { %r = arith.mulf %x, %y : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("mul", kinds, " ->  |  | ", "", body)
    check_tiles(text, [np.array(2.5, np.float32), np.array(3.0, np.float32), np.array(0.0, np.float32)])
    kinds = ["tensor<5xf32>", "tensor<f32>", "tensor<5xf32>"]
    text = kernels.generic_kernel("mul", kinds, "a -> a |  | a", "p", body)
    check_tiles(text, [data(5), np.array(3.0, np.float32), data(5)], (2,))


@pytest.mark.parametrize("kind", ["f64", "f16", "i64", "i32", "i8"])
def test_types(kind: str) -> None:
    f = "f" if kind.startswith("f") else "i"
    mac = (
        f"%x: {kind}, %y: {kind}, %s: {kind} {{ %p = arith.mul{f} %x, %y : {kind}\n %r = arith.add{f} %s, %p : {kind}\n"
        f" linalg.yield %r : {kind} }}"
    )
    kinds = [f"tensor<4x5x{kind}>", f"tensor<5x6x{kind}>", f"tensor<4x6x{kind}>"]
    zero = "0.0" if f == "f" else "0"
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", mac, inits=[zero])
    arrays = [data(4, 5, kind=kind), data(5, 6, kind=kind), data(4, 6, kind=kind)]
    if kind == "f16":  # the accumulator is f32: compare with that, not with sums in f16
        tiled = tile_text(text)
        assert (
            "vector<4x4xf16>, vector<4x6xf16> into vector<4x6xf32>" in tiled
            or "into vector<4x6xf32>" in tiled
        )
    else:
        check_tiles(text, arrays, (3, 4, 2))
    body = f"%x: {kind}, %s: {kind} {{ %r = arith.add{f} %x, %s : {kind}\n linalg.yield %r : {kind} }}"
    text = kernels.generic_kernel(
        "sum", [*kinds[:1], f"tensor<4x{kind}>"], "m,n -> m,n | m", "pr", body, inits=[zero]
    )
    check_tiles(
        text, [data(4, 5, kind=kind), data(4, kind=kind)], (3, 0), tolerance=1e-2 if kind == "f16" else 1e-6
    )


def test_two_results_of_different_rank() -> None:
    kernel = kernels.Kernel("both")
    x, full, row = (kernel.argument(kind) for kind in ("tensor<5x7xf32>", "tensor<5x7xf32>", "tensor<5xf32>"))
    y = kernels.unary(kernel, x, 2, "%r = arith.mulf %x, %x : f32", full)
    s = kernel.generic(
        "a,b -> a,b | a",
        "pr",
        [y],
        [kernel.fill("0.0", row[1], row)],
        "%x: f32, %s: f32 { %r = arith.addf %x, %s : f32\n linalg.yield %r : f32 }",
    )
    check_tiles(kernel.text(y, s), [data(5, 7), data(5, 7), data(5)], (2, 0), outs=2, tolerance=1e-5)


def test_dynamic_batch() -> None:
    kinds = ["tensor<?x4x5xf32>", "tensor<?x5x6xf32>", "tensor<?x4x6xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_tiles(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (1, 3, 4, 2), tolerance=1e-5)
    check_tiles(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (2, 3, 4, 2), tolerance=1e-5)
    kinds = ["tensor<?x3x6x6xf32>", "tensor<3x3x3x5xf32>", "tensor<?x5x4x4xf32>"]
    maps = "n,co,oh,ow,ci,kh,kw -> n,ci,oh+kh,ow+kw | ci,kh,kw,co | n,co,oh,ow"
    text = kernels.generic_kernel("conv2d", kinds, maps, "pppprrr", kernels.MAC, inits=["0.0"])
    check_tiles(
        text, [data(2, 3, 6, 6), data(3, 3, 3, 5), data(2, 5, 4, 4)], (1, 3, 1, 0, 2, 1, 1), tolerance=1e-4
    )
    kinds = ["tensor<?x3xi64>", "tensor<7x5xf32>", "tensor<?x3x5xf32>"]
    text = kernels.generic_kernel("embedding", kinds, "a,b,c -> a,b | a,b,c", "ppp", EMBEDDING)
    check_tiles(text, [np.array([[0, 6, 3], [2, 2, 5]]), data(7, 5), data(2, 3, 5)])


def test_any_is_one_reduction() -> None:
    body = (
        "%x: i8, %s: i8 { %a = arith.trunci %x : i8 to i1\n %b = arith.trunci %s : i8 to i1\n"
        " %o = arith.ori %a, %b : i1\n %r = arith.extui %o : i1 to i8\n linalg.yield %r : i8 }"
    )
    text = kernels.generic_kernel(
        "any", ["tensor<5x7xi8>", "tensor<5xi8>"], "m,n -> m,n | m", "pr", body, inits=["0"]
    )
    truths = (data(5, 7) > 3).astype(np.int8)
    truths[2] = 0
    assert "multi_reduction <or>" in check_tiles(text, [truths, data(5, kind="i8")], (2, 0))


def test_constants_and_scalars_in_the_kernel() -> None:
    text = """func.func private @scaled(%a0: tensor<3xf32>, %a1: f32, %a2: tensor<3xf32>) -> tensor<3xf32> attributes {mlopt.kernel} {
      %table = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
      %splat = arith.constant dense<3.0> : tensor<3xf32>
      %factor = arith.addf %a1, %a1 : f32
      %w = linalg.generic {indexing_maps = [affine_map<(a)->(a)>, affine_map<(a)->(a)>, affine_map<(a)->(a)>, affine_map<(a)->(a)>], iterator_types = ["parallel"]}
        ins(%a0, %table, %splat : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) outs(%a2 : tensor<3xf32>) {
      ^bb0(%x: f32, %t: f32, %s: f32, %o: f32):
        %p = arith.mulf %x, %t : f32
        %q = arith.addf %p, %s : f32
        %r = arith.mulf %q, %factor : f32
        linalg.yield %r : f32
      } -> tensor<3xf32>
      return %w : tensor<3xf32>
    }"""
    assert "vector.transfer_read" in tile_text(text)
    assert "vector.broadcast" in tile_text(text)
