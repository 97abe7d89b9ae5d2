"""What is wrong with a kernel that ran: each finding says where and who."""

from __future__ import annotations

from dataclasses import dataclass

from .ptx import Instruction, Location

KINDS = {
    "out-of-bounds": "an access outside of every allocation, or of the shared or local memory of the kernel",
    "misaligned": "an address that is not a multiple of the access's size",
    "uninitialized-memory": "a read of bytes that nothing has written",
    "uninitialized-register": "a read of a register that nothing has written on the path taken",
    "read-only": "a write to constant memory or to a parameter",
    "race": "two threads access the same bytes, one of them writes, and no barrier orders them",
    "warp-sync": "a race of lanes, of whose warps others are in order: a bar.warp.sync is missing",
    "barrier-divergence": "the threads of a warp do not execute an aligned barrier together",
    "barrier": "a barrier's number or thread count that the ISA forbids",
    "deadlock": "threads wait for others that never come",
    "livelock": "threads run on without an end",
    "membermask": "a .sync instruction whose membermask omits its thread, or is not that of lanes it names",
    "inactive-lane": "a lane reads from a lane that does not take part",
    "async-read": "a read of bytes that an asynchronous copy may not have written yet",
    "async-write": "a write to bytes that an asynchronous copy or a wgmma still reads or writes",
    "partial-warp": "an instruction for a whole warp, executed by a part of it",
    "mbarrier": "an mbarrier object that is not initialised, or used against its rules",
    "mbarrier-phase": "a wait for a phase of an mbarrier that is neither the current one nor the one before",
    "transaction-count": "the bytes that an mbarrier expects are not those that its copies bring",
    "setmaxnreg": "setmaxnreg without what it needs: a number at entry, whole warpgroups in step, registers",
    "proxy-fence": "a bulk copy or wgmma of bytes accessed ordinarily, and no fence.proxy.async in between",
    "async-exit": "threads end while their copies or wgmma still read or write",
    "warpgroup": "a wgmma that a part of a warpgroup executes, or not with the same descriptors",
    "wgmma-register": "a register of a wgmma is accessed before the wgmma has been waited for",
    "wgmma-fence": "a wgmma without a wgmma.fence after other accesses to its registers, or after the start",
    "descriptor": "a matrix descriptor that the ISA forbids: its alignment, its offsets, its other bits",
    "swizzle": "a wgmma reads in one swizzle what a tensor map's copy wrote in another one",
    "tensor-map": "a tensor map that is none, or not of the form that the instruction asks for",
    "cluster": "shared memory of a block of the cluster that is not there, has not begun or has ended",
    "trap": "the kernel executed trap, or an assertion in it failed",
    "counter": "a counter of blocks that a launch of a compiled program does not leave at 0",
    "launch": "a launch beyond the limits of the chip or of the kernel",
}


@dataclass(slots=True)
class Finding:
    """One fault; ``count`` threads had it at this instruction, the place is that of the first."""

    kind: str
    kernel: str
    detail: str
    line: int = 0
    text: str = ""
    location: Location | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    warp: int | None = None
    lane: int | None = None
    address: int | None = None
    space: str = ""
    count: int = 1

    @property
    def place(self) -> str:
        """The instruction, its source line if known, and the thread."""
        parts = []
        if self.line:
            parts.append(f"PTX line {self.line}: {self.text}")
        if self.location is not None:
            parts.append(str(self.location))
        if self.block is not None:
            parts.append(f"block {self.block}")
        if self.warp is not None:
            parts.append(f"warp {self.warp} lane {self.lane}")
        return ", ".join(parts)

    def __str__(self) -> str:
        address = f" at {self.space} address {self.address:#x}" if self.address is not None else ""
        times = f" [{self.count} threads]" if self.count > 1 else ""
        place = f" ({self.place})" if self.place else ""
        return f"{self.kind}: {self.detail}{address}{times}{place}"


class Findings:
    """The findings of a launch, one for each kind and instruction."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self._found: dict[tuple[str, int, str], Finding] = {}

    def add(self, finding: Finding, key: str = "") -> None:
        """Keep a finding, or count it where the same was found at this instruction before."""
        known = self._found.setdefault((finding.kind, finding.line, key), finding)
        if known is not finding:
            known.count += finding.count

    def at(self, instruction: Instruction, kind: str, detail: str) -> Finding:
        """A finding about an instruction, not yet kept."""
        return Finding(kind, self.kernel, detail, instruction.line, instruction.text, instruction.location)

    def list(self) -> list[Finding]:
        """All of them, in the order in which they were found."""
        return list(self._found.values())
