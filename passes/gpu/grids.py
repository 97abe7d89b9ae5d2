"""The loops of a module that become grids of blocks, and the functions that become of them."""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import KERNEL, SCHEDULE, SUMS


def grids_of(module: ir.Operation) -> list[ir.Operation]:
    """The scf.forall of each kernel function, in order."""
    return [
        task.operation
        for function in module.regions[0].blocks[0].operations
        if KERNEL.get(function.operation)
        for task in function.operation.regions[0].blocks[0].operations
        if task.operation.name == "scf.forall"
    ]


def adds_up_parts(forall: ir.Operation) -> bool:
    """Whether the kernel's other scf.forall makes what this one adds up, and its blocks will run both."""
    kernel = forall.parent
    return SUMS.name in kernel.attributes and SCHEDULE.get(forall) == SUMS.get(kernel)


def device_functions(module: ir.Operation) -> list[ir.Operation]:
    """The functions that threads run, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.func":
            found.append(op)
        return ir.WalkResult.SKIP if op.name.endswith(".func") else ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
