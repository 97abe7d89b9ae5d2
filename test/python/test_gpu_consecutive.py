"""Slices and pads whose rows begin anywhere: threads load aligned accesses and shift them into place."""

from __future__ import annotations

import sys
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels


def moved(x: Tensor, y: Tensor, z: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """Shifts that are known or not; rows of three lengths; ends beside whole accesses; pads; two inputs."""
    return (
        x[:, 1:],
        x[:, :-1],
        x[:, 3:] * x[:, :-3],
        F.pad(w, (1, 2, 1, 0), value=3.0),
        F.pad(w, (5, 0)),
        y[1:, :, 2:],
        z[1:],
        z[:-7] + z[7:],
        v[:, 1:],
        v[:, 3:] * v[:, :-3],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8])
def test_rows_that_begin_anywhere(dtype: torch.dtype) -> None:
    each = 16 // dtype.itemsize
    rows = [(5, 33 * each + 3), (3, 2, 36 * each), (65 * each + 5,)]
    shapes = [*rows, (3, 128 * each + 1), (5, 130 * each + 3)]
    inputs = [torch.randint(-9, 10, shape).to(dtype) for shape in shapes]
    compiled = mlopt.jit(moved, *inputs, target="cuda:sm_80", device="emulator")
    kernels_of_parts = 9 if each > 4 else 7  # one writes both slices of x; pads of 4 bytes stay tiles
    assert compiled.asm["layouts"].count(f"consecutive = array<i64: {each}>") == kernels_of_parts
    for found, wanted in zip(compiled(*inputs), moved(*inputs), strict=True):
        assert torch.equal(found, wanted)


def short(x: Tensor, y: Tensor, z: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    """Rows of an access and more, and their ends: one element apart, or padded, some rows wholly."""
    return (
        x[:, 1:],
        x[:, :-1] + x[:, 1:],
        y[:, :-1],
        z[:, :, 1:],
        F.pad(x, (1, 2), value=3.0),
        F.pad(y, (3, 1, 1, 0), value=3.0),
        F.pad(x, (0, 3, 1, 2), value=3.0),
        F.pad(y, (2, 0, 0, 1)),
        F.pad(w, (0, 1), value=3.0),
        F.pad(w, (1, 1)) * 2,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int16, torch.int8])
def test_ends_of_short_rows(dtype: torch.dtype) -> None:
    each = 16 // dtype.itemsize
    shapes = [(each, 2 * each + 1), (2 * each, 3 * each), (each, 2, each + 3), (each, each)]
    inputs = [torch.randint(-9, 10, shape).to(dtype) for shape in shapes]
    compiled = mlopt.jit(short, *inputs, target="cuda:sm_80", device="emulator")
    kernels_of_parts = compiled.asm["layouts"].count(f"consecutive = array<i64: {each}>")
    assert kernels_of_parts == (9 if each > 4 else 3)  # one writes both slices of x
    for found, wanted in zip(compiled(*inputs), short(*inputs), strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize(("rows", "together"), [(5, False), (8, True)])
def test_what_is_read_in_place_ends_with_a_whole_access(rows: int, together: bool) -> None:
    x, y = torch.randn(rows, 28), torch.randn(rows, 27)

    def add(x: Tensor, y: Tensor) -> Tensor:
        return x[:, 1:] + y

    compiled = mlopt.jit(add, x, y, target="cuda:sm_80", device="emulator")
    assert ("consecutive" in compiled.asm["layouts"]) == together
    assert torch.equal(compiled(x, y), add(x, y))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_bits_that_are_no_numbers(dtype: torch.dtype) -> None:
    bits = torch.arange(24 * 40, dtype=torch.int16 if dtype.itemsize == 2 else torch.int32) * 13007
    x = bits.view(dtype).reshape(24, 40)
    x[3, ::5], x[4, 1::7] = float("nan"), -float("inf")

    def cut(x: Tensor) -> tuple[Tensor, ...]:
        return x[:, 1:].clone(), F.pad(x, (2, 1), value=float("inf"))

    compiled = mlopt.jit(cut, x, target="cuda:sm_80", device="emulator")
    for found, wanted in zip(compiled(x), cut(x), strict=True):
        assert torch.equal(found.view(bits.dtype), wanted.view(bits.dtype))


@pytest.mark.parametrize("shift", [0, 4, 8])
def test_buffers_that_are_not_aligned(shift: int) -> None:
    text = kernels.generic_kernel(
        "slice", ["tensor<4x130xf32>", "tensor<4x129xf32>"], "a,b -> a,b + 1 | a,b", "pp",
        "%x: f32, %o: f32 { linalg.yield %x : f32 }",
    )  # fmt: skip
    kernel = gpu.compile_kernel(text)
    x = np.random.default_rng(5).standard_normal((4, 130)).astype(np.float32)
    (found,) = gpu.run_kernel(kernel, [x, np.zeros((4, 129), np.float32)], shift=shift)
    np.testing.assert_array_equal(found, x[:, 1:])


def rolled(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """Forwards and back, by less than an access and by many, with what is computed before and behind."""
    return (
        x.roll(1, 1),
        x.roll(-3, 1),
        (x * 3).roll(5 - x.shape[1], 1) + x,
        y.roll(2, -1),
        y.roll((1, 17), (1, 2)),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int16, torch.int8])
def test_rows_that_are_rolled(dtype: torch.dtype) -> None:
    each = 16 // dtype.itemsize
    inputs = [torch.randint(-9, 10, shape).to(dtype) for shape in [(5, 37 * each), (3, 2, 2 * each)]]
    compiled = mlopt.jit(rolled, *inputs, target="cuda:sm_80", device="emulator")
    assert compiled.asm["layouts"].count(f"consecutive = array<i64: {each}>") >= 4
    for found, wanted in zip(compiled(*inputs), rolled(*inputs), strict=True):
        assert torch.equal(found, wanted)


def bordered(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    """What is reflected, replicated and taken from the other end; some tasks of a last group are none."""
    return (
        F.pad(x, (2, 1), mode="reflect"),
        F.pad(x, (0, 3), mode="reflect") * 2,
        F.pad(x, (1, 4), mode="replicate"),
        F.pad(y, (3, 2), mode="circular"),
        F.pad(y, (7, 0), mode="reflect"),
        F.pad(z, (1, 1, 2, 1), mode="reflect"),
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [256, 261])
def test_rows_between_borders(dtype: torch.dtype, size: int) -> None:
    shapes = [(8, size), (2, 4, size + 3), (2, 3, 7, 9)]
    inputs = [torch.randn(shape).to(dtype) for shape in shapes]
    inputs[0][3, 1::7], inputs[0][4, -3:] = float("nan"), -float("inf")
    compiled = mlopt.jit(bordered, *inputs, target="cuda:sm_80", device="emulator")
    assert compiled.asm["layouts"].count("consecutive = array<i64: 8>") == 5
    assert len(compiled.kernels) == 6
    for found, wanted in zip(compiled(*inputs), bordered(*inputs), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
