"""Blocks that run together: their registers, shared and local memory, and who is alive."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .asynchronous import Copies
from .bulk import Bulk
from .findings import Finding
from .lanes import Lanes, Shape
from .lifetimes import Lifetimes
from .mbarriers import Objects
from .memory import Allocation
from .ordering import Ordering
from .ptx import Array
from .races import Races
from .register_pool import RegisterPool
from .warpgroups import Registers, Warpgroups

if TYPE_CHECKING:
    from .decode import Program
    from .launch import Launch


class Frame:
    """The registers of one activation of a function, for all lanes of a batch that are in it."""

    __slots__ = ("awaited", "base", "defined", "depth", "program", "regs")

    def __init__(self, program: Program, depth: int, base: int) -> None:
        self.program = program
        self.depth = depth
        self.base = base  # where its variables begin in local memory
        self.regs: list[Any] = [None] * len(program.dtypes)
        self.defined: dict[int, Array] = {}
        self.awaited: Registers | None = None


class Batch:
    """``blocks`` are the numbers of the blocks in the grid. A lane is a thread of one of them."""

    def __init__(self, launch: Launch, blocks: Array) -> None:
        self.launch = launch
        self.blocks = blocks
        self.shape: Shape = launch.shape(len(blocks))
        shape = self.shape
        size = launch.shared_size
        self.shared_stride = -(-size // 256) * 256 + 256
        stride = self.shared_stride * shape.blocks
        self.shared = Allocation(0, np.zeros(stride, np.uint8), "shared memory", np.zeros(stride, np.uint8))
        self.local_size = launch.local_size
        local = launch.local_size * shape.lanes
        self.local = Allocation(0, np.zeros(local, np.uint8), "local memory", np.zeros(local, np.uint8))
        self.alive = np.ones(shape.lanes, np.bool_)
        self.alive_in_warp: Array = shape.members.copy()
        self.alive_in_block = np.full(shape.blocks, shape.threads)
        self.alive_count = shape.lanes
        self.frames: dict[tuple[str, int], Frame] = {}
        self.special: dict[str, Any] = {}
        self.sites: dict[int, Array] = {}
        self.copies = Copies(self)
        self.objects = Objects(self)
        self.bulk = Bulk(self)
        self.pool = RegisterPool(self)
        self.warpgroups = Warpgroups(self)
        watch = launch.watch
        self.order = Ordering(self, watch.clock) if launch.options.races else None
        self.lifetimes = Lifetimes(self, self.order) if self.order and shape.cluster > 1 else None
        self.races = Races(self, watch.granule, self.order) if self.order and watch.shared_races else None

    @cached_property
    def shared_base(self) -> Array:
        """Where each lane's shared memory begins."""
        return self.shape.block.astype(np.uint64) * np.uint64(self.shared_stride)

    @cached_property
    def local_base(self) -> Array:
        """Where each lane's local memory begins."""
        return np.arange(self.shape.lanes, dtype=np.uint64) * np.uint64(self.local_size)

    def frame(self, program: Program, depth: int) -> Frame:
        """The frame of a function at a depth of calls."""
        key = (program.name, depth)
        found = self.frames.get(key)
        if found is None:
            base = 0 if depth == 0 else self.launch.frame_base(depth)
            found = self.frames[key] = Frame(program, depth, base)
        return found

    def value(self, name: str, make: Callable[[Batch], Any]) -> Any:
        """A special register of all lanes, made when it is first read."""
        found = self.special.get(name)
        if found is None:
            found = self.special[name] = make(self)
        return found

    def exit(self, lanes: Lanes) -> None:
        """These lanes have ended."""
        self.alive[lanes.index] = False
        self.alive_count -= lanes.count
        np.subtract.at(self.alive_in_block, lanes.block, 1)
        self.alive_in_warp = self.alive_in_warp & ~lanes.present
        if self.lifetimes is not None:
            blocks = np.unique(lanes.block)
            self.lifetimes.end(blocks[self.alive_in_block[blocks] == 0])

    def locate(self, finding: Finding, lane: int) -> None:
        """Write down which thread a lane of the batch is."""
        thread = int(self.shape.thread[lane])
        finding.block = self.launch.block_index(int(self.blocks[self.shape.block[lane]]))
        finding.thread = self.launch.thread_index(thread)
        finding.warp, finding.lane = divmod(thread, 32)
