"""Add small integers up in 32 bits where their sum is kept in 64.

Before, of a row of int8::

    %w = arith.extsi %x : vector<1x1024xi8> to vector<1x1024xi64>
    %s = vector.multi_reduction <add>, %w, %zero [1] : vector<1x1024xi64> to vector<1xi64>

After::

    %w = arith.extsi %x : vector<1x1024xi8> to vector<1x1024xi32>
    %n = vector.multi_reduction <add>, %w, %zero [1] : vector<1x1024xi32> to vector<1xi32>
    %s = arith.extsi %n : vector<1xi32> to vector<1xi64>

A GPU has no 64-bit registers: each element takes two additions, one with the other's carry, and each shuffle
is two; of bytes, mlopt-gpu-dot-bytes can add up four at once then. Legal where no sum of so many elements
leaves 32 bits, and it begins from zero; what a loop carries stays as it is, so this runs once
mlopt-gpu-late-reductions has left whole tiles.

Effect on sm_80: x.sum(-1) of int8 with rows of 1024: 111 -> 60 instructions for 16 elements, 37 with dp4a.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ..base import Pass
from ..combining import kind_of, reduced_dims
from ..constants import is_zero, splat_constant, splat_of
from ..operations import attributes_of, defining_op, ops_named
from .grids import grids_of

_REDUCTION = "vector.multi_reduction"
_WORD, _LONG = 32, 64


@dataclass(frozen=True)
class NarrowSums(Pass):
    """Narrow sums of bytes, of 16-bit integers and of bools to 32 bits, as far as these hold them."""

    name: ClassVar[str] = "mlopt-gpu-narrow-sums"

    def run(self, op: ir.Operation) -> None:
        """Look at each reduction of each kernel."""
        for forall in grids_of(op):
            for total in ops_named(forall, _REDUCTION):
                if can_narrow(total):
                    _narrow(total)


def can_narrow(total: ir.Operation) -> bool:
    """Whether a sum of integers that were widened to 64 bits fits 32."""
    result = total.results[0].type
    if not isinstance(result, ir.VectorType) or result.element_type != ir.IntegerType.get_signless(_LONG):
        return False
    widening = defining_op(total.operands[0], "arith.extsi", "arith.extui")
    if kind_of(total) != "add" or widening is None or not is_zero(splat_of(total.operands[1])):
        return False
    source = ir.VectorType(widening.operands[0].type)
    count = prod(source.shape[dim] for dim in reduced_dims(total))
    bits = ir.IntegerType(source.element_type).width - (widening.name == "arith.extsi")
    return count << bits < 1 << (_WORD - 1)


def _narrow(total: ir.Operation) -> None:
    """Widen to 32 bits before the sum, and to 64 behind it."""
    widening = defining_op(total.operands[0])
    assert widening is not None, "it has been looked at"
    word = ir.IntegerType.get_signless(_WORD)
    with ir.InsertionPoint(total), total.location:
        tile, row = (
            ir.VectorType.get(ir.VectorType(value.type).shape, word)
            for value in (widening.results[0], total.results[0])
        )
        elements = ir.Operation.create(widening.name, [tile], [widening.operands[0]]).results[0]
        zero = splat_constant(row, ir.IntegerAttr.get(word, 0))
        narrow = ir.Operation.create(_REDUCTION, [row], [elements, zero], attributes_of(total)).results[0]
        wide = ir.Operation.create(widening.name, [total.results[0].type], [narrow]).results[0]
    total.results[0].replace_all_uses_with(wide)
    total.erase()
    if not list(widening.results[0].uses):
        widening.erase()
