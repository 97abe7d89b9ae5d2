"""Whether a legal fusion pays: what one kernel saves of two kernels' time, as the roofline predicts it."""

from __future__ import annotations

from .price import Saving


def should_fuse(saving: Saving, wanted: int) -> str | None:
    """Why the fusion does not pay on a machine that wants so many tasks, or None if it does."""
    if saving.seconds > 0:
        return None
    if saving.waits:
        return "a block would wait for one row after the other"
    if saving.repeated:
        return "what would be computed again costs more than is saved"
    if saving.tasks < wanted:
        return f"only {saving.tasks} tasks would be left"
    return "it saves no time"
