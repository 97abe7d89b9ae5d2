"""Copies by interleaved tensor maps: channels in slices of 16 and 32 bytes, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.boxes import boxed, program

RNG = np.random.default_rng(91)
IMAGES, SLICES, PIXELS, BOX = 3, 4, (3, 5, 7), (2, 2, (2, 3, 4))  # (D, H, W)
KINDS = {"f16": np.float16, "s32": np.int32, "u8": np.uint8}


def interleaved(name: str, address: int, x: np.ndarray, box: tuple[int, ...], **more: Any) -> bytes:
    """The map of an array N, C / 8, (D, H,) W, C % 8; the box has images, slices and pixels."""
    images, slices, *pixels, size = x.shape
    strides = (*x.strides[2:-1][::-1], x.strides[0])
    counts = (box[1] * size, *box[2:][::-1], box[0])
    dims, interleave = (slices * size, *pixels[::-1], images), f"{size * x.itemsize}B"
    return tensor_maps.tiled(name, address, dims, strides, counts, interleave=interleave, **more)


def arrays(name: str, interleave: int, spatial: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """An array, and images, slices and pixels of a box of it."""
    size = interleave // np.dtype(KINDS[name]).itemsize
    shape = (IMAGES, SLICES, *PIXELS[3 - spatial :], size)
    return RNG.integers(0, 100, shape).astype(KINDS[name]), (*BOX[:2], *BOX[2][3 - spatial :])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("interleave", [16, 32])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_slices_lie_in_shared_memory_as_in_global(spatial: int, interleave: int, name: str) -> None:
    """The other map is plain, and stores what is in shared memory from its start to its end."""
    x, box = arrays(name, interleave, spatial)
    size, swizzle = x.shape[-1], "32B" if interleave == 32 else "none"
    for at in ((0,) * spatial, (1, 2, 3)[:spatial], (-1, 4, -2)[:spatial]):
        out = np.zeros((*box, size), x.dtype)
        lines = (*((1,) * (spatial - 1)), out.size // size, size)  # as many dimensions, one after another
        device = emulator.Device()
        here, there = device.alloc(x.nbytes), device.alloc(out.nbytes)
        device.write(here, x)
        device.write(there, out)
        steps = tuple(out.nbytes for _ in range(spatial))
        second = tensor_maps.tiled(
            name, there, (*lines[::-1], 1), (interleave, *steps), (*lines[::-1], 1), swizzle=swizzle
        )
        first = interleaved(name, here, x, box, swizzle=swizzle)
        text = program(spatial + 2, (size, *at, 1), out.nbytes)
        assert device.load(text).launch("k", 1, 1, [first, second]).findings == []
        device.read(there, out)
        np.testing.assert_array_equal(out, boxed(x, (0, *at, 1, 1), out.shape))


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_there_and_back(swizzle: str) -> None:
    x, box = arrays("f16", 16, 2)
    out = np.zeros((*box, 8), x.dtype)
    device = emulator.Device()
    here, there = device.alloc(x.nbytes), device.alloc(out.nbytes)
    device.write(here, x)
    device.write(there, out)
    maps = [interleaved("f16", at, each, box, swizzle=swizzle) for at, each in ((here, x), (there, out))]
    text = program(4, (16, 2, 3, 1), out.nbytes)
    assert device.load(text).launch("k", 1, 1, maps).findings == []
    device.read(there, out)
    np.testing.assert_array_equal(out, boxed(x, (0, 2, 3, 2, 1), out.shape))


@pytest.mark.parametrize("first", [0, 16, 24, 32])
@pytest.mark.parametrize("padding", [0, 3])
def test_a_last_slice_that_is_padded_with_zeros(padding: int, first: int) -> None:
    """Of 28 halves in four slices of 8: those after the last are zeros in memory, else that is found."""
    x = RNG.integers(1, 100, (2, 4, 7, 8)).astype(np.float16)
    x[:, 3, :, 4:] = 0
    x[1, 3, 2, 6] = padding
    out = np.zeros((2, 2, 4, 8), np.float16)
    device = emulator.Device()
    here, there = device.alloc(x.nbytes), device.alloc(out.nbytes)
    device.write(here, x)
    device.write(there, out)
    padded = tensor_maps.tiled("f16", here, (28, 7, 2), (16, 448), (16, 4, 2), interleave="16B")
    plain = tensor_maps.tiled("f16", there, (8, 16, 1), (16, 256), (8, 16, 1))
    report = device.load(program(3, (first, 1, 0), out.nbytes)).launch(
        "k", 1, 1, [padded, plain], check=False
    )
    assert [each.kind for each in report.findings] == ["tensor-map"] * (padding > 0 and first in (16, 24))
    device.read(there, out)
    np.testing.assert_array_equal(out, boxed(x, (0, 1, first // 8, 0), out.shape))


CHANGES = {
    "a store to a part of a slice": ({"dims": (28, 7, 2)}, "28 channels in slices of 8: what a store"),
    "NaNs in a part of a slice": ({"dims": (28, 7, 2), "fill": "nan"}, "28 channels .* zeros or NaNs"),
    "part of a slice in the box": ({"box": (12, 4, 2)}, "12 in its box"),
    "images that are apart": ({"strides": (16, 512)}, "512 bytes apart, not the 448"),
    "skipped channels": ({"element_strides": (2, 1, 1)}, "parts of slices"),
    "a coordinate within a slice": ({}, "channels from 4 on"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_isa_leaves_open(what: str) -> None:
    changed, named = CHANGES[what]
    device = emulator.Device()
    given = {"dims": (32, 7, 2), "strides": (16, 448), "box": (16, 4, 2), **changed}
    found = tensor_maps.tiled("f16", device.alloc(4096), **given, interleave="16B")
    kernels = device.load(program(3, (4 if "coordinate" in what else 0, 0, 0), 256))
    with pytest.raises(emulator.UnsupportedInstructionError, match=named):
        kernels.launch("k", 1, 1, [found, found])


def test_pixels_of_interleaved_maps() -> None:
    device = emulator.Device()
    dims, strides = (16, 7, 5, 2), (16, 112, 1120)
    found = tensor_maps.im2col(
        "f16", device.alloc(8192), dims, strides, (0, 0), (0, 0), 16, 8, interleave="16B"
    )
    text = program(4, (0, 0, 0, 0), 256).replace("global.tile.mbarrier", "global.im2col_no_offs.mbarrier")
    with pytest.raises(emulator.UnsupportedInstructionError, match="interleaved im2col"):
        device.load(text).launch("k", 1, 1, [found, found])
