"""Windows whose weights fill half of L2: all rows of a task take some turns before any takes the next.

    for rows: sums[row] = zeros
    for %kh in blocks: for rows: sums[row] += the block's turns, by weights that L2 holds meanwhile
    if any of the sums is not finite: for rows: sums[row] += what comes of padding

The weights of 512 channels by 3x3 are 1.2 MB for 64 others; each of 7 rows reads them again from L3; so it
does where L2 holds them, but not the next task's beside them, which are asked for meanwhile. A weight that is
infinite or NaN, of which padding's zero makes NaN, leaves no sum finite that it is multiplied for: where all
are, no weight is read for padding. So it is where each turn has a row of the task in memory, and all rows are
valid.

An element's products are added in the same order as without blocks. One Zen 5 core: ResNet-18's convolutions
of 512 channels of 7x7 1.09 to 0.88 ms, the model 0.95 of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mlir import ir
from mlir.dialects import arith, scf

from .edges import find_edge
from .emitter import Emitter
from .fragment import Fragment, Strip, element_of
from .narrowed import Row, find_row
from .padding import not_finite, with_all_seen, with_row, with_seen_row, with_unseen
from .types import is_float
from .windows import find_windows

if TYPE_CHECKING:
    from .blocked import Sums

Visit = Callable[[Strip, Sequence[ir.Value]], "Iterable[ir.Value] | None"]


class Strips(Protocol):
    """All strips of a tile in turn; what is carried from one to the next."""

    def __call__(self, once: bool, body: Visit, values: Sequence[ir.Value] = ()) -> list[ir.Value]:
        """Visit each."""


class Turns(NamedTuple):
    """The sums ``value`` of a window's loop; ``whole``: of all of a tile, known to lie in memory."""

    value: ir.Value
    whole: bool

    def _row(self, em: Emitter, strip: Strip) -> tuple[Row | None, bool]:
        """The row of a strip that may lie in the padding, and whether other rows multiply by its weights."""
        row = find_row(em, self.value, strip)
        return row, row is not None and self.whole and row.is_seen(em)

    def start(self, em: Emitter, strip: Strip, sums: Fragment) -> Fragment:
        """``sums``, and what comes of turns in which nothing that is multiplied lies in memory."""
        edge, (row, is_seen) = find_edge(em, self.value, strip), self._row(em, strip)
        if edge is not None:
            sums = with_unseen(em, self.value, strip, sums, edge)
        if row is not None and not is_seen:
            sums = with_row(em, self.value, strip, sums, row)
        return sums

    def finish(self, em: Emitter, sums: Sums, strips: Strips) -> None:
        """Add what comes of the other turns to the buffer, if there is anything to add."""
        padded = any(
            not flag for each in find_windows(em, self.value.owner.opview) for flag in each.read.in_bounds
        )
        if not padded or not is_float(element_of(self.value)):
            return
        flag = ir.IntegerType.get_signless(1)

        def test(strip: Strip, before: Sequence[ir.Value]) -> list[ir.Value]:
            odd = not_finite(em, list(sums.load(em, strip).values.values()))
            with em.here():
                return [arith.OrIOp(before[0], odd).result]

        (odd,) = strips(True, test, [em.constant(ir.BoolAttr.get(False), flag)])

        def add(strip: Strip, _: Sequence[ir.Value]) -> None:
            found, (row, is_seen) = sums.load(em, strip), self._row(em, strip)
            edge = find_edge(em, self.value, strip)
            if edge is not None:
                found = with_all_seen(em, self.value, strip, found, edge)
            if row is not None and is_seen:
                found = with_seen_row(em, self.value, strip, found, row)
            sums.store(em, strip, found)

        with em.branch(odd, []) as branch:
            strips(True, add)
            em.close([])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([])
