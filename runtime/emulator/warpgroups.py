"""wgmma: what the warpgroups of a batch have under way, in registers and in shared memory.

An instruction takes its operands when it is issued, and its results are in the registers from then on. Until
a wait for its group nobody may touch them, nor write the shared memory that it reads.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .access import Part, check_written
from .asynchronous import READING
from .boxes import UNIT
from .context import Context
from .definite import names
from .descriptors import Descriptor
from .lanes import GROUP, WARP
from .operands import Read, Write
from .ptx import Array, Function, Instruction, Vector
from .tensor_maps import SWIZZLES

if TYPE_CHECKING:
    from .batch import Batch, Frame

_OPERAND = -1  # a register that is not an accumulator, but a part of A


def awaited(function: Function) -> dict[str, int]:
    """The registers that wgmma uses, or that get their values by moves from these, each with a number."""
    found: dict[str, int] = {}
    moves: list[tuple[str, str]] = []
    for each in function.code:
        if each.opcode == "wgmma" and each.has("mma_async"):
            held = [operand for operand in each.operands[:2] if isinstance(operand, Vector)]
            for name in [name for operand in held for name in names(operand)]:
                found.setdefault(name, len(found))
        elif each.opcode == "mov" and len(each.operands) == 2:
            moves += product(names(each.operands[0]), names(each.operands[1]))
    before = -1
    while found and before != len(found):
        before = len(found)
        for target, source in moves:
            if source in found:
                found.setdefault(target, len(found))
    return found


class Registers:
    """Of one frame, for each of its awaited registers and each warp: who has used it, and when."""

    def __init__(self, count: int, warps: int) -> None:
        self.used_by, self.touched, self.role = np.zeros((3, count, warps), np.int64)


@dataclass(slots=True)
class Operation:
    """One wgmma of one warpgroup that is under way; ``units`` are its 16 bytes each of shared memory."""

    number: int
    instruction: Instruction
    lane: int
    block: int
    warps: Array
    units: Array


class Warpgroups:
    """The wgmma of a batch. ``now`` moves on with each of them and with each wgmma.fence."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        warps = batch.shape.warps
        self.now = 1
        self.fenced = np.zeros(warps, np.int64)
        self.last = np.zeros(warps, np.int64)  # the last that a warp has issued
        self.done = np.zeros(warps, np.int64)  # the last that a warp has waited for
        self.groups: list[list[int]] = [[] for _ in range(warps)]  # the last of each that is not waited for
        self.flying: list[Operation] = []
        # By the first warp of a warpgroup: the numbers of what is complete, and the batch's times of it.
        self.history: dict[int, tuple[list[int], list[int]]] = {}

    # -- registers -----------------------------------------------------------------------------

    def registers(self, frame: Frame) -> Registers:
        """What is known of a frame's registers."""
        if frame.awaited is None:
            frame.awaited = Registers(frame.program.awaited, self.batch.shape.warps)
        found: Registers = frame.awaited
        return found

    def touch(self, x: Context, i: Instruction, row: int, name: str, what: str) -> None:
        """Lanes access a register ordinarily."""
        registers, warp = self.registers(x.frame), x.lanes.warp
        if self.flying:
            early = registers.used_by[row, warp] > self.done[warp]
            if early.any():
                detail = f"a {what} of {name}, which a wgmma uses that nothing has waited for"
                x.report(i, "wgmma-register", detail, early)
        registers.touched[row, warp] = self.now

    def carry(self, x: Context, i: Instruction, sources: dict[int, str], targets: dict[int, str]) -> None:
        """Lanes move registers, or their parts: while one is under way, the assembler makes them the same."""
        registers, warps = self.registers(x.frame), np.unique(x.lanes.warp)
        numbers = {row: registers.used_by[row, warps] for row in sources}
        flying = [row for row, number in numbers.items() if (number > self.done[warps]).any()]
        for row in [row for row in sources if row not in flying]:
            self.touch(x, i, row, sources[row], "read")
        if not flying:
            for row, name in targets.items():
                self.touch(x, i, row, name, "write")
            return
        rows = np.array([*targets], np.intp)
        last = max(flying, key=lambda row: int(numbers[row].max()))
        for each in (registers.used_by, registers.touched, registers.role):
            each[np.ix_(rows, warps)] = each[last, warps]

    def check(self, x: Context, i: Instruction, accumulators: Array, operands: Array, shape: int) -> None:
        """Report registers of a wgmma that nothing orders behind what used them before."""
        registers, warp = self.registers(x.frame), x.lanes.starts
        warp = x.lanes.warp[warp]
        fenced, done = self.fenced[warp], self.done[warp]
        late = fenced == 0
        for rows, role in ((accumulators, shape), (operands, _OPERAND)):
            if not len(rows):
                continue
            at = np.ix_(rows, warp)
            used, other = registers.used_by[at], registers.role[at] != role
            late = late | (registers.touched[at] > fenced).any(axis=0)
            flying = (used > done) & other
            if role == _OPERAND and flying.any():
                detail = "registers of A that a wgmma accumulates in which nothing has waited for"
                x.report(i, "wgmma-register", detail, np.repeat(flying.any(axis=0), WARP))
            else:
                late = late | (flying & (used > fenced)).any(axis=0)
        if late.any():
            detail = "no wgmma.fence between this and other accesses to its registers, or the warp's start"
            x.report(i, "wgmma-fence", detail, np.repeat(late, WARP))

    def issue(
        self, x: Context, i: Instruction, accumulators: Array, operands: Array, shape: int, units: list[Array]
    ) -> None:
        """Warpgroups start a wgmma, that reads these units each."""
        registers = self.registers(x.frame)
        warp = x.lanes.warp[x.lanes.starts]
        self.now += 1
        for rows, role in ((operands, _OPERAND), (accumulators, shape)):
            at = np.ix_(rows, warp)
            registers.used_by[at], registers.role[at] = self.now, role
        self.last[warp] = self.now
        for group, mine in enumerate(units):
            first = GROUP * WARP * group
            lane, block = int(x.lanes.index[first]), int(x.lanes.block[first])
            warps = warp[GROUP * group : GROUP * (group + 1)]
            operation = Operation(self.now, i, lane, block, warps, mine)
            self.flying.append(operation)
            self._marks(operation, READING, 0)

    # -- shared memory -------------------------------------------------------------------------

    def take(self, x: Context, i: Instruction, units: Array) -> Array:
        """The 16 bytes each that a warpgroup's wgmma reads at units of the batch's shared memory."""
        batch, shared = self.batch, self.batch.shared
        addresses = (units * UNIT).astype(np.uint64)
        part = Part(shared, np.zeros(len(units), np.intp), addresses)
        check_written(x, i, "shared", part, shared.places(addresses, 8), 8, 2)
        batch.launch.watch.wgmma(x, i, addresses)
        found: Array = shared.data.reshape(-1, UNIT)[units]
        return found

    def other_swizzle(self, units: Array, descriptor: Descriptor) -> str:
        """What is wrong if copies by tensor maps wrote some of these units in another swizzle; else empty."""
        races = self.batch.races
        codes = self.batch.bulk.swizzles[units]
        odd = (codes != 0) & ((codes != descriptor.code + 1) | (descriptor.base != 0))
        if races is None or not odd.any():
            return ""
        odd &= races.copied((units * UNIT).astype(np.int64))
        if not odd.any():
            return ""
        name = SWIZZLES[int(codes[odd][0]) - 1]
        mine = f"{descriptor.swizzle}, base offset {descriptor.base}"
        return f"a copy by a tensor map with swizzle {name} wrote what this reads with {mine}"

    def mark(self) -> None:
        """Mark what is under way again, after some marks are gone."""
        for operation in self.flying:
            self._marks(operation, READING, 0)

    def _marks(self, operation: Operation, add: int, remove: int) -> None:
        rows = self.batch.copies.flying.reshape(-1, UNIT)
        rows[operation.units] = rows[operation.units] & (255 - remove) | add

    def _complete(self, operations: list[Operation]) -> None:
        """Some warp has waited for these: their shared memory may be written."""
        gone = {id(operation) for operation in operations}
        self.flying = [other for other in self.flying if id(other) not in gone]
        for operation in operations:
            self._marks(operation, 0, READING)
            watch, name = self.batch.launch.watch, self._name(int(operation.warps[0]))
            numbers, times = self.history.setdefault(int(operation.warps[0]), ([], []))
            numbers.append(operation.number)
            times.append(watch.wgmma_done(self.batch, operation.units, name))
        if operations:
            self.batch.copies.read_on()

    def _name(self, warp: int) -> int:
        """The number of a warp's warpgroup among the columns of its cluster's order (`Ordering.column`)."""
        block, inside = divmod(warp, self.batch.shape.warps_in_block)
        rank = block % self.batch.shape.cluster
        return -1 - rank * self.batch.shape.warps_in_block - inside // GROUP

    # -- groups --------------------------------------------------------------------------------

    def fence(self, x: Context) -> None:
        """Warps execute wgmma.fence."""
        self.now += 1
        self.fenced[x.lanes.warp[x.lanes.starts]] = self.now
        self.now += 1

    def commit(self, x: Context) -> None:
        """What warps have issued since the last commit is a group."""
        for warp in x.lanes.warp[x.lanes.starts].tolist():
            self.groups[warp].append(int(self.last[warp]))

    def wait(self, x: Context, keep: int) -> None:
        """Warps have waited for all of their groups but the last ``keep``."""
        warps = [warp for warp in x.lanes.warp[x.lanes.starts].tolist() if len(self.groups[warp]) > keep]
        for warp in warps:
            groups = self.groups[warp]
            self.done[warp] = groups[len(groups) - keep - 1]
            self.groups[warp] = groups[len(groups) - keep :]
        inside = self.batch.shape.warps_in_block
        firsts = {warp: warp - warp % inside % GROUP for warp in warps}
        waiting = {*firsts.values()}
        mine = [each for each in self.flying if int(each.warps[0]) in waiting]
        self._complete([each for each in mine if (self.done[each.warps] >= each.number).any()])
        for warp, first in firsts.items():
            numbers, times = self.history.get(first, ([], []))
            passed = bisect_right(numbers, int(self.done[warp]))
            if passed:
                self.batch.launch.watch.wgmma_waited(self.batch, self._name(warp), warp, times[passed - 1])


def watched_read(read: Read, row: int, name: str, i: Instruction) -> Read:
    """The same for a register that wgmma uses."""

    def watched(x: Context) -> Any:
        x.batch.warpgroups.touch(x, i, row, name, "read")
        return read(x)

    return watched


def watched_write(write: Write, row: int, name: str, i: Instruction) -> Write:
    """A write to such a register."""

    def watched(x: Context, value: Any) -> None:
        x.batch.warpgroups.touch(x, i, row, name, "write")
        write(x, value)

    return watched
