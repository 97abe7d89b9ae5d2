"""Tile IR of matrix products, convolutions and pools computes what the ops compute, and so do its strips."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import numpy as np
import pytest
from mlopt.test.python import tile_kernels as kernels
from mlopt.test.python.kernel_checks import check_tiles, data


@pytest.mark.parametrize("tile", [None, (2, 3, 4), (0, 4, 3), (2, 0, 0)])
def test_matmul(tile: tuple[int, ...] | None) -> None:
    check_tiles(
        kernels.matmul_bias_gelu(5, 6, 7), [data(5, 7), data(7, 6), data(6), data(5, 6)], tile, tolerance=1e-5
    )


def test_convolution() -> None:
    arrays = [data(2, 3, 6, 6), data(3, 3, 3, 5), data(5), data(2, 5, 4, 4)]
    check_tiles(kernels.conv_relu(2, 3, 5, 4, 3), arrays, (1, 3, 1, 0, 2, 1, 1), tolerance=1e-4)
    check_tiles(
        kernels.conv_relu(2, 3, 5, 4, 2, dilation=2),
        [arrays[0], data(3, 2, 2, 5), *arrays[2:]],
        (1, 3, 2, 3, 2, 1, 1),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("tile", [None, (1, 2, 0, 3, 1, 1)])
def test_max_pool(tile: tuple[int, ...] | None) -> None:
    kinds = ["tensor<2x3x6x8xf32>", "tensor<2x3xf32>", "tensor<2x3x5x6xf32>"]
    body = "%x: f32, %w: f32, %m: f32 { %r = arith.maximumf %x, %m : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel(
        "max_pool",
        kinds,
        "n,c,h,w,kh,kw -> n,c,h+kh,w+kw | kh,kw | n,c,h,w",
        "pppprr",
        body,
        inits=["-1.0e30"],
    )
    check_tiles(text, [data(2, 3, 6, 8), data(2, 3), data(2, 3, 5, 6)], tile)


def test_strided_pool_reads_the_expanded_input() -> None:
    kinds = ["tensor<1x3x4x2x4x2xf32>", "tensor<3x3xf32>", "tensor<1x3x3x3xf32>"]
    body = "%x: f32, %w: f32, %m: f32 { %r = arith.addf %x, %m : f32\n linalg.yield %r : f32 }"
    maps = "n,c,h,w,kh,kw -> n,c,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | kh,kw | n,c,h,w"
    text = kernels.generic_kernel("avg_pool", kinds, maps, "pppprr", body, inits=["0.0"])
    check_tiles(
        text, [data(1, 3, 4, 2, 4, 2), data(3, 3), data(1, 3, 3, 3)], (0, 2, 1, 0, 1, 1), tolerance=1e-5
    )


def test_strided_convolution() -> None:
    kinds = ["tensor<1x3x4x2x4x2xf32>", "tensor<3x3x3x5xf32>", "tensor<1x5x3x3xf32>"]
    maps = "n,co,h,w,ci,kh,kw -> n,ci,h + kh floordiv 2,kh mod 2,w + kw floordiv 2,kw mod 2 | ci,kh,kw,co | n,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "pppprrr", kernels.MAC, inits=["0.0"])
    tiled = check_tiles(
        text,
        [data(1, 3, 4, 2, 4, 2), data(3, 3, 3, 5), data(1, 5, 3, 3)],
        (0, 3, 1, 0, 2, 1, 1),
        tolerance=1e-4,
    )
    assert "vector.contract" in tiled


def test_depthwise_convolution() -> None:
    kinds = ["tensor<1x3x6x6xf32>", "tensor<3x1x3x3x1xf32>", "tensor<1x3x1x4x4xf32>"]
    maps = "n,g,co,h,w,ci,kh,kw -> n,g+ci,h+kh,w+kw | g,ci,kh,kw,co | n,g,co,h,w"
    text = kernels.generic_kernel("conv2d", kinds, maps, "ppppprrr", kernels.MAC, inits=["0.0"])
    tiled = check_tiles(text, [data(1, 3, 6, 6), data(3, 1, 3, 3, 1), data(1, 3, 1, 4, 4)], tolerance=1e-4)
    assert "vector.contract" not in tiled


def test_batch_matmul_and_matrix_vector() -> None:
    kinds = ["tensor<3x4x5xf32>", "tensor<3x5x6xf32>", "tensor<3x4x6xf32>"]
    text = kernels.generic_kernel(
        "bmm", kinds, "b,m,n,k -> b,m,k | b,k,n | b,m,n", "pppr", kernels.MAC, inits=["0.0"]
    )
    check_tiles(text, [data(3, 4, 5), data(3, 5, 6), data(3, 4, 6)], (1, 3, 4, 2), tolerance=1e-5)
    kinds = ["tensor<4x5xf32>", "tensor<5xf32>", "tensor<4xf32>"]
    text = kernels.generic_kernel("mv", kinds, "m,k -> m,k | k | m", "pr", kernels.MAC, inits=["0.0"])
    assert "multi_reduction" in check_tiles(text, [data(4, 5), data(5), data(4)], (3, 0), tolerance=1e-5)


def test_matmul_corners() -> None:
    arrays = [data(5, 7), data(7, 6), data(5, 6)]
    check_tiles(kernels.matmul("?", 6, 7, a=("?", 7)), arrays, (2, 4, 3), tolerance=1e-5)
    empty = check_tiles(kernels.matmul(5, 6, 0), [data(5, 0), data(0, 6), data(5, 6)])
    assert "vector.contract" not in empty
    check_tiles(kernels.matmul(0, 6, 7), [data(0, 7), data(7, 6), data(0, 6)])
    check_tiles(kernels.relu_chain(0, 6), [data(0, 6), data(0, 6)])
    check_tiles(kernels.softmax(5, 1), [data(5, 1), data(5, 1)])


def test_quantised_product() -> None:
    body = (
        "%x: i8, %y: i8, %s: i32 { %a = arith.extsi %x : i8 to i32\n %b = arith.extui %y : i8 to i32\n"
        " %p = arith.muli %a, %b : i32\n %r = arith.addi %s, %p : i32\n linalg.yield %r : i32 }"
    )
    kinds = ["tensor<4x5xi8>", "tensor<5x6xi8>", "tensor<4x6xi32>"]
    text = kernels.generic_kernel("matmul", kinds, kernels.MATMUL_MAPS, "ppr", body, inits=["0"])
    arrays = [
        np.arange(20, dtype=np.int8).reshape(4, 5) - 9,
        (np.arange(30) * 8).astype(np.int8).reshape(5, 6),
        np.zeros((4, 6), np.int32),
    ]
    check_tiles(text, arrays, (3, 4, 2))
