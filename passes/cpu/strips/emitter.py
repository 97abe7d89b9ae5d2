"""Emits tiles strip by strip, on demand, each value once a level of the loop nest.

`Emitter.emit` gives a tile's `Fragment` at a strip: looked up among what the open loops have
already emitted, else by the op's rule. New ops go into the outermost open loop whose
induction variables they depend on, right before the loop inside it that asks: what does not
change in a loop is never emitted inside it. A reduction asked for in a lane loop thus gets
its own loop before that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, memref, scf

from ...base import PassError
from ...constants import integer_of
from .borders import Border
from .fragment import UNIT, Axis, Fragment, Strip, is_vector, sizes_of
from .registry import rule_of
from .types import bytes_of

if TYPE_CHECKING:
    from .blocked import Sums
    from .layout import Layout
    from .panel import PanelPlan
    from .scan import Columns
    from .scratch import Scratch


@dataclass
class Level:
    """One open loop of the code being built (the first: the scf.forall's body)."""

    block: ir.Block
    anchor: ir.Operation | ir.OpView | None
    memo: dict[tuple[ir.Value, Strip], Fragment] = field(default_factory=dict)
    panels: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)
    padding: dict[tuple[object, ...], Fragment] = field(default_factory=dict)

    def here(self) -> ir.InsertionPoint:
        """Where the next op of this level goes."""
        return ir.InsertionPoint(self.block if self.anchor is None else self.anchor)


class Emitter:
    """The state of strip-mining one scf.forall's body, for a CPU with registers of ``vector_bits``.

    ``lanes``: the lanes of a full strip.
    """

    def __init__(self, block: ir.Block, layout: Layout, vector_bits: int) -> None:
        self.layout = layout
        self.vector_bits = vector_bits
        self.lanes = 1
        self.scratches: dict[ir.Value, Scratch | Sums] = {}
        self.packed: dict[ir.Operation, PanelPlan] = {}
        self.totals: dict[ir.Operation, ir.Value | Columns] = {}
        self.block: tuple[ir.Value, ir.Value] | None = None
        self.border = Border()
        self.panel_memory: dict[tuple[object, ...], ir.Value] = {}
        self.levels = [Level(block, block.operations[len(block.operations) - 1])]
        self._first = block.operations[0]
        self._scratch_bytes = 0
        self._depths: dict[ir.Value, int] = {}
        self._open: dict[ir.Operation, int] = {}
        self._constants: dict[tuple[ir.Type, str], ir.Value] = {}
        self._tiled: dict[ir.Value, bool] = {}

    # Emission.

    def emit(self, value: ir.Value, strip: Strip = ()) -> Fragment:
        """The values of ``value`` at ``strip``."""
        strip = normal_strip(value, strip)
        for level in self.levels:
            if (value, strip) in level.memo:
                return level.memo[value, strip]
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self._emit_argument(value, owner)
        op = owner.opview
        if not is_vector(value) and not self._emits_scalar(value):
            return Fragment({(): value})
        scratch = self.scratches.get(value)
        filled = scratch.filled if scratch else None
        buffer = scratch.buffer_at(self, strip) if scratch and not filled else filled
        depth = max(self.home_of(value, strip), buffer.depth if buffer else 0)
        with self.at_level(depth):
            if buffer and not filled:
                fragment = buffer.load(self, strip)
            else:
                with op.location:
                    fragment = rule_of(op).emit(self, value, strip)
                if filled:
                    filled.store(self, strip, fragment)
            self.levels[depth].memo[value, strip] = fragment
        return fragment

    def scalar(self, value: ir.Value) -> ir.Value:
        """A scalar of the tile IR in the code being built."""
        return self.emit(value)[()]

    def remember(self, value: ir.Value, strip: Strip, fragment: Fragment) -> None:
        """Let later requests in the innermost open loop find this fragment."""
        self.levels[-1].memo[value, normal_strip(value, strip)] = fragment

    def _emit_argument(self, value: ir.Value, owner: ir.Block) -> Fragment:
        if is_vector(value) or owner.owner.operation.name == "scf.for":
            raise PassError(
                owner.owner,
                "strip-mine: a loop-carried tile is used at other positions than "
                "it is carried at; reductions over it inside the loop are not possible",
            )
        return Fragment({(): value})

    def _emits_scalar(self, value: ir.Value) -> bool:
        """Whether a scalar is made from tiles or inside a loop of the tile IR."""
        if value not in self._tiled:
            owner = value.owner
            if isinstance(owner, ir.Block):
                self._tiled[value] = owner.owner.operation.name == "scf.for"
            else:
                # What stands in such a loop goes with it, whether or not it depends on it.
                self._tiled[value] = owner.parent.name == "scf.for" or any(
                    is_vector(operand) or self._emits_scalar(operand) for operand in owner.operands
                )
        return self._tiled[value]

    # Levels.

    def here(self) -> ir.InsertionPoint:
        """Where the next op goes."""
        return self.levels[-1].here()

    @property
    def depth(self) -> int:
        """The number of the innermost open loop."""
        return len(self.levels) - 1

    def depth_of(self, axis: Axis) -> int:
        """The innermost open loop that an axis depends on."""
        values = [v for v in (axis.base, axis.limit) if isinstance(v, ir.Value)]
        return max((self._depths.get(value, 0) for value in values), default=0)

    def home_of(self, value: ir.Value, strip: Strip) -> int:
        """The innermost open loop that an op's result at ``strip`` depends on."""
        return max(self._depth_of_strip(strip), self.scope_of(value.owner.opview))

    def _depth_of_strip(self, strip: Strip) -> int:
        return max((self.depth_of(axis) for axis in strip), default=0)

    def place(self, value: ir.Value) -> ir.Value:
        """Note that a position just made belongs to the innermost open loop."""
        self._depths[value] = self.depth
        return value

    def scope_of(self, op: ir.OpView) -> int:
        """The innermost open loop that stands for a loop of the tile IR around an op."""
        parent = op.operation.parent
        while parent is not None and parent.name == "scf.for":
            if parent.operation in self._open:
                return self._open[parent.operation]
            raise PassError(op, "strip-mine: a value of a loop body is used outside of the loop")
        return 0

    @contextmanager
    def at_level(self, depth: int) -> Iterator[None]:
        """Emit into the loop number ``depth`` instead of the innermost one."""
        inner = self.levels
        self.levels = inner[: depth + 1]
        try:
            yield
        finally:
            self.levels = inner

    @contextmanager
    def loop(
        self,
        lower: ir.Value,
        upper: ir.Value,
        step: ir.Value,
        carried: Sequence[ir.Value] = (),
        source: scf.ForOp | None = None,
    ) -> Iterator[scf.ForOp]:
        """An scf.for that is built inside the context; one that carries values is ended by `close`.

        ``source`` is the loop of the tile IR that it stands for.
        """
        parent = self.levels[-1]
        with parent.here():
            op = scf.ForOp(lower, upper, step, list(carried))
        level = Level(op.body, None)
        if not carried:
            with ir.InsertionPoint(op.body):
                level.anchor = scf.YieldOp([])
        anchor, parent.anchor = parent.anchor, op
        self.levels.append(level)
        self.place(op.induction_variable)
        if source is not None:
            self._open[source.operation] = self.depth
        try:
            yield op
        finally:
            if source is not None:
                del self._open[source.operation]
            self.levels.pop()
            parent.anchor = anchor

    @contextmanager
    def branch(self, condition: ir.Value, kinds: Sequence[ir.Type]) -> Iterator[scf.IfOp]:
        """An scf.if whose first block is built inside the context and ended by `close`."""
        parent = self.levels[-1]
        with parent.here():
            op = scf.IfOp(condition, list(kinds), has_else=True)
        anchor, parent.anchor = parent.anchor, op
        self.levels.append(Level(op.then_block, None))
        try:
            yield op
        finally:
            self.levels.pop()
            parent.anchor = anchor

    def close(self, values: Sequence[ir.Value]) -> None:
        """End the innermost loop or branch, which hands ``values`` on."""
        with self.here():
            scf.YieldOp(list(values))

    # Small values.

    def constant(self, attribute: ir.Attribute, kind: ir.Type) -> ir.Value:
        """A constant, made once at the start of the scf.forall's body."""
        key = (kind, str(attribute))
        if key not in self._constants:
            with self.at_start():
                self._constants[key] = arith.ConstantOp(kind, attribute).result
        return self._constants[key]

    def at_start(self) -> ir.InsertionPoint:
        """The start of the scf.forall's body: constants and scratch memory."""
        return ir.InsertionPoint(self._first)

    def allocate(self, kind: ir.MemRefType, most: int | None = None) -> ir.Value | None:
        """Scratch memory of the task; None if it would have more than ``most`` bytes of it then."""
        size = prod(kind.shape) * bytes_of(kind.element_type)
        if most is not None and self._scratch_bytes + size > most:
            return None
        self._scratch_bytes += size
        with self.at_start():
            return memref.AllocaOp(kind, [], [], alignment=64).result

    def index(self, number: int) -> ir.Value:
        """An index constant."""
        kind = ir.IndexType.get()
        return self.constant(ir.IntegerAttr.get(kind, number), kind)

    def plus(self, value: ir.Value | None, number: int) -> ir.Value:
        """``value + number``, an index."""
        if value is None:
            return self.index(number)
        return value if number == 0 else self.sum(value, self.index(number))

    def sum(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """The sum of two indices."""
        numbers = integer_of(left), integer_of(right)
        if numbers[0] is not None and numbers[1] is not None:
            return self.index(numbers[0] + numbers[1])
        if 0 in numbers:
            return right if numbers[0] == 0 else left
        with self.here():
            return arith.AddIOp(left, right).result

    def position(self, axis: Axis, step: int = 0) -> ir.Value:
        """The ``step``-th position of an axis, as an index into the tile."""
        return self.plus(axis.base, axis.offset + step * max(axis.lanes, 1))


def normal_strip(value: ir.Value, strip: Strip) -> Strip:
    """The strip with the axes of unit dims made equal, so that equal requests are found again."""
    return tuple(UNIT if size == 1 else axis for size, axis in zip(sizes_of(value), strip, strict=True))
