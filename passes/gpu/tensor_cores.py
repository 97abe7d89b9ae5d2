"""Products of narrow types run on tensor cores.

Before::

    %d = vector.contract {…} %a, %b, %c : vector<128x32xbf16>, vector<32x128xbf16> into vector<128x128xf32>

After, with the instruction whose fragments the tiles are to be divided into::

    %d = vector.contract {…, mlopt.mma = "m16n8k16.bf16"} %a, %b, %c : …

Legal where there is an instruction for the factors' type and the accumulator's (``layouts/instructions.py``
has the table), and each factor has one dim of more than one element that the other has not, at most, beside
the one that is summed over, which must be there. Sizes need not be multiples of the instruction's: what is
beyond a tile counts as zeros. The sums are made in f32 and i32, in an order that the chip chooses. All chips
that mlopt knows have such instructions. Factors of f32 are rounded to TF32 for them, 11 bits of 24, only
where the schedule says so (``tf32``), as the user lets mlopt-schedule do. An instruction makes 16 rows and 8
columns: of a product of up to 8 rows the factors are exchanged, so that it has twice the work in each, unless
it is a factor of another one.

Effect on sm_80, x @ w of a row and 4096 x 4096 in bf16: 8 products in the 81
instructions of a step become 4 in 59.
Runs before mlopt-gpu-assign-layouts, which gives such products layouts of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith

from ...dialects.attributes import MMA, ROUNDS, SCHEDULE
from ..base import Pass
from ..operations import defining_op, nested_ops
from ..structured import is_used
from .grids import grids_of
from .layouts.instructions import COLUMNS, Instruction, instruction_for, makes_factor
from .layouts.roles import Roles, roles_of


@dataclass(frozen=True)
class TensorCores(Pass):
    """Mark the products that tensor cores make with their instruction."""

    name: ClassVar[str] = "mlopt-gpu-tensor-cores"

    def run(self, op: ir.Operation) -> None:
        """Mark what can be in every kernel; then exchange factors."""
        for forall in grids_of(op):
            products = []
            for contract in [each for each in nested_ops(forall) if each.name == "vector.contract"]:
                if isinstance(can_round(contract), Instruction):
                    _round(contract)
                found = can_use(contract, "tf32" in (SCHEDULE.get(forall) or {}))
                if isinstance(found, Instruction):
                    MMA.set(contract, str(found))
                    products.append(contract)
            if not any(map(makes_factor, products)):
                for product in filter(should_exchange, products):
                    _exchange(product)


def should_exchange(product: ir.Operation) -> bool:
    """Whether a product has so few rows that they are columns of an instruction, and its columns rows."""
    roles = roles_of(product)
    assert isinstance(roles, Roles), "can_use has asked"
    return roles.rows.size <= COLUMNS < roles.columns.size and len(roles.rows.loops) < 2


def _exchange(product: ir.Operation) -> None:
    """The first factor becomes the second one; the loops stay."""
    left, right, *_ = product.operands
    product.operands[0], product.operands[1] = right, left
    one, other, result = ir.ArrayAttr(product.attributes["indexing_maps"])
    product.attributes["indexing_maps"] = ir.ArrayAttr.get([other, one, result])


def can_round(contract: ir.Operation) -> Instruction | str:
    """The instruction for a product whose first factor the program rounds, or why there is none."""
    if ROUNDS.get(contract) is None:
        return "its first factor is not rounded"
    half = ir.Type.parse(ROUNDS.get(contract))
    found = instruction_for(half, ir.VectorType(contract.results[0].type).element_type)
    if found is None:
        return f"no instruction multiplies {half}"
    roles = roles_of(contract)
    return found if isinstance(roles, Roles) else roles


def _round(contract: ir.Operation) -> None:
    """Let both factors have the type that the first one is rounded to."""
    half = ir.Type.parse(ROUNDS.get(contract))
    with ir.InsertionPoint(contract), contract.location:
        for number, factor in enumerate(list(contract.operands)[:2]):
            kind = ir.VectorType.get(ir.VectorType(factor.type).shape, half)
            widened = defining_op(factor, "arith.extf")
            if widened is not None and widened.operands[0].type == kind:
                contract.operands[number] = widened.operands[0]
                if not is_used(factor):
                    widened.erase()
            else:
                contract.operands[number] = arith.truncf(kind, factor)


def can_use(contract: ir.Operation, tf32: bool = False) -> Instruction | str:
    """The instruction that a product can be made with, or why with none; ``tf32``: f32 may be rounded."""
    if str(contract.attributes["kind"]) != "#vector.kind<add>":
        return "its products are not added up"
    factor, _, total = (ir.VectorType(operand.type).element_type for operand in contract.operands)
    found = instruction_for(factor, total, tf32)
    if found is None:
        return f"no instruction multiplies {factor} into {total}"
    roles = roles_of(contract)
    if isinstance(roles, Roles) and roles.depth is None:
        return "it adds up nothing, as the steps of a product of unknown depth"
    return found if isinstance(roles, Roles) else roles
