"""Tensor maps: the checks of their arguments, and what copies by them move, in every mode that is run."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.snippets import kernel, kinds

RNG = np.random.default_rng(128)
NUMPY = {"u8": np.uint8, "s32": np.int32, "f16": np.float16, "f32": np.float32, "s64": np.int64}
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


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_boxes_over_the_edges(rank: int, name: str) -> None:
    kind = NUMPY[name]
    item = np.dtype(kind).itemsize
    shape = (*(3, 2, 4, 5)[: rank - 1], 48 // item)
    x = RNG.integers(0, 100, shape).astype(kind)
    for _ in range(3):
        at = tuple(int(value) for value in RNG.integers(-2, 3, rank))
        out = np.zeros((*(2, 3, 2, 3)[: rank - 1], 32 // item), kind)
        assert copied(x, at, out.shape[::-1], out).findings == []
        np.testing.assert_array_equal(out, boxed(x, at, out.shape))


@pytest.mark.parametrize(("swizzle", "columns"), [("none", 24), ("32B", 8), ("64B", 16), ("128B", 32)])
def test_swizzles_there_and_back(swizzle: str, columns: int) -> None:
    x = RNG.standard_normal((20, 40)).astype(np.float32)
    out = np.zeros((17, columns), np.float32)
    assert copied(x, (3, 5), (columns, 17), out, swizzle=swizzle).findings == []
    np.testing.assert_array_equal(out, boxed(x, (3, 5), out.shape))


@pytest.mark.parametrize(("swizzle", "bits"), [("32B", 1), ("64B", 2), ("128B", 3)])
def test_where_a_swizzle_puts_16_bytes(swizzle: str, bits: int) -> None:
    """What the ISA's figures show: bits of the row of 128 bytes change those of the 16 bytes."""
    width = int(swizzle[:-1])
    x, plain = np.arange(32 * width // 4, dtype=np.int32).reshape(32, width // 4), emulator.Device()
    out = np.zeros_like(x)
    here, there = plain.alloc(x.nbytes), plain.alloc(x.nbytes)
    plain.write(here, x)
    plain.write(there, out)
    first = tensor_maps.tiled("s32", here, x.shape[::-1], (width,), x.shape[::-1], swizzle=swizzle)
    second = tensor_maps.tiled("s32", there, x.shape[::-1], (width,), x.shape[::-1])
    plain.load(program(2, (0, 0), x.nbytes)).launch("k", 1, 1, [first, second])
    plain.read(there, out)
    units, found = x.reshape(-1, 4), out.reshape(-1, 4)
    for unit in range(len(units)):
        row = unit >> 3 & (1 << bits) - 1
        np.testing.assert_array_equal(found[unit ^ row], units[unit])


def test_elements_are_skipped_by_strides() -> None:
    x = RNG.standard_normal((9, 16)).astype(np.float32)
    out = np.zeros((4, 16), np.float32)
    assert copied(x, (0, 2), (16, 7), out, element_strides=(1, 2)).findings == []
    np.testing.assert_array_equal(out, np.concatenate([x[2::2]]))


def test_floats_may_be_filled_with_nan() -> None:
    x = RNG.standard_normal((4, 8)).astype(np.float32)
    out = np.zeros((6, 16), np.float32)
    assert copied(x, (-4, -1), (16, 6), out, fill="nan").findings == []
    np.testing.assert_array_equal(out, boxed(x, (-4, -1), out.shape, np.nan))


def floats() -> np.ndarray:
    """All kinds of f32: ties of tf32 and what is beside them, subnormals, the ends of the range, NaNs."""
    bits = RNG.integers(0, 1 << 32, (16, 32), np.uint32)
    bits[0] = bits[0] & 0xFFFFE000 | 0x1000
    bits[1] = bits[1] & 0xFFFFE000 | RNG.choice([0x0FFF, 0x1001, 0x1FFF, 1], 32).astype(np.uint32)
    bits[2] &= 0x807FFFFF
    bits[3, :6] = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x7F7FEFFF]
    bits[3, 6:12] = [0x7F800001, 0xFFC01234, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x00000FFF]
    return bits.view(np.float32)


def as_tf32(value: float) -> float:
    """To the nearest number of 10 bits of fraction, ties to even, by arithmetic in float64."""
    if not np.isfinite(value) or value == 0:
        return value
    quantum = 2.0 ** (max(int(np.floor(np.log2(abs(value)))), -126) - 10)
    return float(np.float32(np.rint(value / quantum) * quantum))


@pytest.mark.parametrize("swizzle", ["none", "128B"])
@pytest.mark.parametrize("name", ["f32", "f32.ftz", "tf32", "tf32.ftz"])
def test_types_that_change_what_is_loaded(name: str, swizzle: str) -> None:
    x, out = floats(), np.zeros((18, 32), np.float32)
    assert copied(x, (0, -1), (32, 18), out, swizzle=swizzle, types=(name, "f32"), fill="nan").findings == []
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float64)
    if name.endswith(".ftz"):
        expected = np.where(np.abs(expected) < 2.0**-126, np.copysign(0.0, expected), expected)
    if name.startswith("tf32"):
        with np.errstate(over="ignore"):
            expected = np.vectorize(as_tf32)(expected)
    found = out[1:17].view(np.uint32)
    nan = np.isnan(x)
    np.testing.assert_array_equal(found[nan], x.view(np.uint32)[nan])
    np.testing.assert_array_equal(found[~nan], expected.astype(np.float32).view(np.uint32)[~nan])
    assert (out[[0, 17]].view(np.uint32) == 0x7FFFFFFF).all()


@pytest.mark.parametrize(
    ("name", "value", "operation", "named"),
    [
        ("tf32", 1 + 2.0**-10, "", ""),
        ("f32.ftz", 2.0**-126, "", ""),
        ("f32.ftz", 1.5, "add", ""),
        ("tf32", 1 + 2.0**-11, "", "tf32 has not"),
        ("f32.ftz", 2.0**-127, "", "f32.ftz has not"),
        ("tf32.ftz", 1.0, "add", "reduction of tf32.ftz"),
    ],
)
def test_types_of_maps_that_store(name: str, value: float, operation: str, named: str) -> None:
    x, out = np.full((4, 8), value, np.float32), np.zeros((4, 8), np.float32)
    if named:
        with pytest.raises(emulator.UnsupportedInstructionError, match=named):
            copied(x, (0, 0), (8, 4), out, operation, types=("f32", name))
        return
    assert copied(x, (0, 0), (8, 4), out, operation, types=("f32", name)).findings == []
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("operation", ["add", "min", "max", "inc", "dec", "and", "or", "xor"])
def test_reductions_of_boxes(operation: str) -> None:
    x, old = RNG.integers(0, 99, (2, 6, 8)).astype(np.int32)
    numpy = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    numpy |= {"xor": np.bitwise_xor, "inc": lambda a, b: np.where(a >= b, 0, a + 1)}
    numpy["dec"] = lambda a, b: np.where((a == 0) | (a > b), b, a - 1)
    out = old.copy()
    assert copied(x, (0, 0), (8, 6), out, operation).findings == []
    np.testing.assert_array_equal(out, numpy[operation](old, x))


def test_halves_are_added() -> None:
    x, old = RNG.standard_normal((2, 5, 8)).astype(np.float16)
    out = old.copy()
    assert copied(x, (0, 0), (8, 5), out, "add").findings == []
    np.testing.assert_array_equal(out, (old.astype(np.float32) + x).astype(np.float16))


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
    x = np.ones((8, 16), np.float32)
    device = emulator.Device()
    address = device.alloc(x.nbytes)
    device.write(address, x)
    box = tensor_maps.tiled("f32", address, (16, 8), (64,), (16, 8))
    hints = """prefetch.tensormap [%rd1];
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];
  createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;"""
    text = program(2, (0, 0), x.nbytes, before=hints)
    text = text.replace("complete_tx::bytes\n", "complete_tx::bytes.L2::cache_hint\n", 1)
    text = text.replace("], [bar];\nL:", "], [bar], %rd9;\nL:", 1)
    assert "cache_hint" in text and "[bar], %rd9" in text
    assert device.load(text).launch("k", 1, 1, [box, box]).findings == []


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
