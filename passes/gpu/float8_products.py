"""Products of 8-bit floats that no warpgroup makes are products of f16, which has all their numbers.

Before::

    %a = vector.transfer_read %x[%i, %k], %zero : memref<…xi8>, vector<16x64xi8>
    %v = arith.bitcast %a : vector<16x64xi8> to vector<16x64xf8E4M3FN>
    %d = vector.contract {…, mlopt.mma = "m16n8k32.e4m3"} %v, %w, %c : …, vector<64x8xf8E4M3FN> into …

After::

    %h = arith.truncf … : vector<16x64xf32> to vector<16x64xf16>        // of the bits, by integer arithmetic
    %d = vector.contract {…, mlopt.mma = "m16n8k16.f16"} %h, %o, %c : …, vector<64x8xf16> into …

An mma.sync of 8-bit floats would keep some 14 bits of all sums. Other casts of them, of what is no product
for tensor cores, become integer arithmetic, too (`passes/float8/conversions`). Legal always; runs after
mlopt-gpu-warpgroup-products, on sm_90a.

Effect on sm_90a: what warpgroups do not multiply has sums of f32, all products being exact. 16 rows of
4096x4096: 32 mma.sync in a step of 16x128x128, 109 registers, no spills.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith

from ...dialects.attributes import MMA
from ..base import Pass, PassError
from ..float8.conversions import FORMATS, decode
from ..operations import defining_op, nested_ops
from ..structured import is_used
from .layouts.instructions import instruction_for


@dataclass(frozen=True)
class Float8Products(Pass):
    """Multiply 8-bit floats in f16 where no warpgroup does."""

    name: ClassVar[str] = "mlopt-gpu-float8-products"

    def run(self, op: ir.Operation) -> None:
        """Widen the factors of each product, then all else that is a cast of bits."""
        ops = nested_ops(op)
        for contract in [each for each in ops if each.name == "vector.contract"]:
            if _is_float8(contract.operands[0]):
                _widen(contract)
        for cast in [each for each in ops if each.name == "arith.extf" and _is_float8(each.operands[0])]:
            with ir.InsertionPoint(cast), cast.location:
                number = decode(_bits_of(cast, cast.operands[0]), FORMATS[str(_element(cast.operands[0]))])
                wanted = cast.results[0].type
                number = number if number.type == wanted else arith.truncf(wanted, number)
            cast.results[0].replace_all_uses_with(number)
            cast.erase()
        for bits in [each for each in nested_ops(op) if each.name == "arith.bitcast"]:
            if _is_float8(bits.results[0]) and not is_used(bits.results[0]):
                bits.erase()


def _element(value: ir.Value) -> ir.Type:
    return value.type.element_type if isinstance(value.type, ir.VectorType) else value.type


def _is_float8(value: ir.Value) -> bool:
    return str(_element(value)) in FORMATS


def _bits_of(op: ir.Operation, value: ir.Value) -> ir.Value:
    """The bytes that an 8-bit float is stored as, which ``op`` takes."""
    bits = defining_op(value, "arith.bitcast")
    if bits is None:
        kind = _element(value)
        raise PassError(op, f"float8-products: no bitcast makes this {kind}; run mlopt-fp8-storage before")
    return bits.operands[0]


def _widen(contract: ir.Operation) -> None:
    """Let a product have factors of f16, and their instruction if it has one."""
    half = ir.F16Type.get()
    with ir.InsertionPoint(contract), contract.location:
        for number, factor in enumerate(list(contract.operands)[:2]):
            wide = decode(_bits_of(contract, factor), FORMATS[str(_element(factor))])
            contract.operands[number] = arith.truncf(ir.VectorType.get(factor.type.shape, half), wide)
    if MMA.name in contract.attributes:
        total = _element(contract.results[0])
        MMA.set(contract, str(instruction_for(half, total)))
