"""How long the parts are that a loop is reduced in.

A divisor of its extent, if one leaves about as many parts as are wanted; else as many elements as nothing
divides (`ragged`). A machine of many processors gets all the parts that are of fitting length. Where ``most``
says how many each task of the reader may have to add up, they are as long as that takes: a CPU's sums are as
accurate in long parts (`cpu/strips/reduce.py`).
"""

from __future__ import annotations

from .ragged import read_again

SHORTEST, LONGEST = 64, 4096  # elements of a partial result of which nothing else says how many
LONG, LONGEST_RAGGED = 1 << 10, 1 << 14  # the same where nothing divides; from LONG on whole cache lines
LINE = 64  # elements of whole cache lines, whatever their type


def width_of_parts(extent: int, least: int, wanted: int, most: int | None) -> int | None:
    """The largest fitting divisor, from ``least`` on, that leaves the parts wanted; else the smallest."""
    longest = LONGEST if most is None else extent
    widths = [width for width in range(least, min(longest, extent // 2) + 1) if extent % width == 0]
    enough = [width for width in widths if extent // width >= wanted]
    width = max(enough) if enough else min(widths, default=None)
    return width if width is not None and extent // width <= (most or LONGEST) else None


def ragged_parts(extent: int, least: int, wanted: int, most: int | None) -> tuple[int, int]:
    """How many parts, and the elements of each, where no divisor fits: whole cache lines, if they are long.

    Else, where ``most`` leaves a choice, the parts that have the fewest elements twice.
    """
    longest = LONGEST_RAGGED if most is None else extent
    width = max(min(longest, extent // wanted), least)
    if width > LONG:
        width = width // LINE * LINE
        return extent // width, width
    if most is None:
        count = extent // width
    else:
        counts = range(min(wanted, extent // least), min(most, extent // least) + 1)
        count = min(counts, key=lambda each: read_again(extent, each, extent // each))
    return count, extent // count
