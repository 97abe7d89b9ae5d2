"""Matrix descriptors of wgmma: where an operand is in shared memory. Section 9.7.15.5.1 of the PTX ISA.

A matrix is read in units of 16 bytes along its major dimension. With rows of S bytes in the swizzle's
pattern (16 without one), the unit u of row r, or of column k where M or N is the major dimension, is at

    K-major             S (r % 8) + SBO (r / 8) + 16 u      (without a swizzle LBO u)
    M- or N-major       16 (u % (S / 16)) + LBO (u / (S / 16)) + S (k % 8) + SBO (k / 8)
                        (without a swizzle SBO u + 16 (k % 8) + LBO (k / 8))

from the start on. The swizzle then changes bits 4 to 6 of this address by its bits 7 to 9, counted from where
the pattern begins: at a multiple of 8 S, or at 128 times the base offset.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .boxes import UNIT
from .ptx import Array
from .tensor_maps import SWIZZLES

_RESERVED = 0x3FF << 52 | 7 << 46 | 3 << 30 | 3 << 14
_ROWS = 8  # of a pattern
_MODES = ("none", "128B", "64B", "32B")
SPAN = {"none": UNIT, "32B": 32, "64B": 64, "128B": 128}  # bytes of a row of the pattern


class Descriptor(NamedTuple):
    """The fields of a descriptor, in bytes."""

    start: int
    leading: int
    stride: int
    base: int
    swizzle: str
    reserved: int

    @classmethod
    def decode(cls, bits: int) -> Descriptor:
        """What 64 bits say."""
        start, leading, stride = (16 * (bits >> place & 0x3FFF) for place in (0, 16, 32))
        return cls(start, leading, stride, bits >> 49 & 7, _MODES[bits >> 62], bits & _RESERVED)

    @property
    def code(self) -> int:
        """The swizzle's number among those of tensor maps."""
        return SWIZZLES.index(self.swizzle)

    @property
    def mask(self) -> int:
        """Of the bits of an address above bit 6, those that the swizzle uses."""
        return SPAN[self.swizzle] // UNIT - 1

    def fault(self, rows: int, columns: int, *, major_k: bool) -> str:
        """What the ISA forbids about it for ``rows`` lines of ``columns`` units; empty if nothing."""
        span = SPAN[self.swizzle]
        pattern = span * _ROWS
        if self.reserved:
            return f"bits that no field has are set: {self.reserved:#x}"
        if self.swizzle == "none":
            return f"a base offset of {self.base} without a swizzle" if self.base else ""
        first = (self.start - 128 * self.base) % pattern
        if first >= span:
            return (
                f"the matrix begins {first} bytes into the {self.swizzle} swizzle's pattern, which begins at"
                f" a multiple of {pattern} bytes if the base offset is 0: it is {self.base}"
            )
        if first and first + UNIT * columns > span:
            return f"lines of {UNIT * columns} bytes from byte {first} of a row on, which has {span}"
        if self.stride % pattern and rows > _ROWS:
            return f"a stride of {self.stride} bytes, no multiple of the pattern's {pattern}"
        if not major_k and self.leading % pattern and columns * UNIT > span:
            return f"a leading dimension of {self.leading} bytes, no multiple of the pattern's {pattern}"
        return ""

    def places(self, rows: int, columns: int, *, major_k: bool) -> Array:
        """The addresses of ``columns`` units in each of ``rows`` lines along the major dimension."""
        at = self.start + _offsets(self.swizzle, self.leading, self.stride, rows, columns, major_k)
        found: Array = at ^ (((at >> 7) - self.base & self.mask) << 4)
        return found


@cache
def _offsets(swizzle: str, leading: int, stride: int, rows: int, columns: int, major_k: bool) -> Array:
    line, unit = np.ix_(np.arange(rows, dtype=np.int64), np.arange(columns, dtype=np.int64))
    span = SPAN[swizzle]
    near, far = line % _ROWS * span, line // _ROWS
    if swizzle == "none":
        found = near + (far * stride + unit * leading if major_k else far * leading + unit * stride)
    elif major_k:
        found = near + far * stride + unit * UNIT
    else:
        width = span // UNIT
        found = near + far * stride + unit % width * UNIT + unit // width * leading
    return np.asarray(found, np.int64)
