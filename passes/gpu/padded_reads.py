"""`mlopt-gpu-padded-reads`: a read that begins below 0 is not in bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..base import Pass
from ..constants import integer_of
from ..operations import ops_named


@dataclass(frozen=True)
class PaddedReads(Pass):
    """Take back what upstream says of reads that begin at a number below 0.

    ::

        vector.transfer_read %x[%c-3], %pad {in_bounds = [true]} : memref<13xf32>, vector<16xf32>
      ->
        vector.transfer_read %x[%c-3], %pad {in_bounds = [false]} : memref<13xf32>, vector<16xf32>

    The folder of vector.transfer_read, which each greedy pass runs, takes -3 + 16 <= 13 for in bounds, though
    the first three elements lie before the tensor. Run it behind the last of them.
    """

    name: ClassVar[str] = "mlopt-gpu-padded-reads"

    def run(self, op: ir.Operation) -> None:
        """Mark the dims along which a read begins below 0."""
        for read in ops_named(op, "vector.transfer_read"):
            order: ir.AffineMap = read.attributes["permutation_map"].value
            starts = list(read.operands)[1 : 1 + order.n_dims]
            bounds = [
                ir.BoolAttr(bound).value and not _is_below_zero(starts, place)
                for bound, place in zip(read.attributes["in_bounds"], order.results, strict=True)
            ]
            with read.location:
                read.attributes["in_bounds"] = ir.ArrayAttr.get(list(map(ir.BoolAttr.get, bounds)))


def _is_below_zero(starts: list[ir.Value], place: ir.AffineExpr) -> bool:
    """Whether the index of the dim at ``place``, if it is one, is a number below 0."""
    start = integer_of(starts[place.position]) if isinstance(place, ir.AffineDimExpr) else None
    return start is not None and start < 0
