"""Buffers that a loop hands to its next iteration, made placeable: the loop carries a buffer from outside.

    scf.for … iter_args(%a = %init) {              %b = memref.alloc()
      %n = memref.alloc()                          scf.for … iter_args(%a = %init) {
      … %n from %a                           ->      %n = memref.alloc()
      scf.yield %n                                   … %n from %a
    }                                                memref.copy %n, %b
                                                     scf.yield %b
                                                   }

Afterwards no iteration's own buffer outlives it, and all of them have a place in the workspace.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import func, memref

from ..operations import ops_named

_LOOPS = ("scf.for", "scf.while")


def carry_outer_buffers(function: func.FuncOp) -> None:
    """Rewrite the loops in ``function`` that yield a buffer which they allocate, inner ones first."""
    yields = [op for op in ops_named(function, "scf.yield") if op.parent.name in _LOOPS]
    for yield_ in reversed(yields):
        loop = yield_.parent.operation
        for number, operand in enumerate(yield_.operands):
            if can_copy_out(operand, loop):
                _copy_out(yield_, number, operand, loop)


def can_copy_out(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether ``value`` is a plain buffer of fixed size that ``loop`` allocates in each iteration."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "memref.alloc":
        return False
    return value.owner.operation.parent == loop and value.type.has_static_shape


def _copy_out(yield_: ir.Operation, number: int, value: ir.Value, loop: ir.Operation) -> None:
    with ir.InsertionPoint(loop), loop.location:
        outer = memref.alloc(value.type, [], [])
    with ir.InsertionPoint(yield_), yield_.location:
        memref.copy(value, outer)
    yield_.operands[number] = outer
