"""A kernel that copies a box by one tensor map and stores it by another, and the same by numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.snippets import kernel

NUMPY = {"u8": np.uint8, "s32": np.int32, "f16": np.float16, "f32": np.float32, "s64": np.int64}


def program(rank: int, at: tuple[int, ...], size: int, operation: str = "", before: str = "") -> str:
    """One thread copies a box from the first map to that of the second, or reduces with it."""
    place = ", ".join(str(value) for value in at)
    form = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
    if not operation:
        form = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    body = f"""
  cvta.param.u64 %rd1, first;
  cvta.param.u64 %rd2, second;
  mov.u32 %r1, buffer;
  mbarrier.init.shared::cta.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], {size};
  {before}
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [buffer], [%rd1, {{{place}}}], [bar];
L:
  mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd3;
  @!%p1 bra L;
  fence.proxy.async.shared::cta;
  {form} [%rd2, {{{", ".join("0" * rank)}}}], [buffer];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
    text = kernel(body, 0, 0, "sm_90")
    text = text.replace("k()", "k(.param .align 64 .b8 first[128], .param .align 64 .b8 second[128])")
    variables = f"  .shared .align 1024 .b8 buffer[{size}];\n  .shared .align 8 .b8 bar[8];\n"
    return text.replace("  mov.u32 %r0", variables + "  mov.u32 %r0")


def copied(
    x: np.ndarray,
    at: tuple[int, ...],
    box: tuple[int, ...],
    out: np.ndarray,
    operation: str = "",
    **more: Any,
) -> emulator.Report:
    """The box of ``x`` (innermost dimension first) at ``at``, stored to ``out``."""
    device = emulator.Device()
    plain = next(name for name, kind in NUMPY.items() if x.dtype == kind)
    maps, addresses = [], []
    steps, kinds_of = more.pop("element_strides", None), more.pop("types", (plain, plain))
    same = {key: value for key, value in more.items() if key == "swizzle"}
    given = ((x, box, more, steps), (out, out.shape[::-1], same, None))
    for name, (array, sizes, options, step) in zip(kinds_of, given, strict=True):
        address = device.alloc(array.nbytes, "array")
        device.write(address, array)
        addresses.append(address)
        strides = array.strides[:-1][::-1]
        maps.append(tensor_maps.tiled(name, address, array.shape[::-1], strides, sizes, step, **options))
    text = program(x.ndim, at, out.nbytes, operation)
    report = device.load(text).launch("k", 1, 1, maps, check=False)
    device.read(addresses[1], out)
    return report


def boxed(x: np.ndarray, at: tuple[int, ...], shape: tuple[int, ...], fill: float = 0) -> np.ndarray:
    """The same by numpy: elements outside of the array are ``fill``."""
    out = np.full(shape, fill, x.dtype)
    for place in itertools.product(*map(range, shape)):
        source = tuple(place[dim] + at[::-1][dim] for dim in range(x.ndim))
        if all(0 <= index < size for index, size in zip(source, x.shape, strict=True)):
            out[place] = x[source]
    return out
