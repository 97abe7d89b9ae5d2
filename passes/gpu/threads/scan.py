"""vector.scan: in each thread's registers, then over lanes, then over warps, then over registers again.

Along the dim a layout is a number of *digits*, each of which goes on where those below it end::

    reg 4:(0,128) 4:(0,1) lane 32:(0,4)     registers 0..3, lanes in steps of 4, registers in steps of 128

Registers are added up one after the other; lanes learn by butterflies what comes before them, and the total
of all; warps leave their totals in shared memory. What comes before a part of a row is added up from the
highest digit down, and added to each element once. The order is fixed by the layout: all runs give the same
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import NamedTuple

from mlir import ir

from ....dialects.layouts import LANE_BITS, Layout
from ...base import PassError
from ...combining import kind_of, scanned_dim
from .builder import Number
from .combine import combine, neutral, shuffle, tree
from .emitter import Emitter, build_bits
from .exchange import exchange
from .fragment import Fragment
from .reduce import masked, over_lanes
from .registry import rule

_Key = tuple[int, ...]  # the number on each axis of registers; 0 on those that have been added up
_Values = Mapping[_Key, ir.Value]


@rule("vector.scan")
def emit_scan(em: Emitter, op: ir.Operation) -> None:
    """The totals up to each element; those of whole rows, if anything reads them."""
    source, start = op.operands[0], em.operand(op.operands[1])
    fragment, kind = em.fragment(source), kind_of(op)
    layout = fragment.layout
    assert layout is not None
    along = scanned_dim(op)
    places = dict(
        zip(
            product(*(range(axis.extent) for axis in layout.registers)),
            layout.register_positions,
            strict=True,
        )
    )
    values: _Values = {key: fragment.values[at] for key, at in places.items() if at in fragment.values}
    is_total = any(True for _ in op.results[1].uses)
    if is_total:
        values = {key: masked(em, source, [along], places[key], each, kind) for key, each in values.items()}
    owns = [bit for bit, step in enumerate(layout.bits) if any(step) and not step[along]]
    scan = _Scan(em, kind, owns, is_total)
    digits = digits_of(op, layout, along)
    if digits and digits[0].kind == "registers":  # neighbours, mostly: added up once
        first, *digits = digits
        _, values, totals = scan.over_registers(first, values)
    else:
        first, totals = Digit(None), values

    def row(key: _Key) -> tuple[int, ...]:
        return tuple(at for dim, at in enumerate(places[key]) if dim != along)

    before, totals = scan.before(digits, totals, lambda key: start[row(key)])
    made = {places[key]: scan.join(before[first.above(key)], each) for key, each in values.items()}
    em.set_fragment(op.results[0], Fragment(em.layout(op.results[0]), made))
    if is_total:
        rows = {row(key): scan.join(start[row(key)], total) for key, total in totals.items()}
        em.set_fragment(op.results[1], Fragment(em.layout(op.results[1]), rows))


class Digit(NamedTuple):
    """An axis of registers, by its number, or thread bits of one kind from the lowest step to the highest."""

    axis: int | None
    bits: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """What has the digit."""
        return "registers" if self.axis is not None else "lanes" if self.bits[0] < LANE_BITS else "warps"

    def above(self, key: _Key) -> _Key:
        """The part that a part belongs to."""
        return tuple(0 if axis == self.axis else number for axis, number in enumerate(key))


def digits_of(op: ir.Operation, layout: Layout, along: int) -> list[Digit]:
    """The digits of a layout along a dim, the lowest first."""
    found = [(axis.step, axis.extent, Digit(number)) for number, axis in enumerate(layout.registers)]
    found += [(step, 2, Digit(None, (bit,))) for bit, step in enumerate(layout.bits)]
    found = sorted((each for each in found if each[0][along]), key=lambda each: each[0][along])
    reach = 0
    for step, extent, _ in found:
        if step[along] <= reach or sum(map(bool, step)) > 1:
            raise PassError(op, f"distribute: {layout} has no digits along dim {along}, which a scan needs")
        reach += (extent - 1) * step[along]
    digits = []
    for _, alike in groupby((digit for *_, digit in found), key=lambda digit: (digit.axis, digit.kind)):
        first, *others = alike
        digits.append(Digit(first.axis, sum((digit.bits for digit in others), first.bits)))
    return digits


@dataclass(frozen=True)
class _Scan:
    """``owns`` are the thread bits that tell rows apart; ``is_total``: whether totals of rows are read."""

    em: Emitter
    kind: str
    owns: Sequence[int]
    is_total: bool

    def join(self, before: ir.Value, own: ir.Value) -> ir.Value:
        """What comes before a part, and the part itself."""
        return combine(self.em.build, self.kind, before, own)

    def before(
        self, digits: Sequence[Digit], values: _Values, start: Callable[[_Key], ir.Value]
    ) -> tuple[_Values, _Values]:
        """What comes before each part in its row, from ``start`` on, and the totals of the rows' parts."""
        if not digits:
            return {key: start(key) for key in values}, values
        first, *rest = digits
        if first.kind == "registers":
            own, _, totals = self.over_registers(first, values)
        elif first.kind == "lanes":
            own, totals = self._over_lanes(first.bits, values)
        else:
            own, totals = self._over_warps(first.bits, values, needs_all=bool(rest) or self.is_total)
        above, totals = self.before(rest, totals, start)
        found = {}
        for key in values:
            far, near = above[first.above(key)], own.get(key)
            found[key] = far if near is None else self.join(far, near)
        return found, totals

    def over_registers(self, digit: Digit, values: _Values) -> tuple[_Values, _Values, _Values]:
        """What comes before each part but the first, the same with the part, and what is above them."""
        before, through = {}, {}
        totals: dict[_Key, ir.Value] = {}
        for key in sorted(values):
            known = totals.get(digit.above(key))
            if known is not None:
                before[key] = known
            through[key] = totals[digit.above(key)] = (
                values[key] if known is None else self.join(known, values[key])
            )
        return before, through, totals

    def _over_lanes(self, bits: Sequence[int], values: _Values) -> tuple[_Values, _Values]:
        build = self.em.build
        before, totals = {}, dict(values)
        for key, total in values.items():
            own = neutral(build, self.kind, total.type)
            for number, bit in enumerate(bits):
                other = shuffle(build, total, 1 << bit)
                more = other if number == 0 else self.join(other, own)
                own = build.op("arith.select", [self._has(bit), more, own], own.type)
                total = self.join(total, other)
            before[key], totals[key] = own, total
        return before, totals

    def _over_warps(self, bits: Sequence[int], values: _Values, needs_all: bool) -> tuple[_Values, _Values]:
        """Each thread adds up the totals of the warps before its own, and of all, if that is needed."""
        em, build = self.em, self.em.build
        parts, lanes = exchange(em, list(values.values()), bits, self.owns)
        steps = {bit: 1 << number for number, bit in enumerate(bits)}
        mine = self._place(steps)
        theirs = self._place({lane: steps[bit] for lane, bit in zip(lanes, bits, strict=False)})
        before, totals = {}, {}
        for key, some in zip(values, parts, strict=True):
            none = neutral(build, self.kind, some[0].type)
            earlier = [
                build.op(
                    "arith.select",
                    [build.truth(build.less(build.add(theirs, number << len(lanes)), mine)), each, none],
                    each.type,
                )
                for number, each in enumerate(some)
            ]
            before[key] = over_lanes(em, self.kind, tree(build, self.kind, earlier), lanes)
            if needs_all:
                totals[key] = over_lanes(em, self.kind, tree(build, self.kind, some), lanes)
        return before, totals if needs_all else values

    def _place(self, steps: Mapping[int, int]) -> Number:
        """A number of some of the thread's bits."""
        count = LANE_BITS + self.em.warps.bit_length() - 1
        return self.em.thread(Layout(1, (), tuple((steps.get(bit, 0),) for bit in range(count))), 0)

    def _has(self, bit: int) -> ir.Value:
        """Whether a bit of the thread's number is set."""
        build, value = self.em.build, self.em.build.number(build_bits(self.em, bit, 1))
        return self.em.at_entry(("has", bit), lambda: build.equal(value, build.constant(value.type, 1)))
