"""Ops of a module that torch-mlir has imported, by name: its own bindings are not those of the passes."""

from __future__ import annotations

from torch_mlir import ir


def ops_named(module: ir.Module, name: str) -> list[ir.Operation]:
    """All ops of a name, nested ones too: a list, so that they may be rewritten and erased."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def maker_named(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that makes ``value``, if it is called one of ``names``."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.operation.name not in names else owner.operation
