"""Tensor maps: the checks of their arguments, and what is wrong with copies by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.boxes import program
from mlopt.test.python.emulator.snippets import kinds

GOOD: dict[str, Any] = {
    "dtype": "f16",
    "address": 1 << 20,
    "dims": (64, 8),
    "strides": (128,),
    "box": (64, 8),
}
IM2COL: dict[str, Any] = {
    **{"dtype": "f16", "address": 1 << 20, "dims": (16, 7, 5, 2), "strides": (32, 224, 1120)},
    **{"lower": (-1, -1), "upper": (-1, -1), "channels": 16, "pixels": 32},
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"dtype": "f8"}, "tensorDataType"),
        ({"dims": (), "strides": (), "box": ()}, "tensorRank"),
        ({"dims": (1,) * 6, "strides": (16,) * 5, "box": (8,) * 6}, "tensorRank"),
        ({"address": 8}, "globalAddress"),
        ({"address": -16}, "globalAddress"),
        ({"address": 1 << 64}, "globalAddress"),
        ({"address": 2.5}, "globalAddress"),
        ({"dims": (64, 8.5)}, "globalDim"),
        ({"strides": (128.0,)}, "globalStrides"),
        ({"box": (64, None)}, "boxDim"),
        ({"element_strides": (1, 1.5)}, "elementStrides"),
        ({"dims": (64, 0)}, "globalDim"),
        ({"dims": (64, (1 << 32) + 1)}, "globalDim"),
        ({"strides": ()}, "globalStrides"),
        ({"strides": (120,)}, "globalStrides"),
        ({"strides": (1 << 40,)}, "globalStrides"),
        ({"box": (64,)}, "boxDim"),
        ({"box": (64, 0)}, "boxDim"),
        ({"box": (64, 257)}, "boxDim"),
        ({"box": (12, 8)}, "boxDim\\[0\\]"),
        ({"element_strides": (1,)}, "elementStrides"),
        ({"element_strides": (1, 9)}, "elementStrides"),
        ({"interleave": "16B"}, "tensorRank"),
        ({"swizzle": "64B"}, "64 bytes of the swizzle"),
        ({"swizzle": "256B"}, "swizzle"),
        ({"promotion": "512B"}, "l2Promotion"),
        ({"dtype": "u16", "fill": "nan"}, "oobFill"),
    ],
)
def test_arguments_that_are_refused(changed: dict[str, Any], named: str) -> None:
    assert len(tensor_maps.tiled(**GOOD)) == 128
    with pytest.raises(emulator.EmulatorError, match=named):
        tensor_maps.tiled(**{**GOOD, **changed})


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"dims": (16, 7), "strides": (32,)}, "tensorRank"),
        ({"lower": (-1,)}, "pixelBoxLowerCorner"),
        ({"lower": (0, 0.5)}, "pixelBoxLowerCorner"),
        ({"pixels": 2.5}, "pixelsPerColumn"),
        ({"channels": "a"}, "channelsPerPixel"),
        ({"lower": (-129, 0)}, "pixelBoxLowerCorner"),
        ({"upper": (128, 0)}, "pixelBoxUpperCorner"),
        ({"lower": (6, 0)}, "pixelBoxUpperCorner"),
        ({"channels": 257}, "channelsPerPixel"),
        ({"pixels": 1025}, "pixelsPerColumn"),
        ({"swizzle": "32B", "channels": 32}, "swizzle"),
    ],
)
def test_arguments_of_im2col_that_are_refused(changed: dict[str, Any], named: str) -> None:
    assert len(tensor_maps.im2col(**IM2COL)) == 128
    with pytest.raises(emulator.EmulatorError, match=named):
        tensor_maps.im2col(**{**IM2COL, **changed})


def test_a_map_says_what_was_encoded() -> None:
    found = tensor_maps.TensorMap.decode(tensor_maps.im2col(**IM2COL))
    assert found is not None and found.im2col and found.counts == (16, 32)
    assert (found.dims, found.strides, found.lower, found.upper) == (
        (16, 7, 5, 2),
        (32, 224, 1120),
        (-1, -1),
        (-1, -1),
    )
    assert tensor_maps.TensorMap.decode(bytes(128)) is None


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (
            ("align 1024 .b8 buffer", "align 1024 .b8 other[64];\n  .shared .align 16 .b8 buffer"),
            "misaligned",
        ),
        (("[%rd1, {0, 0}]", "[%rd1, {0}]"), "refused"),
        ((".2d.shared::cluster", ".1d.shared::cluster"), "refused"),
        (("mov.u32 %r1, buffer", "add.u64 %rd1, %rd1, 32"), "misaligned"),
        (("mov.u32 %r1, buffer", "mov.u64 %rd1, 64"), "out-of-bounds"),
        ((".tile.mbarrier", ".im2col_no_offs.mbarrier"), "refused"),
        (("bar], 512", "bar], 256"), "transaction-count"),
        (("  fence.proxy.async.shared::cta;", "  st.shared.u32 [buffer], 1;"), "proxy-fence"),
    ],
)
def test_faults_of_tensor_copies(change: tuple[str, str], kind: str) -> None:
    x = np.zeros((8, 16), np.float32)
    device = emulator.Device()
    address = device.alloc(x.nbytes)
    device.write(address, x)
    box = tensor_maps.tiled("f32", address, (16, 8), (64,), (16, 8))
    text = program(2, (0, 0), x.nbytes)
    assert device.load(text).launch("k", 1, 1, [box, box], check=False).findings == []
    assert text.count(change[0]) == 1, text
    broken = device.load(text.replace(*change))
    if kind == "refused":
        with pytest.raises(emulator.UnsupportedInstructionError):
            broken.launch("k", 1, 1, [box, box])
    else:
        assert kind in kinds(broken.launch("k", 1, 1, [box, box], check=False))


def test_hints_have_no_effect() -> None:
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    device = emulator.Device()
    here, there = device.alloc(x.nbytes), device.alloc(x.nbytes)
    device.write(here, x)
    maps = [tensor_maps.tiled("f32", address, (16, 8), (64,), (16, 8)) for address in (here, there)]
    hints = """prefetch.tensormap [%rd1];
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];
  createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;"""
    text = program(2, (0, 0), x.nbytes, before=hints)
    text = text.replace("complete_tx::bytes\n", "complete_tx::bytes.L2::cache_hint\n", 1)
    text = text.replace("], [bar];\nL:", "], [bar], %rd9;\nL:", 1)
    assert "cache_hint" in text and "[bar], %rd9" in text
    assert device.load(text).launch("k", 1, 1, maps).findings == []
    device.read(there, out)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("what", ["bytes", "rank", "narrow rows"])
def test_maps_that_do_not_fit(what: str) -> None:
    device = emulator.Device()
    address = device.alloc(4096)
    good = tensor_maps.tiled("f32", address, (16, 8), (64,), (16, 8))
    kernels = device.load(program(2, (0, 0), 512))
    if what in ("bytes", "rank"):
        other = bytes(128) if what == "bytes" else tensor_maps.tiled("f32", address, (16,), (), (16,))
        assert "tensor-map" in kinds(kernels.launch("k", 1, 1, [other, good], check=False))
        return
    other = tensor_maps.tiled("f32", address, (16, 8), (64,), (16, 8), swizzle="128B")
    with pytest.raises(emulator.UnsupportedInstructionError, match="leaves open"):
        kernels.launch("k", 1, 1, [other, good])
