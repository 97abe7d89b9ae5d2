"""Writes scalar ops of a device function: index arithmetic, with numbers folded, memory, branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from mlir import ir
from mlir.dialects import scf

from ...constants import integer_of
from ...operations import defining_op

Number: TypeAlias = int | ir.Value
Truth: TypeAlias = bool | ir.Value

_EQ, _NE, _SLT, _ULT, _SGE = 0, 1, 2, 6, 5
_NO_WRAP = "#arith.overflow<nsw>"
_DYNAMIC_INDEX = -(1 << 31)  # llvm.getelementptr's mark of an index that is an operand
_MOST = (1 << 31) - 1


class Builder:
    """Ops go to the current insertion point, constants to the function's beginning, each once.

    ``index`` is the integer type of positions: i32 where the kernel's sizes allow, else i64.
    """

    def __init__(self, entry: ir.Operation, index: ir.Type) -> None:
        self._entry = entry
        self.index = index
        self._constants: dict[tuple[ir.Type, str], ir.Value] = {}  # by attribute
        self._numbers: dict[tuple[ir.Type, str], ir.Value] = {}  # the same, by number
        self._no_wrap = ir.Attribute.parse(_NO_WRAP)
        self.pointer = ir.Type.parse("!llvm.ptr")

    # -- ops --

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type | None = None,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """An op with one result, of the type of its first operand unless ``result`` says another."""
        kind = operands[0].type if result is None else result
        return ir.Operation.create(name, [kind], operands, attributes).result

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """Write to the function's beginning."""
        with ir.InsertionPoint(self._entry):
            yield

    def constant(self, kind: ir.Type, value: int | float | ir.Attribute) -> ir.Value:
        """A scalar constant."""
        if isinstance(value, ir.Attribute):
            return self._constant(kind, value)
        known = (kind, repr(value))  # 0.0 is equal to -0.0
        if known not in self._numbers:
            is_float = isinstance(kind, ir.FloatType)
            made = ir.FloatAttr.get(kind, float(value)) if is_float else ir.IntegerAttr.get(kind, int(value))
            self._numbers[known] = self._constant(kind, made)
        return self._numbers[known]

    def _constant(self, kind: ir.Type, attribute: ir.Attribute) -> ir.Value:
        key = (kind, str(attribute))
        if key not in self._constants:
            with self.at_entry():
                self._constants[key] = self.op("arith.constant", [], kind, {"value": attribute})
        return self._constants[key]

    def zero(self, kind: ir.Type) -> ir.Value:
        """The zero of a scalar's type, or of a short vector's."""
        if not isinstance(kind, ir.VectorType):
            return self.constant(kind, 0)
        zero = self.constant(kind.element_type, 0)
        return self.op("vector.broadcast", [zero], kind)

    # -- index arithmetic --

    def number(self, value: Number) -> ir.Value:
        """A number as a value of the index type, which has it (`index_type`)."""
        if not isinstance(value, int):
            return value
        assert -1 << (self.index.width - 1) <= value < 1 << (self.index.width - 1), f"{value} fits"
        return self.constant(self.index, value)

    def word(self, value: Number) -> ir.Value:
        """A number in 32 bits."""
        kind = ir.IntegerType.get_signless(32)
        if isinstance(value, int):
            return self.constant(kind, value)
        return value if value.type == kind else self.op("arith.trunci", [value], kind)

    def add(self, one: Number, other: Number) -> Number:
        """The sum of two positions."""
        if isinstance(one, int) and isinstance(other, int):
            return one + other
        if isinstance(one, int):
            one, other = other, one
        if isinstance(other, int) and other == 0:
            return one
        whole = None if isinstance(other, int) else self._whole(one, other)
        return self._arith("arith.addi", one, other) if whole is None else whole

    def _whole(self, one: ir.Value, other: ir.Value) -> Number | None:
        """x * c + k for (x // n) * (n * c) + ((x % n) * c + k): where a row begins and what is in it."""
        (row, width), (rest, more) = _parts(one, "arith.muli", 1), _parts(other, "arith.addi", 0)
        place, times = _parts(rest, "arith.muli", 1)
        div, rem = defining_op(row, "arith.divui"), defining_op(place, "arith.remui")
        if div is None or rem is None or list(div.operands) != list(rem.operands):
            return None
        count = integer_of(div.operands[1])
        if count is None or width != count * times:
            return None
        return self.add(self.mul(div.operands[0], times), more)

    def sub(self, one: Number, other: Number) -> Number:
        """The difference of two positions."""
        if isinstance(other, int):
            return self.add(one, -other)
        return self._arith("arith.subi", one, other)

    def mul(self, one: Number, other: Number) -> Number:
        """The product of two positions."""
        if isinstance(one, int) and isinstance(other, int):
            return one * other
        if isinstance(one, int):
            one, other = other, one
        if isinstance(other, int) and other in (0, 1):
            return one if other else 0
        return self._arith("arith.muli", one, other)

    def div(self, one: Number, other: Number) -> Number:
        """The quotient of two positions that are not negative."""
        if isinstance(one, int) and isinstance(other, int):
            return one // other
        if isinstance(other, int) and other == 1:
            return one
        return self.op("arith.divui", [self.number(one), self.number(other)])

    def rem(self, one: Number, other: Number) -> Number:
        """The remainder of two positions that are not negative."""
        if isinstance(one, int) and isinstance(other, int):
            return one % other
        if isinstance(other, int) and other == 1:
            return 0
        return self.op("arith.remui", [self.number(one), self.number(other)])

    def xor(self, one: Number, other: Number) -> Number:
        """Two positions that are not negative, bit by bit: the bits that one of them has."""
        if isinstance(one, int) and isinstance(other, int):
            return one ^ other
        if isinstance(one, int):
            one, other = other, one
        if isinstance(other, int) and other == 0:
            return one
        return self.op("arith.xori", [self.number(one), self.number(other)])

    def least(self, one: Number, other: Number) -> Number:
        """The smaller of two positions."""
        if isinstance(one, int) and isinstance(other, int):
            return min(one, other)
        return self.op("arith.minsi", [self.number(one), self.number(other)])

    def most(self, one: Number, other: Number) -> Number:
        """The larger of two positions."""
        if isinstance(one, int) and isinstance(other, int):
            return max(one, other)
        return self.op("arith.maxsi", [self.number(one), self.number(other)])

    def pick(self, condition: Truth, one: Number, other: Number) -> Number:
        """One position if the condition holds, else the other."""
        if isinstance(condition, bool):
            return one if condition else other
        if isinstance(one, int) and one == other:
            return one
        return self.op("arith.select", [condition, self.number(one), self.number(other)], self.index)

    def _arith(self, name: str, one: Number, other: Number) -> ir.Value:
        return self.op(name, [self.number(one), self.number(other)], None, {"overflowFlags": self._no_wrap})

    # -- truth --

    def less(self, one: Number, other: Number) -> Truth:
        """Whether a position is below a limit; a negative one is not."""
        if isinstance(one, int) and isinstance(other, int):
            return 0 <= one < other
        return self.compare(_ULT, self.number(one), self.number(other))

    def signed_less(self, one: ir.Value, other: ir.Value) -> ir.Value:
        """Whether a signed number is below another one."""
        return self.compare(_SLT, one, other)

    def negative(self, value: ir.Value) -> ir.Value:
        """Whether a signed number is below zero."""
        return self.compare(_SLT, value, self.constant(value.type, 0))

    def equal(self, one: ir.Value, other: ir.Value) -> ir.Value:
        """Whether two integers are the same."""
        return self.compare(_EQ, one, other)

    def compare(self, predicate: int, one: ir.Value, other: ir.Value) -> ir.Value:
        """arith.cmpi."""
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
        truth = ir.IntegerType.get_signless(1)
        return self.op("arith.cmpi", [one, other], truth, {"predicate": number})

    def both(self, one: Truth, other: Truth) -> Truth:
        """Whether both hold."""
        if isinstance(one, bool):
            return other if one else False
        if isinstance(other, bool):
            return one if other else False
        return self.op("arith.andi", [one, other])

    def either(self, one: Truth, other: Truth) -> Truth:
        """Whether one holds, or both do."""
        if isinstance(one, bool):
            return True if one else other
        if isinstance(other, bool):
            return True if other else one
        return self.op("arith.ori", [one, other])

    def opposite(self, value: Truth) -> Truth:
        """Whether this does not hold."""
        if isinstance(value, bool):
            return not value
        return self.op("arith.xori", [value, self.truth(True)])

    def pick_truth(self, condition: Truth, one: Truth, other: Truth) -> Truth:
        """Whether one holds if the condition does, else whether the other does."""
        if isinstance(condition, bool):
            return one if condition else other
        if one is True and other is True:
            return True
        return self.op("arith.select", [condition, self.truth(one), self.truth(other)], self.truth(one).type)

    def truth(self, value: Truth) -> ir.Value:
        """A truth value as an i1."""
        return self.constant(ir.IntegerType.get_signless(1), int(value)) if isinstance(value, bool) else value

    def choose(
        self,
        condition: Truth,
        results: Sequence[ir.Type],
        then: Callable[[], Sequence[ir.Value]],
        other: Callable[[], Sequence[ir.Value]] | None = None,
    ) -> list[ir.Value]:
        """What ``then`` makes if the condition holds, else what ``other`` makes, in an scf.if."""
        if isinstance(condition, bool):
            chosen = then if condition else other
            return list(chosen()) if chosen is not None else []
        branch = scf.IfOp(condition, list(results), has_else=other is not None)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(list(then()))
        if other is not None:
            with ir.InsertionPoint(branch.else_block):
                scf.YieldOp(list(other()))
        return list(branch.results)

    # -- memory --

    def offset(self, pointer: ir.Value, element: ir.Type, by: Number) -> ir.Value:
        """A pointer ``by`` elements further on."""
        if isinstance(by, int) and by == 0:
            return pointer
        if isinstance(by, int) and abs(by) > _MOST:
            by = self.constant(ir.IntegerType.get_signless(64), by)
        operands = [pointer] if isinstance(by, int) else [pointer, by]
        constants = [by if isinstance(by, int) else _DYNAMIC_INDEX]
        return self.op(
            "llvm.getelementptr",
            operands,
            pointer.type,
            {
                "rawConstantIndices": ir.DenseI32ArrayAttr.get(constants),
                "elem_type": ir.TypeAttr.get(element),
            },
        )

    def load(
        self, pointer: ir.Value, element: ir.Type, width: int, align: int, constant: bool
    ) -> list[ir.Value]:
        """``width`` neighbours; ``align`` divides the address, where memory is ``constant`` nobody writes."""
        kind = element if width == 1 else ir.VectorType.get([width], element)
        attributes: dict[str, ir.Attribute] = {"alignment": _integer(align)}
        if constant:
            attributes["invariant"] = ir.UnitAttr.get()
        loaded = self.op("llvm.load", [pointer], kind, attributes)
        return [loaded] if width == 1 else self.elements(loaded)

    def store(self, values: Sequence[ir.Value], pointer: ir.Value, align: int) -> None:
        """Neighbours, stored at once."""
        value = values[0] if len(values) == 1 else self.vector(values)
        ir.Operation.create("llvm.store", [], [value, pointer], {"alignment": _integer(align)})

    def elements(self, vector: ir.Value) -> list[ir.Value]:
        """The elements of a short vector."""
        kind = ir.VectorType(vector.type)
        return [
            self.op(
                "vector.extract", [vector], kind.element_type,
                {"static_position": ir.DenseI64ArrayAttr.get([at])},
            )
            for at in range(kind.shape[0])
        ]  # fmt: skip

    def vector(self, values: Sequence[ir.Value]) -> ir.Value:
        """A short vector of scalars."""
        kind = ir.VectorType.get([len(values)], values[0].type)
        return self.op("vector.from_elements", list(values), kind)


def _parts(value: ir.Value, name: str, neutral: int) -> tuple[ir.Value, int]:
    """What an op makes of a value and a constant; of anything else itself and the ``neutral`` number."""
    op = defining_op(value, name)
    number = None if op is None else integer_of(op.operands[1])
    return (value, neutral) if op is None or number is None else (op.operands[0], number)


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
