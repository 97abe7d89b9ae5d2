"""Half floats on GPUs, two at a time: the bits that f32 rounded after each op gives, for all bit patterns."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# relu(x) * 0.5, y - that, and their sum: each rounded.
BODY = """%x: T, %y: T, %o: T {
  %zero = arith.constant 0.0 : T
  %half = arith.constant 0.5 : f32
  %r = arith.maximumf %x, %zero : T
  %w = arith.extf %r : T to f32
  %p = arith.mulf %w, %half : f32
  %a = arith.truncf %p : f32 to T
  %b = arith.extf %a : T to f32
  %z = arith.extf %y : T to f32
  %d = arith.subf %z, %b : f32
  %c = arith.truncf %d : f32 to T
  %e = arith.extf %c : T to f32
  %s = arith.addf %e, %b : f32
  %q = arith.truncf %s : f32 to T
  linalg.yield %q : T }"""


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("element", DTYPES)
def test_every_bit_pattern(element: str, chip: str) -> None:
    dtype = DTYPES[element]
    x = np.arange(1 << 16, dtype=np.uint16)
    y = np.random.default_rng(3).permutation(x)
    kinds = [kernels.tensor(x.shape, element)] * 3
    text = kernels.generic_kernel("halves", kinds, "d0 -> d0 | d0 | d0", "p", BODY.replace("T", element))
    compiled = gpu.compile_kernel(text, chip)
    assert f".{element}x2" in compiled.ptx
    with np.errstate(all="ignore"):
        (found,) = gpu.run_kernel(compiled, [x, y, np.zeros_like(x)])
    first, second = (torch.from_numpy(bits.copy().view(np.int16)).view(dtype) for bits in (x, y))
    half = torch.relu(first) * 0.5
    wanted = (second - half) + half
    ours = torch.from_numpy(found.view(np.int16)).view(dtype)
    assert torch.equal(ours.isnan(), wanted.isnan())
    numbers = ~wanted.isnan() & ~((wanted == 0) & (half == 0))  # max(-0, 0) is either zero
    assert torch.equal(ours.view(torch.int16)[numbers], wanted.view(torch.int16)[numbers])
