"""What an instruction sees when it runs: the registers, and the lanes that run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .lanes import Lanes
from .ptx import Array, Instruction

if TYPE_CHECKING:
    from .batch import Batch, Frame


class Context:
    """The lanes that run, of a frame of a batch.

    ``regs`` has an array with an entry for each lane of the batch for each register;
    ``sel`` selects the lanes that run (None: all of them).
    """

    __slots__ = ("batch", "count", "frame", "lanes", "regs", "sel")

    def __init__(self, batch: Batch, frame: Frame, lanes: Lanes) -> None:
        self.batch = batch
        self.frame = frame
        self.regs: list[Any] = frame.regs
        self.enter(lanes)

    def enter(self, lanes: Lanes) -> None:
        """From here on these lanes run."""
        self.lanes = lanes
        self.sel = lanes.sel
        self.count = lanes.count

    def dense(self, value: Any) -> Array:
        """A value for each lane that runs, from that or from one value for all."""
        if value.ndim:
            array: Array = value
            return array
        return np.full(self.count, value)

    def report(
        self,
        instruction: Instruction,
        kind: str,
        detail: str,
        mask: Array,
        addresses: Array | None = None,
        space: str = "",
        rows: Array | None = None,
    ) -> None:
        """A finding about the lanes for which ``mask`` holds.

        ``mask`` and ``addresses`` are of the lanes ``rows``, in order; None: of all that run.
        """
        first = int(np.argmax(mask))
        lane = first if rows is None else int(rows[first])
        finding = self.batch.launch.findings.at(instruction, kind, detail)
        finding.count = int(np.count_nonzero(mask))
        self.batch.locate(finding, int(self.lanes.index[lane]))
        if addresses is not None:
            finding.address = int(addresses[first])
            finding.space = space
        self.batch.launch.findings.add(finding)
