"""Powers of two, which tiles, lanes and registers come in."""

from __future__ import annotations


def power_below(number: int) -> int:
    """The largest power of two up to ``number``, at least 1."""
    return 1 << (max(number, 1).bit_length() - 1)


def power_above(number: int) -> int:
    """The smallest power of two from ``number`` on; ``number`` is at least 1."""
    return 1 << (number - 1).bit_length()
