"""The loops of a module that become grids of blocks."""

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
