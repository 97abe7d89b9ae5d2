"""Copies by im2col maps against numpy: pixels of a filter, in order, by the definition of their walk."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.snippets import kernel, kinds

RNG = np.random.default_rng(2025)
TYPES = {"f16": np.float16, "f32": np.float32, "u8": np.uint8, "s64": np.int64}
CHANNELS = 32  # bytes of a pixel in memory


class Walk(NamedTuple):
    """An array of N, (D, H,) W, C, and a map's corners and steps, W first as in the driver's arguments."""

    x: np.ndarray
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    steps: tuple[int, ...]

    def map(self, name: str, address: int, channels: int, pixels: int, **more: Any) -> bytes:
        dims, strides = self.x.shape[::-1], self.x.strides[:-1][::-1]
        steps = (1, *self.steps, 1)
        corners = (self.lower, self.upper)
        return tensor_maps.im2col(name, address, dims, strides, *corners, channels, pixels, steps, **more)

    def pixels(self) -> list[tuple[int, ...]]:
        """All places of a filter, (n, … h, w), in the order in which copies walk over them."""
        sizes = self.x.shape[1:-1][::-1]
        ranges = [
            range(low, size + high, step)
            for low, high, size, step in zip(self.lower, self.upper, sizes, self.steps, strict=True)
        ]
        return list(itertools.product(range(self.x.shape[0]), *ranges[::-1]))

    def column(
        self, start: int, offsets: tuple[int, ...], first: int, shape: tuple[int, int], fill: float
    ) -> Any:
        """Pixels from number ``start`` on, shifted by ``offsets``; channels from ``first`` on."""
        out = np.full(shape, fill, self.x.dtype)
        for row, (image, *place) in enumerate(self.pixels()[start : start + shape[0]]):
            at = [p + o for p, o in zip(place, offsets[::-1], strict=True)]
            if all(0 <= p < size for p, size in zip(at, self.x.shape[1:-1], strict=True)):
                found = self.x[(image, *at)][max(first, 0) : max(first + shape[1], 0)]
                out[row, max(-first, 0) :][: len(found)] = found
        return out


def drawn(spatial: int, name: str) -> Walk:
    sizes = tuple(RNG.integers(3, 8, spatial).tolist())
    x = RNG.integers(0, 100, (3, *sizes, CHANNELS // np.dtype(TYPES[name]).itemsize)).astype(TYPES[name])
    lower, upper = (tuple(RNG.integers(-2, 2, spatial).tolist()) for _ in range(2))
    return Walk(x, lower, tuple(min(high, 0) for high in upper), tuple(RNG.integers(1, 4, spatial).tolist()))


def program(rank: int, size: int) -> str:
    """Thread 0 loads pixels by the first map, and stores the bytes to %rd0, or by the second map."""
    at, shifts = (
        ", ".join(f"%{kind}{n}" for n in range(10, 10 + count))
        for kind, count in (("r", rank), ("h", rank - 2))
    )
    loads = "".join(f"  ld.param.s32 %r{10 + n}, [place+{4 * n}];\n" for n in range(rank))
    loads += "".join(f"  ld.param.u16 %h{10 + n}, [place+{20 + 2 * n}];\n" for n in range(rank - 2))
    body = f"""{loads}
  cvta.param.u64 %rd1, first;
  cvta.param.u64 %rd2, second;
  ld.param.u32 %r30, [place+28];
  setp.ne.u32 %p2, %r30, 0;
  mbarrier.init.shared::cta.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [bar], {size};
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
    [buffer], [%rd1, {{{at}}}], [bar], {{{shifts}}};
L:
  mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd3;
  @!%p1 bra L;
  @%p2 STORE [%rd2, {{{at}}}], [buffer];
  @!%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [buffer], {size};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
    store = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.bulk_group"
    text = kernel(body.replace("STORE", store), 1)
    maps = ", ".join(f".param .align 64 .b8 {name}[128]" for name in ("first", "second"))
    text = text.replace("k_param_0)", f"k_param_0, {maps}, .param .align 4 .b8 place[32])", 1)
    variables = f"  .shared .align 1024 .b8 buffer[{size}];\n  .shared .align 8 .b8 bar[8];\n"
    return text.replace("  mov.u32 %r0", variables + "  mov.u32 %r0", 1)


def launch(
    text: str,
    device: emulator.Device,
    out: int,
    maps: tuple[bytes, bytes],
    at: tuple[int, ...],
    offsets: tuple[int, ...] = (),
    store: int = 0,
) -> None:
    place = np.array([*at, *[0] * (5 - len(at))], np.int32).tobytes()
    place += np.array([*offsets, *[0] * (4 - len(offsets))], np.uint16).tobytes() + store.to_bytes(
        4, "little"
    )
    report = device.load(text).launch("k", 1, 1, [np.uint64(out), *maps, place], check=False)
    assert report.findings == []


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pixels(spatial: int, name: str) -> None:
    """Corners, steps, dilated offsets, images that end, channels over both ends, and what is filled in."""
    item = np.dtype(TYPES[name]).itemsize
    for trial in range(6):
        walk, fill = drawn(spatial, name), "nan" if trial % 2 and name[0] == "f" else "zeros"
        pixels, channels = int(RNG.choice([8, 16, 24])), int(RNG.choice([16, 32, 48])) // item
        if not (places := walk.pixels()):
            continue
        start, device = int(RNG.integers(0, len(places))), emulator.Device()
        offsets = tuple((RNG.integers(0, 3, spatial) * RNG.integers(1, 3, spatial)).tolist())
        first = int(RNG.choice([0, 0, 16 // item, -16 // item]))
        out = np.zeros((pixels, channels), walk.x.dtype)
        here, there = device.alloc(walk.x.nbytes), device.alloc(out.nbytes)
        device.write(here, walk.x)
        found = walk.map(name, here, channels, pixels, fill=fill)
        at = (first, *places[start][:0:-1], places[start][0])
        launch(program(spatial + 2, out.nbytes), device, there, (found, found), at, offsets)
        device.read(there, out)
        filled = np.nan if fill == "nan" else 0
        expected = walk.column(start, offsets, first, out.shape, filled)
        np.testing.assert_array_equal(out, expected, err_msg=str((walk[1:], walk.x.shape, at, offsets)))


@pytest.mark.parametrize(("swizzle", "channels"), [("none", 48), ("32B", 16), ("64B", 32), ("128B", 64)])
def test_swizzled_pixels(swizzle: str, channels: int) -> None:
    """The 16 bytes u of row r of 128 are where the pattern puts them."""
    walk = Walk(RNG.standard_normal((2, 5, 6, channels)).astype(np.float16), (-1, 0), (0, -1), (1, 2))
    out, device = np.zeros((16, channels), np.float16), emulator.Device()
    here, there = device.alloc(walk.x.nbytes), device.alloc(out.nbytes)
    device.write(here, walk.x)
    found = walk.map("f16", here, channels, 16, swizzle=swizzle)
    launch(program(4, out.nbytes), device, there, (found, found), (0, -1, 0, 0), (1, 0))
    device.read(there, out)
    units = out.reshape(-1, 8)
    mask = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[swizzle]
    number = np.arange(len(units))
    expected = walk.column(0, (1, 0), 0, out.shape, 0)
    np.testing.assert_array_equal(units[number ^ (number >> 3 & mask)].reshape(out.shape), expected)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pixels_that_are_stored(spatial: int) -> None:
    """im2col_no_offs: pixels go where they would come from; what is outside of the array stays."""
    for _ in range(4):
        walk, device = drawn(spatial, "f16"), emulator.Device()
        if not (places := walk.pixels()):
            continue
        x, y = walk.x, np.zeros_like(walk.x)
        here, there = device.alloc(x.nbytes), device.alloc(y.nbytes)
        device.write(here, x)
        device.write(there, y)
        start, pixels, zeros = int(RNG.integers(0, len(places))), 12, (0,) * spatial
        maps = tuple(walk.map("f16", address, 16, pixels) for address in (here, there))
        at = (0, *places[start][:0:-1], places[start][0])
        launch(program(spatial + 2, 2 * 16 * pixels), device, 0, maps, at, zeros, store=1)
        device.read(there, y)
        expected = np.zeros_like(x)
        for image, *place in places[start : start + pixels]:
            if all(0 <= p < size for p, size in zip(place, x.shape[1:-1], strict=True)):
                expected[(image, *place)] = x[(image, *place)]
        np.testing.assert_array_equal(y, expected)


GOOD: dict[str, Any] = {
    **{"dtype": "f16", "address": 1 << 20, "dims": (64, 9, 8, 7, 2), "strides": (128, 1152, 9216, 64512)},
    **{"lower": (-1, -1, -1), "upper": (-1, -1, -1), "channels": 64, "pixels": 64},
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"dims": (64, 9, 8, 7, 2, 1), "strides": (128, 1152, 9216, 64512, 129024)}, "tensorRank"),
        ({"address": (1 << 20) + 8}, "globalAddress"),
        ({"dims": (64, 9, 0, 7, 2)}, "globalDim"),
        ({"strides": (120, 1152, 9216, 64512)}, "globalStrides"),
        ({"strides": (128, 1152, 9216, 1 << 40)}, "globalStrides"),
        ({"lower": (-17, 0, 0)}, "pixelBoxLowerCorner"),
        ({"upper": (0, 16, 0)}, "pixelBoxUpperCorner"),
        ({"upper": (0, 0)}, "pixelBoxUpperCorner"),
        ({"upper": (-10, 0, 0)}, "leaves pixels"),
        ({"channels": 0}, "channelsPerPixel"),
        ({"pixels": 0}, "pixelsPerColumn"),
        ({"element_strides": (1, 9, 1, 1, 1)}, "elementStrides"),
        ({"element_strides": (1, 0, 1, 1, 1)}, "elementStrides"),
        ({"swizzle": "64B"}, "64 bytes of the swizzle"),
        ({"interleave": "32B"}, "swizzle"),
        ({"dtype": "s32", "channels": 32, "fill": "nan"}, "oobFill"),
    ],
)
def test_arguments_that_are_refused(changed: dict[str, Any], named: str) -> None:
    assert len(tensor_maps.im2col(**GOOD)) == 128
    with pytest.raises(emulator.EmulatorError, match=named):
        tensor_maps.im2col(**{**GOOD, **changed})


@pytest.mark.parametrize("what", ["tiled", "rank"])
def test_maps_of_another_mode(what: str) -> None:
    device = emulator.Device()
    address = device.alloc(1 << 16)
    dims, strides = (16, 8, 8, 2), (32, 256, 2048)
    other = tensor_maps.tiled("f16", address, dims, strides, (16, 4, 2, 1))
    if what == "rank":
        other = tensor_maps.im2col("f16", address, dims[:3], strides[:2], (0,), (0,), 16, 8)
    place = bytes(32)
    report = device.load(program(4, 256)).launch(
        "k", 1, 1, [np.uint64(address), other, other, place], check=False
    )
    assert "tensor-map" in kinds(report)
