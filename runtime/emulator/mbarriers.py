"""mbarrier objects: 64 bits of shared memory that count arrivals and bytes, phase by phase.

The ISA keeps their contents opaque. Here, from the lowest bit: the arrivals that are still pending
(20 bits), the expected ones (20), the bytes that are to come (22, signed), the phase (1), and a mark (1).
"""

from __future__ import annotations

from dataclasses import dataclass

MARK = 1 << 63
COUNT = (1 << 20) - 1


@dataclass(slots=True)
class State:
    """The contents of an mbarrier object, unpacked."""

    pending: int
    expected: int
    bytes: int
    phase: int

    @classmethod
    def unpack(cls, word: int) -> State | None:
        """The state in 64 bits; None if they are no mbarrier."""
        if not word & MARK:
            return None
        raw = word >> 40 & ((1 << 22) - 1)
        return cls(word & COUNT, word >> 20 & COUNT, raw - ((raw & 1 << 21) << 1), word >> 62 & 1)

    def pack(self) -> int:
        """The 64 bits."""
        return (
            MARK
            | self.phase << 62
            | (self.bytes & ((1 << 22) - 1)) << 40
            | self.expected << 20
            | self.pending
        )

    def advance(self) -> bool:
        """Go to the next phase, if all that was expected has come."""
        if self.pending or self.bytes:
            return False
        self.phase ^= 1
        self.pending = self.expected
        return True
