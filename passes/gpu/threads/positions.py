"""Which numbers the positions in a kernel can be: all that its ops may make of sizes, tasks and steps.

Sound by construction: nothing is known of what no rule here makes, nor of what is made of it. The positions
in a tile include those behind its end: a layout has a power of two of them along a dim.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ...affine import fold_affine
from ...constants import integer_of
from ...operations import defining_op
from ..layouts.tiles import sizes_of
from ..layouts.warps import CONSUMERS
from .grid import Loops
from .intervals import Known, below, combine, hull

CASTS = ("arith.index_cast", "arith.index_castui")
_SAME = (
    *("vector.broadcast", "vector.shape_cast", "vector.transpose", "vector.extract", "mlopt.convert_layout"),
    *("vector.deinterleave", "vector.interleave", "vector.from_elements"),
)
_SLT, _SGE, _ULT = 2, 5, 6  # arith.cmpi's predicates


class Positions:
    """The intervals of all indices, scalars and tiles of them: `of`; ``made`` are those of all on the way."""

    def __init__(self, block: ir.Block) -> None:
        self._known: dict[ir.Value, Known] = {}
        self.made: list[Known] = []
        self._tasks: int | None = None  # of the scf.forall
        self._enter(block)

    def of(self, value: ir.Value) -> Known:
        """What is known of an index."""
        return self._known.get(value)

    def _set(self, value: ir.Value, known: Known) -> None:
        if is_index(value):
            self._known[value] = known
            self.made.append(known)

    def _enter(self, block: ir.Block) -> None:
        for each in block.operations:
            op = each.operation
            if op.name == "scf.forall":
                self._enter_tasks(op)
            elif op.name == "scf.for":
                self._enter_loop(op)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self._enter(inner)
                for number, result in enumerate(op.results):
                    if is_index(result):
                        self._enter_result(op, number)

    def _enter_tasks(self, op: ir.Operation) -> None:
        body, loops = op.regions[0].blocks[0], Loops.of(op)
        self._tasks = loops.static_count()
        for argument, bound, step in zip(list(body.arguments), loops.bounds, loops.steps, strict=False):
            self._set(argument, self._until((0, 0), self._number(bound), (step, step)))
        self._enter(body)

    def _enter_loop(self, op: ir.Operation) -> None:
        """Its body, with what it carries: where that does not stay in its interval, it is not known."""
        body, starts = op.regions[0].blocks[0], list(op.operands)[3:]
        variable = self._until(*(self.of(bound) for bound in list(op.operands)[:3]))
        before, carried = len(self.made), [self.of(start) for start in starts]
        for widest in (False, True, True):
            del self.made[before:]
            for value, known in zip(list(body.arguments), [variable, *carried], strict=True):
                self._set(value, known)
            self._enter(body)
            ends = [self.of(value) for value in list(body.operations)[-1].operands]
            reached = [hull(*both) for both in zip(carried, ends, strict=True)]
            if reached == carried:
                break
            carried = [None] * len(carried) if widest else reached
        for result, known in zip(op.results, carried, strict=True):
            self._set(result, known)

    def _until(self, first: Known, end: Known, step: Known) -> Known:
        """A loop's variable; the last step is made from it, too."""
        if step is None or step[0] < 1:
            return None
        variable = below(hull(first, end), end)
        self.made.append(combine("+", variable, step))
        return variable

    def _number(self, bound: int | ir.Value) -> Known:
        return (bound, bound) if isinstance(bound, int) else self.of(bound)

    def _enter_result(self, op: ir.Operation, number: int) -> None:
        result = op.results[number]
        if op.name in CASTS:
            kind = _element(op.operands[0])
            self._known[result] = _numbers(kind, is_signed=op.name == CASTS[0])
            if kind.width <= 32:  # others may be compared before they are taken for positions (`index_type`)
                self.made.append(self.of(result))
            return
        self._set(result, self._result(op, number))

    def _result(self, op: ir.Operation, number: int) -> Known:
        operands = list(op.operands)
        if op.name == "arith.constant":
            return _constant(op.attributes["value"])
        if op.name == "vector.step":
            return 0, (1 << (sizes_of(op.results[0])[0] - 1).bit_length()) - 1
        if op.name in _SAME:
            return hull(*map(self.of, operands))
        if op.name == "arith.select":
            condition, chosen, other = operands
            return hull(self._where(condition, chosen), self.of(other))
        if op.name == "memref.dim":
            return self._size(op)
        if op.name == "mlopt.turns":
            return None if self._tasks is None else (1, max(self._tasks, 1))
        if op.name == "mlopt.consumer":
            return 0, CONSUMERS - 1
        if op.name == "scf.if":
            return hull(
                *(self.of(list(each.blocks[0].operations)[-1].operands[number]) for each in op.regions)
            )
        if op.name.startswith("affine."):
            return self._affine(op)
        return combine(op.name, *map(self.of, operands)) if len(operands) == 2 else None

    def _where(self, condition: ir.Value, value: ir.Value) -> Known:
        """What a value is where it is below a limit, which ``condition`` asks."""
        known, check = self.of(value), defining_op(condition, "arith.cmpi")
        if check is None or check.operands[0] != value:
            return known
        limit, predicate = self.of(check.operands[1]), ir.IntegerAttr(check.attributes["predicate"]).value
        if predicate == _ULT and limit is not None and limit[0] >= 0:
            return below((0, limit[1]), limit)
        return below(known, limit) if predicate == _SLT else known

    def _size(self, op: ir.Operation) -> Known:
        dim, shape = integer_of(op.operands[1]), ir.MemRefType(op.operands[0].type).shape
        if dim is None or shape[dim] == ir.ShapedType.get_dynamic_size():
            return None
        return shape[dim], shape[dim]

    def _affine(self, op: ir.Operation) -> Known:
        """An affine map of one result, or the least or greatest of several."""
        where = ir.AffineMapAttr(op.attributes["map"]).value
        operands = [self.of(operand) for operand in op.operands]

        def constant(number: int) -> Known:
            return number, number

        def part(kind: str, one: Known, other: Known) -> Known:
            made = combine(kind, one, other)
            self.made.append(made)
            if kind == "ceildiv":  # the sum before it is divided
                self.made.append(combine("+", one, other))
            return made

        results = [fold_affine(expr, operands, where.n_dims, constant, part) for expr in where.results]
        kinds = {"affine.min": "arith.minsi", "affine.max": "arith.maxsi"}
        total = results[0]
        for other in results[1:]:
            total = combine(kinds[op.name], total, other)
        return total


def is_index(value: ir.Value) -> bool:
    """Whether a value is an index, or a tile of indices."""
    return isinstance(_element(value), ir.IndexType)


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def _numbers(kind: ir.Type, *, is_signed: bool) -> Known:
    """All numbers of an integer type; nothing of those of 64 bits, which positions have, too."""
    if kind.width > 32:
        return None
    half = 1 << (kind.width - 1)
    return (-half, half - 1) if is_signed else (0, 2 * half - 1)


def _constant(attribute: ir.Attribute) -> Known:
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value, attribute.value
    if not isinstance(attribute, ir.DenseIntElementsAttr) or not len(attribute):
        return None
    numbers: Sequence[int] = [int(number) for number in attribute]
    return min(numbers), max(numbers)
