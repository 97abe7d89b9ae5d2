"""Rows that a GPU reads by wide accesses though they begin between these: when that can be, and pays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects.layouts import WARP


def is_worth_bordering(each: int, row: int) -> bool:
    """Whether rows with borders are worth accesses of ``each`` elements: warps have one row's at most.

    Those are loaded one by one, for which all lanes wait. Of 256x512 with three more in f16 a thread has 304
    instructions for eight elements, half of them for borders, and asks for 1.11 of the least bytes.
    """
    return each >= 8 and row >= WARP * each


def has_both_rows(shape: Sequence[int], gap: int | None, begins: int | None, each: int, row: int) -> bool:
    """Whether two accesses have all that a group of tasks reads of a buffer, at the end of a row, too.

    Then the tasks behind the end read one element further, as of x[:, 1:], or, of rows that are padded and
    begin at ``begins``, behind the padding as many elements before as that has. All accesses that are in
    memory in part are so wholly. ``gap`` is that of `Shift`.
    """
    if gap is None or prod(shape) % each or row < each:
        return False
    if begins is None:
        return gap in (0, 1)
    return 0 < -gap <= each <= shape[-1] and row == shape[-1] - gap and gap <= begins <= 0
