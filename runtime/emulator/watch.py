"""Looks on while a kernel runs: counts its traffic, finds races and reads of what is still in flight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import traffic
from .access import Part, own_addresses
from .asynchronous import READING, REDUCING
from .caches import Trace
from .clock import Clock
from .context import Context
from .counters import Counters, Traffic
from .global_races import GlobalRaces
from .granules import GLOBAL_ELSEWHERE, NONE, SHARED_ELSEWHERE, granule
from .lanes import Lanes
from .map_fences import MapFences
from .meetings import Meetings
from .proxy_fences import ProxyFences
from .ptx import Array, Instruction
from .races import READS, Unchanged
from .tensor_maps import SIZE

if TYPE_CHECKING:
    from .batch import Batch
    from .launch import Launch

_COMING = np.uint8(~READING & 255)  # marks of bytes that are still written
_UNFENCED = "no fence.proxy.async between an ordinary access to these bytes and this copy"
RACE_BYTES = 64 << 20  # so much may the map of who accessed what take


@dataclass(slots=True)
class Touched:
    """Which sectors of an allocation were read and written."""

    read: Array
    written: Array


class Watch(Meetings):
    """Of one launch."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(Clock(math.prod(launch.grid)))
        self.launch = launch
        functions = [program.function for program in launch.programs]
        self.granule = min(granule(function, SHARED_ELSEWHERE) for function in functions)
        self.shared_races = self.granule < NONE and launch.shared_size > 0
        smallest = min(granule(function, GLOBAL_ELSEWHERE) for function in functions)
        self.global_races = GlobalRaces(launch, smallest, self.clock) if launch.options.races else None
        self.maps = MapFences(launch)
        self.proxies = ProxyFences(launch)
        self.traffic: dict[tuple[int, str], Traffic] = {}
        self.touched: dict[int, Touched] = {}
        self.trace = Trace() if launch.options.trace else None

    def take_as_written(self) -> None:
        """All of the allocations that the launch wrote to: of its blocks only some ran."""
        for base, touched in self.touched.items():
            found = self.launch.memory.find(base)
            if found is not None and touched.written.any():
                found.written = None

    def most_blocks(self, threads: int) -> int:
        """How many blocks a batch may have, for the sake of memory."""
        if not self.shared_races or not self.launch.options.races:
            return 1 << 30
        warps = -(-threads // 32)
        return max(1, RACE_BYTES // (self.launch.shared_size * (8 * warps + 13) // self.granule + 1))

    # -- memory --------------------------------------------------------------------------------

    def access(
        self,
        x: Context,
        instruction: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        size: int,
        parts: list[Part],
        unchanged: Unchanged | None = None,
    ) -> None:
        """Lanes load from, store to or change memory (``kind``), ``size`` bytes each."""
        counted = self.traffic.get((id(instruction), space))
        if counted is None:
            counted = self.traffic[id(instruction), space] = Traffic(space)
        counted.lanes += x.count
        counted.requests += x.lanes.warps
        counted.bytes += x.count * size
        if space == "global":
            self._touch(parts, kind)
            if self.trace is not None:
                sectors, distinct = self.trace.access(x, instruction.line, kind, addresses, size)
                counted.sectors += sectors
                counted.distinct += distinct
            else:
                counted.sectors += traffic.sectors(x.lanes, addresses)
            self._global(x, instruction, kind, size, parts, unchanged)
        elif space == "shared":
            needed, least = traffic.wavefronts(x.lanes, addresses, size)
            counted.wavefronts += needed
            counted.least_wavefronts += least
            self._shared(x, instruction, kind, size, parts, unchanged)

    def _touch(self, parts: list[Part], kind: str) -> None:
        for part in parts:
            allocation = part.allocation
            touched = self.touched.get(allocation.base)
            if touched is None:
                count = (allocation.size >> traffic.SECTOR) + 2
                touched = Touched(np.zeros(count, np.bool_), np.zeros(count, np.bool_))
                self.touched[allocation.base] = touched
            at = (part.addresses >> np.uint64(traffic.SECTOR)).view(np.int64) - (
                allocation.base >> traffic.SECTOR
            )
            if kind != "store":
                touched.read[at] = True
            if kind != "load":
                touched.written[at] = True

    def _global(
        self,
        x: Context,
        instruction: Instruction,
        kind: str,
        size: int,
        parts: list[Part],
        unchanged: Unchanged | None,
        *,
        bulk: bool = False,
    ) -> None:
        for part in parts:
            if kind != "load" and x.batch.copies.active:
                read = x.batch.copies.still_read(part.addresses, size)
                if read.any():
                    detail = "bytes that a copy may not have read yet"
                    self._report_flight(x, instruction, "async-write", detail, part, read)
            if x.batch.bulk.stores and not instruction.has("reduce"):
                pending = x.batch.bulk.still_written(part.addresses, size)
                if pending.any() and kind == "store" and unchanged is not None:
                    pending &= ~unchanged(part)
                if pending.any():
                    name = "async-read" if kind == "load" else "async-write"
                    detail = "bytes that a copy may not have written yet"
                    self._report_flight(x, instruction, name, detail, part, pending)
            if self.global_races is not None:
                self.global_races.access(x, instruction, kind, part, size, unchanged, bulk=bulk)

    def _shared(
        self,
        x: Context,
        instruction: Instruction,
        kind: str,
        size: int,
        parts: list[Part],
        unchanged: Unchanged | None,
    ) -> None:
        copies = x.batch.copies
        objects = x.batch.objects
        for part in parts:
            if objects.states and instruction.opcode != "mbarrier" and kind != "sync":
                hit = objects.touched(part.addresses.view(np.int64), size)
                if hit.any():
                    detail = f"an ordinary access ({kind}) to an mbarrier object"
                    self._report_flight(x, instruction, "mbarrier", detail, part, hit)
            if copies.active:
                flying = copies.in_flight(part.addresses.view(np.int64), size)
                reads = kind in READS
                if reads:
                    flying &= _COMING
                if kind == "reduce":
                    flying &= np.uint8(~REDUCING & 255)
                if flying.any():
                    name = "async-read" if reads else "async-write"
                    detail = "bytes that a copy may not have written yet"
                    if not (flying & _COMING).any():
                        detail = "bytes that a copy or a wgmma may not have read yet"
                    self._report_flight(x, instruction, name, detail, part, flying != 0)
                    rest = flying == 0
                    rows = np.flatnonzero(rest) if part.rows is None else part.rows[rest]
                    part = part._replace(rows=rows, addresses=part.addresses[rest])
            races = x.batch.races
            if races is not None and kind != "sync" and len(part.addresses):
                races.access(x, instruction, kind, part, size, unchanged)

    def _report_flight(
        self, x: Context, instruction: Instruction, name: str, detail: str, part: Part, flying: Array
    ) -> None:
        space = "shared" if part.allocation is x.batch.shared else "global"
        x.report(instruction, name, detail, flying, own_addresses(x, space, part), space, part.rows)

    def arrived(self, batch: Batch, lanes: Lanes, places: Array, size: int) -> None:
        """Asynchronous copies of these lanes have arrived at ``places`` in the batch's shared memory."""
        if batch.races is not None:
            x = Context(batch, batch.frame(self.launch.program, 0), lanes)
            batch.races.arrived_copies(x, places, size)

    def bulk(
        self,
        x: Context,
        instruction: Instruction,
        space: str,
        kind: str,
        part: Part,
        unit: int,
        unchanged: Unchanged | None = None,
    ) -> None:
        """One lane's bulk copy accesses the places of a part, ``unit`` bytes each: a fetch, copy, reduce."""
        counted = self.traffic.get((id(instruction), space))
        if counted is None:
            counted = self.traffic[id(instruction), space] = Traffic(space)
        counted.bytes += unit * len(part.addresses)
        if space == "global":
            counted.requests += 1
            counted.sectors += len(np.unique(part.addresses >> np.uint64(traffic.SECTOR)))
            kind = {"fetch": "load", "copy": "store"}.get(kind, "atomic")
            self._touch([part], kind)
            if self.trace is not None:
                self.trace.access(x, instruction.line, kind, part.addresses, unit)
            if self.global_races is not None:
                bare = self.global_races.unfenced(x, part, unit, self.proxies)
                if bare.any():
                    self._report_flight(x, instruction, "proxy-fence", _UNFENCED, part, bare)
            self._global(x, instruction, kind, unit, [part], unchanged, bulk=True)
            return
        passes = -(-unit * len(part.addresses) // 128)
        counted.wavefronts += passes
        counted.least_wavefronts += passes
        if x.batch.races is not None and instruction.opcode == "cp":
            bare = x.batch.races.unfenced(int(x.lanes.index[0]), part, writes=kind != "fetch")
            if bare.any():
                self._report_flight(x, instruction, "proxy-fence", _UNFENCED, part, bare)
        self._shared(x, instruction, kind, unit, [part], None)

    def bulk_fetched(self, batch: Batch, starts: Array, unit: int, barrier: int) -> None:
        """A copy has read ``unit`` bytes at each address in global memory; it arrives at an mbarrier."""
        if batch.order is not None and self.global_races is not None:
            stride = batch.shared_stride
            block = barrier // stride
            column = batch.order.column(block % batch.shape.cluster * stride + barrier % stride)
            self.global_races.fetched(int(batch.blocks[block]), column, starts, unit)

    def wgmma(self, x: Context, i: Instruction, addresses: Array) -> None:
        """The wgmma of a warpgroup reads 16 bytes at each address, for each of its warps."""
        counted = self.traffic.get((id(i), "shared"))
        if counted is None:
            counted = self.traffic[id(i), "shared"] = Traffic("shared")
        counted.bytes += 16 * len(addresses)
        counted.wavefronts += -(-len(addresses) // 8)
        counted.least_wavefronts += -(-len(addresses) // 8)
        races, starts, copies = x.batch.races, x.lanes.starts, x.batch.copies
        order = x.batch.order
        if order is not None and order.apart:  # all lanes read what a wgmma does
            starts = starts + np.array([order.least(warp) for warp in x.lanes.warp[starts].tolist()])
        if races is not None:
            flying = copies.in_flight(addresses.view(np.int64), 16) & _COMING
            here = addresses[flying == 0]
            mine = Part(x.batch.shared, None, here)
            lanes = x.lanes.index[starts].tolist() if races.of_threads(mine) else []
            found = [races.unfenced(lane, mine, writes=False) for lane in lanes]
            if any(each.any() for each in found):
                detail = "no fence.proxy.async between an ordinary access to these bytes and this wgmma"
                part = Part(x.batch.shared, np.repeat(starts, len(here)), np.tile(here, len(starts)))
                self._report_flight(x, i, "proxy-fence", detail, part, np.concatenate(found))
        part = Part(x.batch.shared, np.repeat(starts, len(addresses)), np.tile(addresses, len(starts)))
        self._shared(x, i, "operand", 16, [part], None)

    def tensor_map(self, x: Context, instruction: Instruction, part: Part) -> None:
        """One lane copies by the tensor map in a part of global memory."""
        if self.global_races is None or not part.allocation.writable:
            return
        self.global_races.access(x, instruction, "load", part, SIZE, None)
        self.maps.check(x, instruction, self.global_races, part)

    def counters(self) -> Counters:
        """What was counted."""
        return Counters.of(self.launch, self.traffic, self.touched)
