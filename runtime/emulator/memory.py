"""Device memory: allocations at addresses, each a numpy array of bytes with a map of what was written."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

import numpy as np

from .errors import EmulatorError
from .ptx import RAW, Array

FIRST = 0x7000_0000_0000  # where the device's own allocations begin
PARAMETERS = 0x0400_0000  # and a kernel's parameters, whose addresses have to fit into 32 bits
GAP = 4096  # between two of them, so that a lane that runs over the end does not hit the next
ALIGN = 256  # as cudaMalloc aligns
SHARED_WINDOW = 0x0100_0000_0000  # the generic addresses of shared memory, and of local memory
LOCAL_WINDOW = 0x0200_0000_0000
WINDOW = 0x0100_0000_0000


class Allocation:
    """Bytes at ``base``. ``written`` has a 1 for each byte that has a value; None if all have."""

    def __init__(
        self, base: int, data: Array, name: str, written: Array | None, writable: bool = True
    ) -> None:
        self.base = base
        self.data = data
        self.size = len(data)
        self.end = base + self.size
        self.name = name
        self.written = written
        self.writable = writable
        self._views: dict[tuple[int, bool], Array] = {}

    def view(self, size: int) -> Array:
        """The bytes as unsigned integers of ``size`` bytes, from the first aligned address on."""
        found = self._views.get((size, True))
        if found is None:
            found = self._views[size, True] = self._view(self.data, size)
        return found

    def written_view(self, size: int) -> Array:
        """The same view of ``written``."""
        assert self.written is not None
        found = self._views.get((size, False))
        if found is None:
            found = self._views[size, False] = self._view(self.written, size)
        return found

    def _view(self, data: Array, size: int) -> Array:
        start = -self.base % size
        count = max(0, (self.size - start) // size)
        return data[start : start + count * size].view(RAW[size * 8])

    def places(self, addresses: Array, size: int) -> Array:
        """Where aligned addresses are in ``view(size)``."""
        start = self.base + -self.base % size
        offsets = addresses - addresses.dtype.type(start)
        return (offsets >> addresses.dtype.type(size.bit_length() - 1)).view(np.int64)

    def __lt__(self, other: Allocation) -> bool:
        return self.base < other.base


class GlobalMemory:
    """The allocations of a device. Addresses are its own, or those of the host's arrays."""

    def __init__(self) -> None:
        self._allocations: list[Allocation] = []
        self._bases: list[int] = []
        self._freed: list[Allocation] = []
        self._next = FIRST
        self._last: Allocation | None = None

    def allocate(self, size: int, name: str = "allocation", *, written: bool = False) -> Allocation:
        """New memory, aligned to 256 bytes. Unless ``written``, reading it before a write is a finding."""
        data = np.zeros(size, np.uint8)
        return self.place(data, name, None if written else np.zeros(size, np.uint8))

    def place(
        self,
        data: Array,
        name: str,
        written: Array | None = None,
        *,
        base: int | None = None,
        writable: bool = True,
    ) -> Allocation:
        """Make an array of bytes memory of the device, at ``base`` or where there is room."""
        if base is None:
            base = self._next
            self._next += -(-(len(data) + GAP) // ALIGN) * ALIGN
        allocation = Allocation(base, data, name, written, writable)
        before = bisect_right(self._bases, base)
        neighbours = self._allocations[max(0, before - 1) : before + 1]
        for other in neighbours:
            if other.base < allocation.end and base < other.end:
                raise EmulatorError(
                    f"{name} at {base:#x} overlaps {other.name} at {other.base:#x}",
                    remedy="free the older allocation first; views of one array are one allocation",
                )
        insort(self._allocations, allocation)
        insort(self._bases, base)
        self._last = None
        return allocation

    def free(self, base: int) -> None:
        """Give an allocation back; a later access to it is a finding."""
        for place, allocation in enumerate(self._allocations):
            if allocation.base == base:
                del self._allocations[place]
                del self._bases[place]
                self._last = None
                self._freed = [*self._freed[-63:], allocation]
                return
        raise EmulatorError(f"nothing is allocated at {base:#x}")

    def find(self, address: int) -> Allocation | None:
        """The allocation that has this address."""
        last = self._last
        if last is not None and last.base <= address < last.end:
            return last
        place = bisect_right(self._bases, address) - 1
        if place < 0 or address >= self._allocations[place].end:
            return None
        self._last = self._allocations[place]
        return self._last

    def describe(self, address: int) -> str:
        """Where an address is that is in no allocation."""
        for allocation in self._freed:
            if allocation.base <= address < allocation.end:
                return f"{address - allocation.base} bytes into {allocation.name}, which was freed"
        place = bisect_right(self._bases, address) - 1
        if place >= 0 and address - self._allocations[place].end < 1 << 20:
            before = self._allocations[place]
            return f"{address - before.end} bytes after the end of {before.name} ({before.size} bytes)"
        if place + 1 < len(self._allocations) and self._allocations[place + 1].base - address < 1 << 20:
            after = self._allocations[place + 1]
            return f"{after.base - address} bytes before {after.name} ({after.size} bytes)"
        return "near no allocation"

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self._allocations)
