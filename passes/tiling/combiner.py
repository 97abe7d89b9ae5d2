"""What a reduction's body does: for each result, a value of the inputs and the op that combines it.

``sum of exp(x - m)`` yields ``acc + exp(x - m)``: element ``exp(x - m)``, combined by addition. Bodies whose
results depend on each other (argmax) have no such form.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, vector

from ..combining import KINDS, neutral_of
from ..operations import attributes_of
from .access import Nest


@dataclass(frozen=True)
class Combiner:
    """``acc = op(acc, element)``; ``element`` is a value of the body."""

    op: ir.Operation
    element: ir.Value
    wide: ir.Type  # the type that the accumulator has
    narrow: ir.Type  # the type of the result

    @property
    def kind(self) -> vector.CombiningKind:
        """The same as a reduction of the vector dialect."""
        return getattr(vector.CombiningKind, KINDS[self.op.name].upper())

    def combine(self, accumulator: ir.Value, element: ir.Value) -> ir.Value:
        """One step, on vectors."""
        attributes = attributes_of(self.op)
        return ir.Operation.create(
            self.op.name, [accumulator.type], [accumulator, element], attributes
        ).results[0]

    def neutral(self) -> ir.Attribute:
        """The element that changes nothing."""
        return neutral_of(KINDS[self.op.name], self.wide)


def combiners(nest: Nest) -> list[Combiner] | None:
    """One `Combiner` a result, or None if the body has another form."""
    assert nest.body is not None
    arguments = list(nest.body.arguments)
    accumulators = arguments[len(arguments) - len(nest.writes) :]
    yielded = nest.body.operations[len(nest.body.operations) - 1].operands
    found = []
    for value, accumulator in zip(yielded, accumulators, strict=True):
        combiner = _combiner(nest, value, accumulator)
        if combiner is None:
            return None
        found.append(combiner)
    return found


def _combiner(nest: Nest, value: ir.Value, accumulator: ir.Value) -> Combiner | None:
    if len(list(accumulator.uses)) != 1:
        return None
    narrow = value.type
    value, accumulator = _as_truth(value, accumulator)
    op = value.owner
    if isinstance(op, ir.Block) or op.name not in KINDS or op.operation.block != nest.body:
        return None
    if accumulator not in list(op.operands):
        return None
    one, other = op.operands
    # The accumulator's one use is here: the element depends on no accumulator, but perhaps on another
    # result's, which then has two uses and is refused in its turn.
    return Combiner(op.operation, other if one == accumulator else one, wide_type(op.name, narrow), narrow)


def _as_truth(value: ir.Value, accumulator: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Look through the i8 that a truth value is stored in: "any" combines i1."""
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "arith.extui" or str(op.operands[0].type) != "i1":
        return value, accumulator
    (use,) = accumulator.uses
    read = use.owner
    if read.name not in ("arith.trunci", "arith.cmpi") or str(read.results[0].type) != "i1":
        return value, accumulator
    if read.name == "arith.cmpi" and read.attributes["predicate"].value != arith.CmpIPredicate.ne:
        return value, accumulator
    return op.operands[0], read.results[0]


def wide_type(op_name: str, element: ir.Type) -> ir.Type:
    """The type to accumulate in: sums and products of half floats lose too much in their own."""
    if op_name in ("arith.addf", "arith.mulf") and isinstance(element, (ir.F16Type, ir.BF16Type)):
        return ir.F32Type.get()
    return element


def convert(value: ir.Value, element: ir.Type) -> ir.Value:
    """A scalar or vector with another element type of the same kind; integers are signed, i1 is 0 or 1."""
    vector_type = value.type if isinstance(value.type, ir.VectorType) else None
    now = vector_type.element_type if vector_type else value.type
    if now == element:
        return value
    kind = ir.VectorType.get(vector_type.shape, element) if vector_type else element
    wider = element.width > now.width
    if wider and now.width == 1:
        return arith.ExtUIOp(kind, value).result
    if isinstance(element, ir.FloatType):
        return (arith.ExtFOp if wider else arith.TruncFOp)(kind, value).result
    return (arith.ExtSIOp if wider else arith.TruncIOp)(kind, value).result
