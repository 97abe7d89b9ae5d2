"""What copies by tensor maps move: boxes of each rank, swizzles, steps, fills, types, reductions."""

from __future__ import annotations

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import tensor_maps
from mlopt.test.python.emulator.boxes import NUMPY, boxed, copied, program

RNG = np.random.default_rng(128)


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
