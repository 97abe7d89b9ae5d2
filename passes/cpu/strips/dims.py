"""Which dims of the tiles in a kernel are the same dim: union-find through the ops between them."""

from __future__ import annotations

from mlir import ir

from ...combining import kept_dims, rows_of_scan
from ...operations import nested_ops
from .fragment import sizes_of
from .reshape import POSITIONS

Dim = tuple[ir.Value, int]


class DimClasses:
    """Equivalence classes of (tile, dim); unit dims stay alone."""

    def __init__(self, block: ir.Block) -> None:
        self._parent: dict[Dim, Dim] = {}
        for op in nested_ops(block):
            self._visit(op.opview)

    def of(self, value: ir.Value, dim: int) -> Dim:
        """The representative of a dim's class."""
        node = (value, dim)
        while node in self._parent:
            node = self._parent[node]
        return node

    def all_of(self, value: ir.Value) -> list[Dim | None]:
        """The classes of a tile's dims; None for unit dims."""
        return [None if size == 1 else self.of(value, dim) for dim, size in enumerate(sizes_of(value))]

    def _join(self, left: Dim, right: Dim) -> None:
        a, b = self.of(*left), self.of(*right)
        if a != b:
            self._parent[a] = b

    def _join_all(self, left: ir.Value, right: ir.Value) -> None:
        for dim, (a, b) in enumerate(zip(sizes_of(left), sizes_of(right), strict=False)):
            if a == b != 1:
                self._join((left, dim), (right, dim))

    def _visit(self, op: ir.OpView) -> None:
        name = op.operation.name
        if name in POSITIONS:
            for dim, place in enumerate(POSITIONS[name](op)):
                if place is not None:
                    self._join((op.operands[0], dim), (op.results[0], place))
        elif name == "vector.multi_reduction":
            for place, dim in enumerate(kept_dims(op)):
                self._join((op.operands[0], dim), (op.results[0], place))
            self._join_all(op.operands[1], op.results[0])
        elif name == "vector.scan":
            self._join_all(op.operands[0], op.results[0])
            for place, dim in enumerate(rows_of_scan(op)):
                self._join((op.operands[0], dim), (op.operands[1], place))
        elif name == "vector.contract":
            self._join_contract(op)
        elif name == "scf.for":
            body = op.regions[0].blocks[0]
            yielded = body.operations[len(body.operations) - 1].operands
            for place, result in enumerate(op.results):
                for other in (op.operands[3 + place], body.arguments[1 + place], yielded[place]):
                    self._join_all(result, other)
        elif name.startswith(("arith.", "math.")):
            for operand in op.operands:
                self._join_all(operand, op.results[0])

    def _join_contract(self, op: ir.OpView) -> None:
        maps = [ir.AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]
        first: dict[int, Dim] = {}
        for value, indexing in zip((*op.operands[:3], op.results[0]), (*maps, maps[2]), strict=True):
            for dim, expression in enumerate(indexing.results):
                if sizes_of(value)[dim] == 1:
                    continue
                loop = ir.AffineDimExpr(expression).position
                self._join((value, dim), first.setdefault(loop, (value, dim)))
