"""Neighbours in memory that begin at any element: aligned accesses, shifted into place.

A thread loads the access that its first element lies in. The one behind it, in which the rest is, the lane
beside has loaded, if that one's elements come next; else the thread loads it, too::

    lane             0        1                31
    accesses         |abcdefgh|ijklmnop| … |yz…
    what it has       bcdefgh i, jklmnop q, …           a shift by one element

Both are words of 4 bytes. Words are chosen by the bits of the distance, a byte within a word by a funnel
shift (``shf.r.wrap``); of a distance that is known only the funnel shift is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.layouts import WARP
from .builder import Number, Truth
from .combine import from_beside
from .emitter import Buffer, Emitter

WORD = 4
_BITS = 8  # of a byte


@dataclass(frozen=True)
class Run:
    """``count`` neighbours of a buffer, as many as an access has, the first at ``place``.

    ``rest``: how far that is behind the access that it lies in. ``starts``: whether this is in memory;
    ``follows``: whether the one behind is needed, and all of it is there; ``beside``: whether the next lane's
    run is the next one. ``more``: how many elements behind the run are wanted, too: one, or none.
    """

    buffer: Buffer
    element_bytes: int
    count: int
    place: Number
    rest: Number
    starts: Truth
    follows: Truth
    beside: Truth
    more: int = 0

    @property
    def words(self) -> int:
        """Those of an access."""
        return self.count * self.element_bytes // WORD

    @property
    def behind(self) -> int:
        """Those that may be needed of the second access."""
        most = self.more + (self.rest if isinstance(self.rest, int) else self.count - 1)
        return -(-most * self.element_bytes // WORD)


def load_runs(em: Emitter, runs: Sequence[Run]) -> list[list[ir.Value]]:
    """The words of two accesses for each run; all loads come before what waits for one.

    Of a first access that is not there those at the buffer's beginning, which are not used.
    """
    first = [_load(em, run, em.build.pick(run.starts, _aligned(em, run), 0)) for run in runs]
    own = [_load_behind(em, run) for run in runs]
    return [
        [*words, *(_from_beside(em, run, words, behind) if behind else [])]
        for run, words, behind in zip(runs, first, own, strict=True)
    ]


def shift(em: Emitter, run: Run, words: Sequence[ir.Value]) -> list[ir.Value]:
    """The words of a run's elements, from those of its accesses; one word more if more are wanted."""
    build, count = em.build, run.words
    bytes_behind = build.mul(run.rest, run.element_bytes)
    found = list(words)
    step = count
    while step > max(run.element_bytes // WORD, 1):
        step //= 2
        chosen = _bit(em, bytes_behind, step * WORD)
        found = _choose_words(em, chosen, found, step)
    if run.element_bytes < WORD:
        found = _shift_bytes(em, bytes_behind, found, count + run.more)
    return found[: count + run.more]


def in_elements(em: Emitter, run: Run, words: Sequence[ir.Value]) -> ir.Value:
    """Words as the elements of a run, a short vector."""
    kind = ir.VectorType.get([run.words], ir.IntegerType.get_signless(_BITS * WORD))
    vector = em.build.op("vector.from_elements", list(words), kind)
    elements = ir.VectorType.get([run.count], run.buffer.element)
    return em.build.op("vector.bitcast", [vector], elements)


def _aligned(em: Emitter, run: Run) -> Number:
    """Where the first access begins, in memory or not."""
    if isinstance(run.rest, int):
        return em.build.sub(run.place, run.rest)
    return em.build.op("arith.andi", [em.build.number(run.place), em.build.number(-run.count)])


def _load(em: Emitter, run: Run, place: Number) -> list[ir.Value]:
    build, word = em.build, ir.IntegerType.get_signless(_BITS * WORD)
    pointer = build.offset(run.buffer.pointer, run.buffer.element, place)
    return build.load(pointer, word, run.words, run.words * WORD, constant=True)


def _load_behind(em: Emitter, run: Run) -> list[ir.Value]:
    """The words of the access that a run ends in, unless the next lane has it; none if it is the first."""
    if run.behind == 0:
        return []
    build = em.build
    behind = build.add(_aligned(em, run), run.count)
    word = ir.IntegerType.get_signless(_BITS * WORD)
    alone = build.both(run.follows, build.opposite(_has_lane(em, run)))
    return em.choose(
        alone,
        [word] * run.words,
        lambda: _load(em, run, behind),
        lambda: [build.constant(word, 0)] * run.words,
    )


def _from_beside(em: Emitter, run: Run, first: Sequence[ir.Value], own: Sequence[ir.Value]) -> list[ir.Value]:
    """The words of the access behind: the next lane's first ones, or those that the thread has loaded."""
    build, has = em.build, em.build.truth(_has_lane(em, run))
    return [
        build.op("arith.select", [has, from_beside(build, word, 1), other], word.type)
        for word, other in zip(first[: run.behind], own, strict=False)
    ]


def _has_lane(em: Emitter, run: Run) -> Truth:
    """Whether the next lane loads the access behind the first."""
    build, thread = em.build, em.thread_number

    def is_last() -> ir.Value:
        lane = build.op("arith.andi", [thread, build.constant(thread.type, WARP - 1)])
        return build.equal(lane, build.constant(thread.type, WARP - 1))

    return build.both(run.beside, build.opposite(em.at_entry("last lane", is_last)))


def _bit(em: Emitter, number: Number, bit: int) -> Truth:
    build = em.build
    if isinstance(number, int):
        return bool(number & bit)
    masked = build.op("arith.andi", [number, build.number(bit)])
    return build.opposite(build.equal(masked, build.number(0)))


def _choose_words(em: Emitter, further: Truth, words: Sequence[ir.Value], step: int) -> list[ir.Value]:
    """The words from ``step`` on if ``further``, else from the first on; those that both have."""
    if isinstance(further, bool):
        return list(words[step:] if further else words)
    return [
        em.build.op("arith.select", [further, behind, word], word.type)
        for word, behind in zip(words, words[step:], strict=False)
    ]


def _shift_bytes(em: Emitter, distance: Number, words: Sequence[ir.Value], count: int) -> list[ir.Value]:
    """``count`` words that begin some bytes behind the first one's beginning, fewer than it has.

    Of a last one without a word behind it only so many bytes are right.
    """
    build = em.build
    if isinstance(distance, int) and distance % WORD == 0:
        return list(words)
    amount = build.word(build.mul(build.rem(distance, WORD), _BITS))
    pairs = [(words[at], words[min(at + 1, len(words) - 1)]) for at in range(count)]
    return [build.op("llvm.intr.fshr", [behind, word, amount]) for word, behind in pairs]
