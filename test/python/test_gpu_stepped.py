"""Every other element, and every fourth: lanes load whole accesses, and give each other what they pick."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt import emulator
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.int32, torch.int16, torch.int8, torch.uint8]


def steps(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    """Rows apart and in one; from both places on; a last group that is full or not; a part of each row."""
    return (
        x[:, 1:, ::2],
        x[1:, :, 1::2],
        x[..., 32:96:2],
        y[::2],
        y[1::2] + 1,
        z[:, ::2],
        z[:, 1::2] * z[:, 1::2],
        x[:, :-1, ::4],
        y[3::4],
        z[:, 2::4] + y[: z.numel() // 4].view(z.shape[0], -1),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_other_element_and_every_fourth(dtype: torch.dtype) -> None:
    each = 16 // dtype.itemsize
    shapes = [(3, 5, 128), (each * 517,), (7, each * 33)]
    inputs = [torch.randint(-9, 10, shape).to(dtype) for shape in shapes]
    compiled = mlopt.jit(steps, *inputs, target="cuda:sm_80", device="emulator")
    # One kernel writes y[::2] and y[1::2] + 1, one both slices of z; every fourth f32 is loaded by itself.
    assert compiled.asm["layouts"].count(f"consecutive = array<i64: {each}>") == (8 if each > 4 else 5)
    for found, wanted in zip(compiled(*inputs), steps(*inputs), strict=True):
        assert torch.equal(found, wanted)


# Results of a wider dtype; something that is one for all rows; two dtypes, of which lanes exchange one; two
# places in an access; conditions.
MIXED = {
    "wider": lambda x, y, z: x[:, ::2].double(),
    "fourths": lambda x, y, z: x[:, ::4].half().float() + 1,
    "row": lambda x, y, z: x[:, 1::2] + y,
    "dtypes": lambda x, y, z: z[:, ::2].to(x.dtype) * x[:, ::2],
    "two": lambda x, y, z: x[:, 1::4].relu() - x[:, ::4],
    "chosen": lambda x, y, z: torch.where(z[:, 1::2] > 0, x[:, ::2], y * 2),
    "condition": lambda x, y, z: z[:, 1::2] > 0,
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows", [1, 7])
def test_dtypes_and_what_is_beside(name: str, dtype: torch.dtype, rows: int) -> None:
    x, y = torch.randn(rows, 8 * 88).to(dtype), torch.randn(352).to(dtype)
    z = torch.randint(-9, 10, x.shape).to(torch.int8)
    compiled = mlopt.jit(MIXED[name], x, y, z, target="cuda:sm_80", device="emulator")
    is_apart = dtype is torch.float32 and name in ("fourths", "two")  # each f32 is loaded by itself
    assert ("consecutive" in compiled.asm["layouts"]) != is_apart
    torch.testing.assert_close(compiled(x, y, z), MIXED[name](x, y, z), rtol=0, atol=0)


@pytest.mark.parametrize("size", [0, 2, 8, 24, 30, 31, 256, 258, 2056])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
def test_sizes(size: int, dtype: torch.dtype) -> None:
    x = torch.randint(-9, 10, (5, size)).to(dtype)

    def cut(x: Tensor) -> tuple[Tensor, ...]:
        return x[:, ::2], x[1:, 1::4] + 1, x.flatten()[3::2]

    compiled = mlopt.jit(cut, x, target="cuda:sm_80", device="emulator")
    for found, wanted in zip(compiled(x), cut(x), strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_bits_that_are_no_numbers(dtype: torch.dtype) -> None:
    bits = torch.arange(24 * 40, dtype=torch.int16 if dtype.itemsize == 2 else torch.int32) * 13007
    x = bits.view(dtype).reshape(24, 40)
    x[3, ::5], x[4, 1::7] = float("nan"), -float("inf")
    compiled = mlopt.jit(lambda x: x[:, ::2].clone(), x, target="cuda:sm_80", device="emulator")
    assert torch.equal(compiled(x).view(bits.dtype), x[:, ::2].clone().view(bits.dtype))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("dtype", "step"),
    [(torch.float32, 2), (torch.float16, 2), (torch.float16, 4), (torch.int8, 2), (torch.int8, 4)],
)
def test_requests_touch_no_more_than_they_fill(chip: str, dtype: torch.dtype, step: int) -> None:
    """Accesses of 16 bytes alone, a warp's beside each other; memory moves what it would for elements."""
    x = torch.randint(-9, 10, (16, 9, 512)).to(dtype)

    def cut(x: Tensor) -> Tensor:
        return x[:, 1:, step - 1 :: step]

    compiled = mlopt.jit(cut, x, target=f"cuda:{chip}", device="emulator")
    with emulator.record(trace=True) as launches:
        found = compiled(x)
    assert torch.equal(found, cut(x))
    (report,) = launches
    accesses = [line for line in report.counters.lines if re.match(r"(ld|st)\.global", line.text)]
    assert all(re.search(r"v4\.b32|v2\.b64", line.text) for line in accesses)
    assert all(line.sectors * 32 == line.bytes for line in accesses)
    written = found.numel() * dtype.itemsize
    assert report.counters.dram_written == written
    assert report.counters.dram_read == step * written


@pytest.mark.parametrize("shift", [0, 4, 8])
def test_buffers_that_are_not_aligned(shift: int) -> None:
    text = kernels.generic_kernel(
        "slice", ["tensor<9x32x2xf32>", "tensor<9x32xf32>"], "a,b -> a,b,0 | a,b", "pp",
        "%x: f32, %o: f32 { linalg.yield %x : f32 }",
    )  # fmt: skip
    kernel = gpu.compile_kernel(text)
    x = np.random.default_rng(5).standard_normal((9, 32, 2)).astype(np.float32)
    (found,) = gpu.run_kernel(kernel, [x, np.zeros((9, 32), np.float32)], shift=shift)
    np.testing.assert_array_equal(found, x[:, :, 0])
