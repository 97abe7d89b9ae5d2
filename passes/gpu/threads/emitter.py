"""The state while one kernel's device function is written."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from mlir import ir

from ....dialects.attributes import LAYOUT
from ....dialects.layouts import WARP, Layout
from ...base import PassError
from .builder import Builder, Number, Truth
from .fragment import Fragment, uniform
from .registry import rule_of
from .shared import Region, Shared

if TYPE_CHECKING:
    from ..layouts.boxes import Box
    from .asynchronous import Ring

T = TypeVar("T")
Task: TypeAlias = tuple[dict[ir.Value, Fragment], dict[ir.Value, Number]]  # what a thread has in a task


@dataclass(frozen=True)
class Buffer:
    """A kernel argument: contiguous memory; ``constant`` if the kernel writes nothing there.

    What is stored there stays out of the caches if it is ``streamed``. Without a ``number`` it is the block's
    own, in shared memory.
    """

    number: int | None
    pointer: ir.Value
    sizes: tuple[Number, ...]
    element: ir.Type
    constant: bool
    streamed: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether this is in shared memory."""
        return self.number is None


class Emitter:
    """Values of the tile IR as what one thread has of them.

    ``aligned``: whether buffers begin at multiples of 16 bytes. ``messages`` are the module's, which
    asserts are numbered by; ``status`` is the cell that they write. ``shared``: a block's bytes, at most.
    """

    def __init__(
        self,
        build: Builder,
        thread: ir.Value,
        warps: int,
        aligned: bool,
        messages: Sequence[str],
        status: ir.Value | None,
        shared: int,
    ) -> None:
        self.build = build
        self.thread_number = self.block_thread = thread  # of those that share a tile, and of the block
        self.warps = warps
        self.aligned = aligned
        self.messages = messages
        self.registers = 0  # that a thread may have
        self.alone = False  # whether each thread runs a task of its own
        self.cluster = 1  # blocks that share their memory
        self.consumers = 1  # parts of a block's threads that multiply, each a tile of its own
        self.consumer: Number = 0  # the thread's part
        self.status = status
        self.counters: ir.Value | None = None  # of blocks that have come, by tile
        self.arrived = False  # whether all that blocks have written before is there for the task's threads
        self.held: dict[int, Truth] | None = None  # by message: what is asserted together
        self.shared = Shared(build, shared)
        self.in_pieces = False  # whether a loop's steps are being written out
        self.striped = False  # whether neighbouring lanes have neighbours, one by one
        self.sliced = False  # whether what follows a product is made a few registers at a time
        self.making = False  # whether a part of what waited is being made
        self.made = self.fences = 0  # registers of such parts since the last fence, and fences until now
        self.wide = False  # whether an access rests on the buffers' alignment
        self.multiples: set[Buffer] = set()  # those whose innermost size must be a multiple of 16 bytes
        self.ends: dict[Number, ir.Value] = {}  # of a task's place in a loop: the end, which it is before
        self.buffers: dict[ir.Value, Buffer] = {}
        self.rings: dict[ir.Value, Ring] = {}
        self.mbarriers: dict[ir.Value, Region] = {}  # the slots', by mlopt.tma_barriers
        self.maps: dict[Box, ir.Value] = {}  # the addresses of tensor maps
        self.staged: dict[ir.Value, Region] = {}  # where tiles are that are stored by boxes
        self.staging: Region | None = None  # what a persistent grid keeps for these
        self._fragments: dict[ir.Value, Fragment] = {}
        self._scalars: dict[ir.Value, Number] = {}
        self._memo: list[dict[Hashable, object]] = [{}]

    def divide(self, consumers: int) -> None:
        """Number threads in each of so many parts that make tiles of their own."""
        self.consumers = consumers
        if consumers > 1:
            last = self.build.constant(self.block_thread.type, self.warps * WARP - 1)
            with self.build.at_entry():
                self.thread_number = self.build.op("arith.andi", [self.block_thread, last])

    # -- values --

    def emit(self, ops: Sequence[ir.Operation]) -> None:
        """Emit ops in their order."""
        for op in ops:
            with op.location:
                rule_of(op)(self, op)

    def fragment(self, tile: ir.Value) -> Fragment:
        """What the thread has of a tile."""
        return self._fragments[tile]

    def is_emitted(self, tile: ir.Value) -> bool:
        """Whether it is known what the thread has of a tile."""
        return tile in self._fragments

    def set_fragment(self, tile: ir.Value, fragment: Fragment) -> None:
        """Say what the thread has of a tile."""
        self._fragments[tile] = fragment

    def number(self, scalar: ir.Value) -> Number:
        """A scalar; an index may be a known number."""
        return self._scalars[scalar]

    def scalar(self, scalar: ir.Value) -> ir.Value:
        """A scalar as a value."""
        return self.build.number(self._scalars[scalar])

    def set_scalar(self, scalar: ir.Value, value: Number) -> None:
        """Say what a scalar is."""
        self._scalars[scalar] = value

    def operand(self, value: ir.Value) -> Fragment:
        """A tile, or a scalar as a tile of it."""
        return self._fragments[value] if value in self._fragments else uniform(self.scalar(value))

    # -- types and layouts --

    def element(self, kind: ir.Type) -> ir.Type:
        """The type of a tile's elements, or of a scalar, in registers: indices have the builder's type."""
        if isinstance(kind, ir.VectorType):
            kind = kind.element_type
        return self.build.index if isinstance(kind, ir.IndexType) else kind

    def layout(self, tile: ir.Value) -> Layout:
        """The layout of a tile, a result of an op."""
        result = ir.OpResult(tile)
        return self.layout_of_result(result.owner, result.result_number)

    def layout_of_result(self, op: ir.Operation, number: int) -> Layout:
        """The layout of an op's result."""
        texts = LAYOUT.get(op)
        if texts is None or len(texts) != len(op.results) or not texts[number]:
            raise PassError(op, "distribute: a tile without mlopt.layout; run mlopt-gpu-assign-layouts")
        layout = Layout.parse(texts[number])
        if layout.threads != self.warps * 32:
            raise PassError(op, f"distribute: a layout for {layout.threads // 32} warps, not {self.warps}")
        return layout.striped if self.striped else layout

    # -- what is kept --

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` emits, once for as long as it dominates."""
        for memo in reversed(self._memo):
            if key in memo:
                return memo[key]  # type: ignore[return-value]
        made = make()
        self._memo[-1][key] = made
        return made

    def at_entry(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` emits, once, at the function's beginning."""
        if key not in self._memo[0]:
            with self.build.at_entry():
                self._memo[0][key] = make()
        return self._memo[0][key]  # type: ignore[return-value]

    @contextmanager
    def region(self) -> Iterator[None]:
        """Inside of a region: what is emitted here is not kept outside."""
        self._memo.append({})
        yield
        self._memo.pop()

    @contextmanager
    def task(self, known: Task | None = None) -> Iterator[Task]:
        """One of several tasks of a thread, whose values are made again for the next one.

        ``known``: what an earlier part of the task has given.
        """
        before = self._fragments, self._scalars
        fragments, scalars = known or before
        self._fragments, self._scalars = dict(fragments), dict(scalars)
        with self.region():
            yield self._fragments, self._scalars
        self._fragments, self._scalars = before

    @contextmanager
    def written_out(self) -> Iterator[None]:
        """A step of a loop that is written out."""
        before, self.in_pieces = self.in_pieces, True
        yield
        self.in_pieces = before

    def choose(
        self,
        condition: Truth,
        results: Sequence[ir.Type],
        then: Callable[[], Sequence[ir.Value]],
        other: Callable[[], Sequence[ir.Value]] | None = None,
    ) -> list[ir.Value]:
        """What ``then`` makes if the condition holds, else what ``other`` makes."""

        def inside(make: Callable[[], Sequence[ir.Value]]) -> Callable[[], Sequence[ir.Value]]:
            def branch() -> Sequence[ir.Value]:
                with self.region():
                    return make()

            return branch

        return self.build.choose(condition, results, inside(then), inside(other) if other else None)

    # -- where a thread is --

    def is_lane(self, number: int) -> ir.Value:
        """Whether the thread is its warp's lane of that number."""
        build, thread = self.build, self.thread_number

        def ask() -> ir.Value:
            lane = build.op("arith.andi", [thread, build.constant(thread.type, WARP - 1)])
            return build.equal(lane, build.constant(thread.type, number))

        return self.at_entry(("lane", number), ask)

    def thread(self, layout: Layout, dim: int) -> Number:
        """What the thread adds to positions along a dim."""
        steps = layout.thread_steps[dim]
        return self.at_entry(("thread", steps), lambda: self._thread(steps))

    def below(self, layout: Layout, dim: int, at: int, limit: Number, start: Number = 0) -> Truth:
        """Whether ``start`` + the thread's part along a dim + ``at`` is below ``limit``."""
        build, thread = self.build, self.thread(layout, dim)
        if isinstance(start, ir.Value) and start in self.ends and limit == self.ends[start]:
            return self._among(start, self.ends[start], thread, at)
        first = self.once(("first", start, thread), lambda: build.add(start, thread))
        last = self.once(("last", first, at), lambda: build.add(first, at))
        return self.once(("below", last, limit), lambda: build.less(last, limit))

    def _among(self, start: ir.Value, end: ir.Value, thread: Number, at: int) -> Truth:
        """Whether the thread's part + ``at`` is one of those that are left from a task's ``start`` on.

        How many these are fits into 32 bits, as tiles do: one comparison each, where 64 bits take two.
        """
        build = self.build
        left = self.once(
            ("left", start), lambda: build.word(build.least(build.sub(end, start), (1 << 31) - 1))
        )
        own = self.once(
            ("own left", left, thread),
            lambda: left if thread == 0 else build.op("arith.subi", [left, build.word(thread)]),
        )
        return self.once(("below", own, at), lambda: build.signed_less(build.word(at), own))

    def _thread(self, steps: tuple[int, ...]) -> Number:
        build = self.build
        total: Number = 0
        bit = 0
        while bit < len(steps):
            first, step = bit, steps[bit]
            bit += 1
            if step == 0:
                continue
            while bit < len(steps) and steps[bit] == 2 * steps[bit - 1]:
                bit += 1
            total = build.add(total, build.mul(build_bits(self, first, bit - first), step))
        return total

    def only(self, bits: int) -> ir.Value | bool:
        """Whether the thread is the one among its copies that acts: the thread bits in the mask are zero."""
        if not bits or self.alone:
            return True
        build, thread = self.build, self.thread_number

        def make() -> ir.Value:
            kind = thread.type
            masked = thread
            if bits != self.warps * 32 - 1:
                masked = build.op("arith.andi", [thread, build.constant(kind, bits)])
            return build.equal(masked, build.constant(kind, 0))

        return self.at_entry(("only", bits), make)


def build_bits(em: Emitter, first: int, count: int) -> Number:
    """``count`` bits of the thread's number from ``first`` on, as an index."""
    build = em.build

    def make() -> ir.Value:
        value = em.thread_number
        kind = value.type
        if first:
            value = build.op("arith.shrui", [value, build.constant(kind, first)])
        if first + count < 5 + em.warps.bit_length() - 1:
            value = build.op("arith.andi", [value, build.constant(kind, (1 << count) - 1)])
        return value if kind == build.index else build.op("arith.extui", [value], build.index)

    return em.at_entry(("bits", first, count), make)
