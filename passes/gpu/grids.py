"""The loops of a module that become grids of blocks, and the functions that become of them."""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import KERNEL


def grids_of(module: ir.Operation) -> list[ir.Operation]:
    """The scf.forall of each kernel function, in order."""
    return [
        task.operation
        for function in module.regions[0].blocks[0].operations
        if KERNEL.get(function.operation)
        for task in function.operation.regions[0].blocks[0].operations
        if task.operation.name == "scf.forall"
    ]


def device_functions(module: ir.Operation) -> list[ir.Operation]:
    """The functions that threads run, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.func":
            found.append(op)
        return ir.WalkResult.SKIP if op.name.endswith(".func") else ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
