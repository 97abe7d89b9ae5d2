"""Text of PTX among the ops of a device function."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir


def write_asm(
    kinds: Sequence[ir.Type], text: str, constraints: str, operands: Sequence[ir.Value]
) -> ir.Operation:
    """Text with side effects: its place among others of them is kept."""
    attributes = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(constraints),
        "has_side_effects": ir.UnitAttr.get(),
    }
    return ir.Operation.create("llvm.inline_asm", list(kinds), list(operands), attributes)
