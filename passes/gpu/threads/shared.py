"""Shared memory of a block: who has which bytes of it, and the barriers between its uses.

Everything is carved from one external symbol. Regions are given out first fit; bytes that were freed may
be given out again at once, since a barrier comes before the next write if someone may still be
reading them. A rule announces each use before it emits it::

    region = em.shared.alloc(bytes)
    em.shared.writes(region)      # a barrier, if others may still use these bytes
    … store …
    em.shared.reads(region)       # a barrier, if others may still be writing them
    … load …
    em.shared.free(region)

Inside of a loop's body the last iteration's uses count: `loop` forgets what is known to be done.

What a kernel must have it gets, even beyond ``limit``: mlopt-gpu-distribute compares ``used`` with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import nvvm

from .builder import Builder

SYMBOL = "dyn"
ALIGNMENT = 16
_SPACE = 3
_ALL = 1 << 62
_BARRIER = 1  # the number of a barrier of some threads; that of all has 0
_CHEAP = 1 << 14  # bytes up to which room is cheaper than a barrier


@dataclass(frozen=True, eq=False)
class Region:
    """Bytes from ``start`` to ``end``."""

    start: int
    end: int

    def overlaps(self, other: Region) -> bool:
        """Whether the two share bytes."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class _Divided:
    """Bytes from ``start`` on, of which each of ``parts`` of the threads has some of its own.

    ``distance`` is the constant by which they are apart, ``further`` how far the thread's are from those of
    the first part, ``number`` that of its part's barrier.
    """

    parts: int
    start: int
    distance: ir.Operation
    further: ir.Value
    number: ir.Value


class Shared:
    """The shared memory of one kernel; ``used`` is what it needs in all, ``limit`` what a block may have.

    It begins at a multiple of ``alignment``.
    """

    def __init__(self, build: Builder, limit: int) -> None:
        self.used = 0
        self.alignment = ALIGNMENT  # of the first byte
        self.limit = limit
        self.threads: int | None = None  # of those that meet at barriers; all
        self._build = build
        self._live: list[Region] = []
        self._read: list[Region] = []  # since the last barrier
        self._written: list[Region] = []
        self._uses = 0
        self._base: ir.Value | None = None
        self._divided: _Divided | None = None

    def divide(self, parts: int, own: ir.Value) -> None:
        """Give each of so many parts of the threads bytes of its own from here on; ``own``: which part it is.

        They meet by themselves, too. How far the bytes of a part are from those of the next one is known when
        the last of them are given out (`close`).
        """
        start = -(-self.used // self.alignment) * self.alignment
        self._live.append(Region(0, start))
        self.limit = start + (self.limit - start) // parts // self.alignment * self.alignment
        unknown = {"value": ir.IntegerAttr.get(own.type, 0)}
        distance = self._build.op("arith.constant", [], own.type, unknown)
        further = self._build.op("arith.muli", [own, distance])
        number = self._build.op("arith.addi", [own, self._build.constant(own.type, _BARRIER)])
        self._divided = _Divided(parts, start, distance.owner.operation, further, number)

    def close(self) -> None:
        """Say how far the bytes of parts are from each other."""
        if self._divided is None:
            return
        parts, start, distance = self._divided.parts, self._divided.start, self._divided.distance
        each = -(-(self.used - start) // self.alignment) * self.alignment
        kind = distance.results[0].type
        distance.attributes["value"] = ir.IntegerAttr.get(kind, each)
        self.used = start + parts * each

    def alloc(self, size: int, alignment: int = ALIGNMENT) -> Region:
        """``size`` bytes that nobody else has until they are freed; preferably such that need no barrier.

        Rounded up: LLVM reads neighbours at once, up to the end of the 16 bytes that they lie in.
        """
        size = -(-size // ALIGNMENT) * ALIGNMENT
        start = self._fit(size, alignment, [*self._live, *self._read, *self._written])
        if start + size > min(max(self.used, _CHEAP), self.limit):
            start = self._fit(size, alignment, self._live)
        region = Region(start, start + size)
        self._live.append(region)
        self.alignment = max(self.alignment, alignment)
        self.used = max(self.used, region.end)
        return region

    @property
    def room(self) -> int:
        """The most bytes that somebody can have together."""
        most, end = 0, 0
        for region in sorted(self._live, key=lambda one: one.start):
            most, end = max(most, region.start - end), max(end, region.end)
        return max(most, self.limit - end)

    def free(self, region: Region) -> None:
        """Give bytes back."""
        self._live.remove(region)

    def writes(self, region: Region) -> None:
        """Say that threads write into a region next, and others read that later."""
        if any(region.overlaps(other) for other in (*self._read, *self._written)):
            self.barrier()
        self._written.append(region)
        self._uses += 1

    def reads(self, region: Region) -> None:
        """Say that threads read from a region next what others wrote."""
        if any(region.overlaps(other) for other in self._written):
            self.barrier()
        self._read.append(region)
        self._uses += 1

    def barrier(self) -> None:
        """All threads of the block wait for each other, or the first ``threads`` of them."""
        if self.threads is None:
            ir.Operation.create("nvvm.barrier0")
        else:
            word = ir.IntegerType.get_signless(32)
            first, count = (self._build.constant(word, each) for each in (_BARRIER, self.threads))
            number = first if self._divided is None else self._divided.number
            nvvm.BarrierOp(None, barrierId=number, numberOfThreads=count)
        self._read, self._written = [], []

    @contextmanager
    def loop(self) -> Iterator[None]:
        """The body of a loop: its beginning follows what was before the loop, and its own end."""
        before, uses = (self._read, self._written), self._uses
        everything = [Region(0, _ALL)]
        self._read, self._written = list(everything), list(everything)
        yield
        if self._uses == uses:
            self._read, self._written = before
        else:  # or there was no step at all
            self._read, self._written = self._read + before[0], self._written + before[1]

    @contextmanager
    def branch(self) -> Iterator[None]:
        """What all threads of the block do, or none of them."""
        before = self._read, self._written
        self._read, self._written = list(self._read), list(self._written)
        yield
        self._read, self._written = self._read + before[0], self._written + before[1]

    def pointer(self, region: Region) -> ir.Value:
        """The address of a region."""
        byte = ir.IntegerType.get_signless(8)
        if self._base is None:
            with self._build.at_entry():
                symbol = self._build.op(
                    "llvm.mlir.addressof", [], ir.Type.parse(f"!llvm.ptr<{_SPACE}>"),
                    {"global_name": ir.FlatSymbolRefAttr.get(SYMBOL)},
                )  # fmt: skip
                # A zero that LLVM cannot know (grids lie along x): of an aligned address it would take
                # whole pieces where a tile's last elements end in one, and read what nobody wrote.
                zero = self._build.op("nvvm.read.ptx.sreg.ctaid.z", [], ir.IntegerType.get_signless(32))
                self._base = self._build.offset(symbol, byte, zero)
        divided = self._divided
        if divided is None or region.start < divided.start:
            return self._build.offset(self._base, byte, region.start)
        return self._build.offset(self._build.offset(self._base, byte, divided.further), byte, region.start)

    def _fit(self, size: int, alignment: int, taken: list[Region]) -> int:
        """The lowest place for ``size`` bytes beside those taken."""
        start = 0
        for region in sorted(taken, key=lambda one: one.start):
            if start + size <= region.start:
                break
            start = max(start, -(-region.end // alignment) * alignment)
        return start


def declare_symbol(alignment: int = ALIGNMENT) -> None:
    """The symbol that all shared memory is carved from, at the insertion point."""
    ir.Operation.create(
        "llvm.mlir.global",
        regions=1,
        attributes={
            "global_type": ir.TypeAttr.get(ir.Type.parse("!llvm.array<0 x i8>")),
            "sym_name": ir.StringAttr.get(SYMBOL),
            "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
            "addr_space": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), _SPACE),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), alignment),
        },
    )
