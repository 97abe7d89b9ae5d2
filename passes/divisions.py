"""Integer divisions, by what they leave behind, and which of them may trap.

The processor traps on x / 0 and, where the numbers are signed, on the least of them / -1.
"""

from __future__ import annotations

from mlir import ir

from .constants import integer_of

SIGNED_QUOTIENTS = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi")
QUOTIENTS = (*SIGNED_QUOTIENTS, "arith.divui", "arith.ceildivui")
UNSIGNED = ("arith.divui", "arith.ceildivui", "arith.remui")
DIVISIONS = (*QUOTIENTS, "arith.remsi", "arith.remui")


def may_trap(op: ir.Operation) -> bool:
    """Whether ``op`` is a division whose divisor can be 0, or -1 in a signed one; of bits none is."""
    if op.name not in DIVISIONS:
        return False
    divisor = op.operands[1]
    if isinstance(divisor.type, ir.IntegerType) and divisor.type.width == 1:
        return False
    value = integer_of(divisor)
    return value in (None, 0) or (value == -1 and op.name not in UNSIGNED)
