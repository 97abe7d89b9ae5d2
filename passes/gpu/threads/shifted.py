"""Neighbours in memory that begin at any element: aligned accesses, shifted into place.

A thread loads the access that its first element lies in. The one behind it, in which the rest is, the lane
beside has loaded, if that one's elements come next; else the thread loads it, too::

    lane             0        1                31
    accesses         |abcdefgh|ijklmnop| … |yz…
    what it has       bcdefgh i, jklmnop q, …           a shift by one element

Or it loads the one that its last element lies in, and the lane beside has the one before: where lanes would
begin in the middle of a sector else.

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
    run is the next one. ``more``: how many elements behind the run are wanted, too: one, or none. ``second``:
    where the access behind begins, if it does not lie behind the first one. ``backwards``: whether a thread
    loads this, and the lane before has the first one if the run is the next one of that lane's.
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
    second: Number | None = None
    backwards: bool = False

    @property
    def words(self) -> int:
        """Those of an access."""
        return self.count * self.element_bytes // WORD

    @property
    def behind(self) -> int:
        """Those that may be needed of the second access."""
        most = self.more + (self.rest if isinstance(self.rest, int) else self.count - 1)
        return -(-most * self.element_bytes // WORD)


def load_runs(em: Emitter, runs: Sequence[Run]) -> list[tuple[list[ir.Value], list[ir.Value]]]:
    """The words that a thread has loaded of each run, and those of the access that the lane beside may have.

    All loads come before what waits for one. Of a first access that is not there it has those at the buffer's
    beginning, which are not used.
    """
    loaded = [_load(em, run, _place_of(em, run, run.backwards)) for run in runs]
    return list(zip(loaded, [_load_other(em, run) for run in runs], strict=True))


def both_accesses(
    em: Emitter, run: Run, loaded: Sequence[ir.Value], own: Sequence[ir.Value]
) -> list[ir.Value]:
    """The words of two accesses, of what threads have loaded."""
    other = _from_beside(em, run, loaded, own) if own else []
    return [*other, *loaded] if run.backwards else [*loaded, *other]


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


def _place_of(em: Emitter, run: Run, second: bool) -> Number:
    """Where one of the two accesses begins, in memory if a thread loads it."""
    aligned = _aligned(em, run)
    if not second:
        return em.build.pick(run.starts, aligned, 0)
    return em.build.add(aligned, run.count) if run.second is None else run.second


def _load_other(em: Emitter, run: Run) -> list[ir.Value]:
    """The words of the access that not all load, unless the lane beside has it; none if it is not needed."""
    if run.behind == 0:
        return []
    build = em.build
    place = _place_of(em, run, not run.backwards)
    word = ir.IntegerType.get_signless(_BITS * WORD)
    alone = build.both(run.follows, build.opposite(_has_lane(em, run)))
    return em.choose(
        alone,
        [word] * run.words,
        lambda: _load(em, run, place),
        lambda: [build.constant(word, 0)] * run.words,
    )


def _from_beside(
    em: Emitter, run: Run, loaded: Sequence[ir.Value], own: Sequence[ir.Value]
) -> list[ir.Value]:
    """The words of the other access: those that the lane beside has loaded, or that the thread has."""
    build, has = em.build, em.build.truth(_has_lane(em, run))
    needed = range(run.behind)
    if run.backwards:
        needed = range(run.rest * run.element_bytes // WORD if isinstance(run.rest, int) else 0, run.words)

    def word(at: int) -> ir.Value:
        if at not in needed:
            return own[at]
        beside = from_beside(build, loaded[at], -1 if run.backwards else 1)
        return build.op("arith.select", [has, beside, own[at]], own[at].type)

    return [word(at) for at in (range(run.words) if run.backwards else needed)]


def _has_lane(em: Emitter, run: Run) -> Truth:
    """Whether the lane beside loads the access that the thread does not."""
    end = em.is_lane(0 if run.backwards else WARP - 1)
    return em.build.both(run.beside, em.build.opposite(end))


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
