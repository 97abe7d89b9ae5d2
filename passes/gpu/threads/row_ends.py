"""Where tasks of a group are in two rows: all that they read is in two accesses, and nothing branches.

Eight tasks of x[:, 1:] and of F.pad(x, (1, 2)), in which a row ends::

    accesses    |… a b c|d A B C D …          |… a b c d|A B C D …
    a run        b c d A B C D E               b c d A B C D E
    wanted       b c d B C D E F               b c d . . . A B         '.' is padding

The tasks behind the end have the same elements a known number of places beside: words are shifted by it, and
chosen by masks. A group that begins in padding has the run of the row behind it, and nothing beside.

Effect on sm_80: x[:, 1:] of 128x4096 in f32 has 59 instructions for four elements, and 68 with single loads
of a row's end, for which warps wait; in f16 81 for eight, and 103. Rows may be as short as an access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from .builder import Builder, Number, Truth
from .emitter import Emitter
from .shifted import WORD, Run, shift

_BITS = 8  # of a byte


@dataclass(frozen=True)
class Ends:
    """What each of a group's tasks reads.

    Those below the number ``before`` have the run's elements, those from ``behind`` on have elements ``gap``
    places further, if ``further``, else the run's; those between are ``padded``.
    """

    before: Number
    behind: Number
    gap: int
    further: Truth
    padded: bool


def read_rows(
    em: Emitter, run: Run, words: Sequence[ir.Value], ends: Ends, padding: Sequence[ir.Value]
) -> list[ir.Value]:
    """The words of what a group reads, from those of its accesses; ``padding``: an element for each task."""
    build, own = em.build, shift(em, run, words)
    if ends.gap == 0:
        return own
    size, further = run.element_bytes, build.truth(ends.further)
    moved = _moved(build, own, ends.gap * size, run.words)
    found = []
    for at, (one, other) in enumerate(zip(own, moved, strict=False)):
        tasks = range(at * WORD // size, max((at + 1) * WORD // size, at * WORD // size + 1))
        behind, word = other, one
        if ends.further is not True:
            behind = build.op("arith.select", [further, other, one], one.type)
        if ends.padded:
            own_padding = _packed(build, [padding[task] for task in tasks])
            word = _mixed(build, tasks, ends.before, one, own_padding)
        found.append(_mixed(build, tasks, ends.behind, word, behind))
    return found


def _moved(build: Builder, words: Sequence[ir.Value], distance: int, count: int) -> list[ir.Value]:
    """``count`` words that begin some bytes behind the first one, or before it; zero where there are none."""
    step, more = divmod(distance, WORD)
    zero = build.constant(words[0].type, 0)

    def word(at: int) -> ir.Value:
        return words[at] if 0 <= at < len(words) else zero

    found = []
    for at in range(step, step + count):
        amount = build.constant(zero.type, _BITS * more)
        found.append(build.op("llvm.intr.fshr", [word(at + 1), word(at), amount]) if more else word(at))
    return found


def _mixed(build: Builder, tasks: range, end: Number, one: ir.Value, other: ir.Value) -> ir.Value:
    """A word whose elements are those of ``one`` for ``tasks`` below ``end``, else those of ``other``."""
    if len(tasks) == 1:
        return build.op("arith.select", [build.truth(build.less(tasks[0], end)), one, other], one.type)
    mask, bits = build.constant(one.type, 0), _BITS * WORD // len(tasks)
    for number, task in enumerate(tasks):
        kept = -1 if number + 1 == len(tasks) else (1 << (number + 1) * bits) - 1
        below = build.truth(build.less(task, end))
        mask = build.op("arith.select", [below, build.constant(one.type, kept), mask], one.type)
    apart = build.op("arith.andi", [build.op("arith.xori", [one, other]), mask])
    return build.op("arith.xori", [apart, other])


def _packed(build: Builder, elements: Sequence[ir.Value]) -> ir.Value:
    """A word of so many elements."""
    word = ir.IntegerType.get_signless(_BITS * WORD)
    one_word, vector = ir.VectorType.get([1], word), build.vector(elements)
    (bits,) = build.elements(build.op("vector.bitcast", [vector], one_word))
    return bits
