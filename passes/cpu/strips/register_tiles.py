"""How many sums a product has in registers at a time: what takes the least time, by a count of steps.

A tile is (registers of lanes a row, rows, blocks of those lanes).
"""

from __future__ import annotations

from math import prod

# Accumulators of a contraction, registers by rows, best first: with 32 registers and with 16.
WIDE_SHAPES = ((4, 4), (4, 6), (2, 8), (4, 5), (2, 7), (4, 3), (3, 8), (2, 6), (1, 8))
NARROW_REGISTERS = 16
NARROW_SHAPES = ((3, 4), (2, 6), (2, 4), (2, 5), (1, 8), (1, 7), (2, 3))
# With 16 registers, in multiply-adds, two of which begin in a cycle, as do two loads: those that a sum waits
# for the one before it, and what a step of a tile loses besides. A Zen 3 core, 1024^3: 3 by 4 registers 67
# GFLOP/s, 2 by 6 56 to 58, 2 by 4 59; 256 channels of 14x14 by 3x3, 2 by 5 registers 58, 1 by 7 47.
_LATENCY = 8
_LOST = 1.5
# Few rows share what comes from L3, whole lines of it, however few of their bytes a strip has: in
# multiply-adds, 3 cycles each. A Zen 3 core, 768x768 packed, strips of 8 registers, and of 3 that read half
# of the lines twice: one row 40 us and 69 (31 and more for the bytes alone), two 55 and 62, three 64 and 91.
_LINE = 6
_LINE_BYTES = 64
# Of a window's weights, or a smaller factor, that L1 does not hold: they come from L2 for each tile, so that
# many rows should share them. A Zen 5 core, with two multiply-adds a cycle, waits half as long for a register
# of them as one takes. 64 channels of 56x56 by 3x3, in ResNet-18: 0.94 to 1.06 ms, 1.07 to 1.15 before, with
# `padding.py`; 128 by 768 by 3072, with the 128 in columns: 2.9 ms, 3.5 before. By the same count a core with
# one multiply-add a cycle hardly waits, and loads less, too.
TALL_SHAPES = tuple((2, rows) for rows in range(14, 3, -1))
TALL_BYTES = 64 * 1024
_WAIT = 0.5
# Each row of the other factor is read once a strip, perhaps from L3. A Zen 5 core, of a peak of 253 GFLOP/s:
# 1024^3 4 by 6 registers 245, 4 by 4 230, 2 by 8 233; 32x768x768, packed, 2 by 8 236, 4 by 6 213, 4 by 4 223.
# Turned panels fit L1.
_WAIT_OF_ROWS = 0.24
# A line in a page of its own, of a strip that too few rows share for a panel. 32x1024x1024: 4 by 6 registers
# 136 GFLOP/s, 4 by 4 94, 2 by 8 113; K = 4096: 104, 70, 70.
_WAIT_APART = 16


def wide_tile(
    rows: int, columns: int, native: int, most_lanes: int, column: int, apart: bool
) -> tuple[int, int, int]:
    """The tile of 32 registers with the least waste at the edges.

    Where L1 does not hold the strip's factor, ``column`` bytes a lane, waiting for it is wasted, too, more so
    if its rows are far ``apart``. An epilogue in wider elements than the accumulators' leaves room for fewer
    lanes.
    """
    shapes = [shape for shape in WIDE_SHAPES if shape[0] * native <= most_lanes]

    def waste(shape: tuple[int, int]) -> float:
        width, height = shape[0] * native, min(shape[1], rows)
        strip = _WAIT_APART if apart else _WAIT_OF_ROWS * height
        waiting = _WAIT + strip / shape[0] if is_far else 0
        return -(-rows // height) * (height + waiting) * -(-columns // width) * width

    is_far = column * most_lanes >= TALL_BYTES
    return _fitted(min(shapes, key=waste), rows, columns, native, prod(WIDE_SHAPES[0]))


def tall_tile(rows: int, columns: int, native: int) -> tuple[int, int, int]:
    """The tile of 32 registers, few of them a row, that takes the least time."""

    def time(shape: tuple[int, int]) -> float:
        width, height = shape[0] * native, min(shape[1], rows)
        return -(-rows // height) * (height + _WAIT) * -(-columns // width) * width

    return _fitted(min(TALL_SHAPES, key=time), rows, columns, native, prod(TALL_SHAPES[0]))


def narrow_tile(rows: int, columns: int, native: int, most_lanes: int, size: int) -> tuple[int, int, int]:
    """The tile of 16 registers that takes the least time; ``size``: of an element of the lanes, in bytes."""

    def time(tile: tuple[int, int, int]) -> float:
        registers, height, blocks = tile
        width = registers * blocks
        full, rest = divmod(rows, height)
        steps = full * _step(width, height) + (_step(width, rest) if rest else 0)
        lines = -(-rows // height) * -(-width * native * size // _LINE_BYTES)
        return -(-columns // (width * native)) * max(steps, lines * _LINE)

    budget = prod(NARROW_SHAPES[0])
    fitted = [
        _fitted(shape, rows, columns, native, budget)
        for shape in NARROW_SHAPES
        if shape[0] * native <= most_lanes
    ]
    return min(
        ((registers, height, count) for registers, height, most in fitted for count in range(most, 0, -1)),
        key=time,
    )


def _step(width: int, rows: int) -> float:
    """The time of a step of a tile, ``width`` registers by ``rows``.

    Where a row's registers don't fit beside the sums, each multiply-add loads its own.
    """
    fits = rows == 1 or width * rows + width < NARROW_REGISTERS
    loads = width + rows if fits else width * rows + rows
    return max(width * rows, loads, _LATENCY) + _LOST


def _fitted(
    shape: tuple[int, int], rows: int, columns: int, native: int, budget: int
) -> tuple[int, int, int]:
    """A register tile with no more rows than there are, and as many lane blocks as ``budget`` registers."""
    registers, height = shape[0], min(shape[1], rows)
    blocks = max(min(budget // (registers * height), columns // (registers * native)), 1)
    return registers, height, blocks
