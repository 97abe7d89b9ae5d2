"""Whether a legal fusion pays: what one kernel saves of two kernels' time, as the roofline predicts it."""

from __future__ import annotations

from collections.abc import Callable

from .price import Saving


def should_fuse(saving: Saving, wanted: int, most_repeated: Callable[[], str]) -> str | None:
    """Why the fusion does not pay on a machine that wants so many tasks, or None if it does.

    ``most_repeated``: what would be computed again, and how often.
    """
    if saving.seconds > 0:
        return None
    if saving.waits:
        return "a block would wait for one row after the other"
    few = saving.tasks < wanted
    if saving.repeated and not (few and saving.seconds + saving.again <= 0):
        return f"what would be computed again costs more than is saved: {most_repeated()}"
    if few:
        tasks = "1 task" if saving.tasks == 1 else f"{saving.tasks} tasks"
        return f"only {tasks} would be left, {wanted} are wanted"
    return "it saves no time"
