"""Looks on while a kernel runs: counts what it does, and finds races."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .access import Part
    from .barriers import Waiting
    from .batch import Batch
    from .context import Context
    from .launch import Launch
    from .ptx import Array, Instruction


class Watch:
    """Of one launch."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch

    def barrier(self, batch: Batch, released: list[Waiting], blocks: Array) -> None:
        """Threads have passed a barrier together."""

    def warp_barrier(self, x: Context) -> None:
        """Lanes of a warp have met at bar.warp.sync."""

    def fence(self, x: Context, instruction: Instruction) -> None:
        """Lanes have executed a fence."""

    def access(
        self,
        x: Context,
        instruction: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        size: int,
        parts: list[Part],
    ) -> None:
        """Lanes load from, store to or change memory (``kind``), ``size`` bytes each."""

    def finish(self, batch: Batch) -> None:
        """A batch has ended."""

    def counters(self) -> Any:
        """What was counted."""
        return None
