"""Tensor maps: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make of their arguments.

The driver keeps their 128 bytes opaque; here they have a form of their own, with a mark in front. Arguments
are named and checked as in cuda.h of CUDA 13.0. Dimensions go from the innermost one outwards.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import EmulatorError

SIZE, ALIGN = 128, 64
MARK = b"mlopt-TM"
FORM = struct.Struct("<8s6BxxQ5I4Q5H5B3x3h3hHH")
# The bytes of each type, in the order of the driver's numbers.
TYPES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8, "bf16": 2}
TYPES |= {"f32.ftz": 4, "tf32": 4, "tf32.ftz": 4}
FLOATS = ("f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
SWIZZLES = ("none", "32B", "64B", "128B")
INTERLEAVES = ("none", "16B", "32B")
FILLS = ("zeros", "nan")
PROMOTIONS = ("none", "64B", "128B", "256B")


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory and the box of it that a copy moves.

    ``box`` and ``element_strides`` are in elements; ``strides`` in bytes, of all dimensions but the first.
    An im2col map has no box, but ``lower`` and ``upper`` corners of the pixels (W first), ``channels`` and
    ``pixels``.
    """

    type: str
    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: str = "none"
    swizzle: str = "none"
    promotion: str = "none"
    fill: str = "zeros"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    padding: int = 0  # elements that the innermost dimension lacks at the end of the last but one

    @property
    def rank(self) -> int:
        """The dimensions."""
        return len(self.dims)

    @property
    def element(self) -> int:
        """The bytes of an element."""
        return TYPES[self.type]

    @property
    def im2col(self) -> bool:
        """Whether it is of that mode."""
        return bool(self.pixels)

    @property
    def counts(self) -> tuple[int, ...]:
        """The elements that a copy moves in each dimension; of an im2col map, channels and pixels."""
        if self.im2col:
            return (self.channels, self.pixels)
        steps = (1, *self.element_strides[1:]) if self.interleave == "none" else self.element_strides
        return tuple(-(-size // step) for size, step in zip(self.box, steps, strict=True))

    @property
    def size(self) -> int:
        """The bytes of a box in shared memory."""
        return math.prod(self.counts) * self.element

    def encode(self) -> bytes:
        """The 128 bytes that a kernel gets."""
        packed = FORM.pack(
            MARK,
            self.rank,
            list(TYPES).index(self.type),
            INTERLEAVES.index(self.interleave),
            SWIZZLES.index(self.swizzle),
            PROMOTIONS.index(self.promotion),
            FILLS.index(self.fill),
            self.address,
            *_padded([size - 1 for size in self.dims], 5),
            *_padded(self.strides, 4),
            *_padded(self.box, 5),
            *_padded(self.element_strides, 5),
            *_padded(self.lower, 3),
            *_padded(self.upper, 3),
            self.channels,
            self.pixels,
        )
        return packed.ljust(SIZE, b"\0")

    @classmethod
    def decode(cls, raw: bytes) -> TensorMap | None:
        """The map in 128 bytes; None if they are none."""
        mark, rank, kind, interleave, swizzle, promotion, fill, address, *rest = FORM.unpack(raw[: FORM.size])
        if mark != MARK:
            return None
        spatial = rank - 2 if rest[-1] else 0
        return cls(
            list(TYPES)[kind],
            address,
            tuple(size + 1 for size in rest[:rank]),
            tuple(rest[5 : 4 + rank]),
            () if rest[-1] else tuple(rest[9 : 9 + rank]),
            tuple(rest[14 : 14 + rank]),
            INTERLEAVES[interleave],
            SWIZZLES[swizzle],
            PROMOTIONS[promotion],
            FILLS[fill],
            tuple(rest[19 : 19 + spatial]),
            tuple(rest[22 : 22 + spatial]),
            rest[25],
            rest[26],
        )


def _padded(values: Sequence[int], count: int) -> tuple[int, ...]:
    return (*values, *[0] * (count - len(values)))


def tiled(
    dtype: str,
    address: int,
    dims: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    element_strides: Sequence[int] | None = None,
    *,
    interleave: str = "none",
    swizzle: str = "none",
    promotion: str = "none",
    fill: str = "zeros",
) -> bytes:
    """The tensor map that cuTensorMapEncodeTiled makes; EmulatorError where that says INVALID_VALUE."""
    sizes = _whole("globalDim", dims)
    steps = (1,) * len(sizes) if element_strides is None else _whole("elementStrides", element_strides)
    apart, boxes = _whole("globalStrides", strides), _whole("boxDim", box)
    (place,) = _whole("globalAddress", (address,))
    found = TensorMap(dtype, place, sizes, apart, boxes, steps, interleave, swizzle, promotion, fill)
    check(found)
    return found.encode()


def im2col(
    dtype: str,
    address: int,
    dims: Sequence[int],
    strides: Sequence[int],
    lower: Sequence[int],
    upper: Sequence[int],
    channels: int,
    pixels: int,
    element_strides: Sequence[int] | None = None,
    *,
    interleave: str = "none",
    swizzle: str = "none",
    promotion: str = "none",
    fill: str = "zeros",
) -> bytes:
    """The same of cuTensorMapEncodeIm2col; dimensions are C, W, H, D, N as far as the rank has them."""
    (place,), (count,) = _whole("globalAddress", (address,)), _whole("pixelsPerColumn", (pixels,))
    (of_pixel,), sizes = _whole("channelsPerPixel", (channels,)), _whole("globalDim", dims)
    need(1 <= count <= 1024, "pixelsPerColumn", count, "is of 1 to 1024")
    steps = (1,) * len(sizes) if element_strides is None else _whole("elementStrides", element_strides)
    found = TensorMap(
        dtype,
        place,
        sizes,
        _whole("globalStrides", strides),
        (),
        steps,
        interleave,
        swizzle,
        promotion,
        fill,
        _whole("pixelBoxLowerCorner", lower),
        _whole("pixelBoxUpperCorner", upper),
        of_pixel,
        count,
    )
    check(found)
    return found.encode()


def _whole(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values of an argument; EmulatorError unless they are whole numbers."""
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise EmulatorError(
            f"{name} has whole numbers, and is {values!r}", where="the arguments of a tensor map"
        ) from None


def need(good: bool, name: str, value: Any, what: str) -> None:
    """EmulatorError unless what ``name`` is asked for is so."""
    if not good:
        shown = tuple(value) if isinstance(value, list | tuple) else value
        raise EmulatorError(f"{name} {what}, and is {shown}", where="the arguments of a tensor map")


def check(found: TensorMap) -> None:
    """EmulatorError where the driver says INVALID_VALUE."""
    _check(found, 3 if found.im2col or found.interleave != "none" else 1)
    if found.im2col:
        _check_pixels(found)
        return
    need(len(found.box) == found.rank, "boxDim", found.box, f"has {found.rank} sizes")
    need(all(1 <= size <= 256 for size in found.box), "boxDim", found.box, "is of 1 to 256 in each dimension")
    _check_row(found, found.box[0], "boxDim[0]")


def _check_pixels(found: TensorMap) -> None:
    """What im2col asks for."""
    most = {3: 32768, 4: 128, 5: 16}[found.rank]
    for name, corner in (("pixelBoxLowerCorner", found.lower), ("pixelBoxUpperCorner", found.upper)):
        need(len(corner) == found.rank - 2, name, corner, f"has {found.rank - 2} offsets")
        need(all(-most <= at < most for at in corner), name, corner, f"is in [{-most}, {most - 1}]")
    area = [d + u - low for d, low, u in zip(found.dims[1:], found.lower, found.upper, strict=False)]
    need(all(size > 0 for size in area), "pixelBoxUpperCorner", found.upper, "leaves pixels in the box")
    need(1 <= found.channels <= 256, "channelsPerPixel", found.channels, "is of 1 to 256")
    _check_row(found, found.channels, "channelsPerPixel")


def _check(found: TensorMap, least: int) -> None:
    """What both modes ask for."""
    for name, value, known in (
        ("tensorDataType", found.type, TYPES),
        ("interleave", found.interleave, INTERLEAVES),
        ("swizzle", found.swizzle, SWIZZLES),
        ("l2Promotion", found.promotion, PROMOTIONS),
        ("oobFill", found.fill, FILLS),
    ):
        need(value in known, name, value, f"is one of {', '.join(known)}")
    rank, align = found.rank, 32 if found.interleave == "32B" else 16
    need(least <= rank <= 5, "tensorRank", rank, f"is of {least} to 5")
    good = found.address % align == 0 and 0 <= found.address < 1 << 64
    need(good, "globalAddress", hex(found.address), f"is a multiple of {align} below 2^64")
    need(all(1 <= size <= 1 << 32 for size in found.dims), "globalDim", found.dims, "is of 1 to 2^32")
    strides, steps = found.strides, found.element_strides
    need(len(strides) == rank - 1, "globalStrides", strides, f"has {rank - 1} strides")
    good = all(0 <= stride < 1 << 40 and stride % align == 0 for stride in strides)
    need(good, "globalStrides", strides, f"has multiples of {align} below 2^40")
    need(len(steps) == rank, "elementStrides", steps, f"has {rank} steps")
    need(all(1 <= step <= 8 for step in steps), "elementStrides", steps, "is of 1 to 8 in each dimension")
    if found.interleave == "32B":
        need(found.swizzle == "32B", "swizzle", found.swizzle, "is 32B with an interleave of 32B")
    if found.fill == "nan":
        need(found.type in FLOATS, "oobFill", found.fill, "is zeros for what is no float")


def _check_row(found: TensorMap, count: int, name: str) -> None:
    """What is asked of the innermost dimension of a box."""
    if found.interleave != "none":
        return
    size = count * found.element
    if not found.im2col:
        need(size % 16 == 0, name, count, f"is a multiple of 16 bytes ({size} bytes here)")
    if found.swizzle != "none":
        most = int(found.swizzle[:-1])
        need(size <= most, name, count, f"has at most the {most} bytes of the swizzle ({size} here)")
