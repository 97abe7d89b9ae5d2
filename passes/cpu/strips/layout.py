"""What a tile is made from, and along which of its dims memory is contiguous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mlir import ir

from ...combining import reduced_dims
from ...operations import nested_ops
from .dims import Dim, DimClasses
from .fragment import sizes_of
from .memory import memory_dims


class Layout:
    """The tiles of one scf.forall: their ops and the classes of their dims."""

    def __init__(self, block: ir.Block) -> None:
        self.classes = DimClasses(block)

    def made_from(self, value: ir.Value) -> list[ir.OpView]:
        """The ops that a tile depends on, loop bodies included, each before what it depends on."""
        found: dict[ir.Operation, ir.OpView] = {}
        pending = [value]
        while pending:
            owner = pending.pop().owner
            if isinstance(owner, ir.Block) or owner in found:
                continue
            found[owner] = owner.opview
            pending += owner.operands
            for region in owner.regions:
                for block in region.blocks:
                    for op in nested_ops(block):
                        found.setdefault(op, op.opview)
                        pending += op.operands
        return list(found.values())

    def contiguous(self, transfer: ir.OpView) -> Dim | None:
        """The class of the tile dim that a read has along memory's innermost dim."""
        if transfer.base.type.rank - 1 not in memory_dims(transfer):
            return None
        dim = memory_dims(transfer).index(transfer.base.type.rank - 1)
        tile = transfer.results[0]
        return None if sizes_of(tile)[dim] == 1 else self.classes.of(tile, dim)

    def innermost(self, value: ir.Value, dims: Sequence[int]) -> int:
        """The one of ``dims`` along which most of the memory that ``value`` reads is contiguous."""
        votes: Counter[Dim] = Counter()
        for op in self.made_from(value):
            if op.operation.name == "vector.transfer_read":
                found = self.contiguous(op)
                if found is not None:
                    votes[found] += 1
        return max(dims, key=lambda dim: (votes[self.classes.of(value, dim)], dim))

    def reads_of(self, values: Iterable[ir.Value]) -> list[ir.OpView]:
        """The reads that tiles are made from."""
        made = (op for value in values for op in self.made_from(value))
        return [op for op in made if op.operation.name == "vector.transfer_read"]

    def summed(self, value: ir.Value) -> set[Dim]:
        """The classes that reductions sum on the way to a tile, dims of one element left out."""
        found = set()
        for op in self.made_from(value):
            if op.operation.name == "vector.multi_reduction":
                sizes = sizes_of(op.source)
                found |= {self.classes.of(op.source, dim) for dim in reduced_dims(op) if sizes[dim] != 1}
        return found
