"""Computing a value again somewhere else, from the arguments of its function."""

from __future__ import annotations

from mlir import ir

_CLONABLE_DIALECTS = ("arith.", "affine.", "index.")
_CLONABLE_OPS = (
    "memref.dim",
    "memref.cast",
    "memref.expand_shape",
    "memref.collapse_shape",
    "memref.subview",
    "memref.reinterpret_cast",
)


def can_clone(value: ir.Value) -> bool:
    """Whether ``value`` follows from the function's arguments by arithmetic on sizes alone."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name == "func.func"
    operation = owner.operation
    if operation.name not in _CLONABLE_OPS and not operation.name.startswith(_CLONABLE_DIALECTS):
        return False
    return not operation.regions and all(can_clone(operand) for operand in operation.operands)


def clone_value(value: ir.Value, copies: dict[ir.Value, ir.Value]) -> ir.Value:
    """``value`` computed at the current insertion point; ``copies`` says what stands for what already."""
    if value in copies:
        return copies[value]
    operation = value.owner.operation
    operands = [clone_value(operand, copies) for operand in operation.operands]
    clone = operation.clone(ir.InsertionPoint.current)
    for number, operand in enumerate(operands):
        clone.operation.operands[number] = operand
    for old, new in zip(operation.results, clone.operation.results, strict=True):
        copies[old] = new
    return copies[value]
