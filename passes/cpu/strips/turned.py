"""Packing an operand whose lanes are rows of memory: squares of it are turned in registers.

    memory B[n][k], lanes along n            panel P[k][lanes]

A product with a transposed matrix then needs no kernel that transposes it, and no gathers. Each square is as
many rows as a register has lanes; columns that are left over are copied one element at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, memref, vector

from .fragment import Axis
from .memory import memory_dims, memory_size
from .transposed import deinterleaved

if TYPE_CHECKING:
    from .emitter import Emitter


def fill_turned(
    em: Emitter,
    op: ir.OpView,
    lane: int,
    axis: Axis,
    side: int,
    columns: tuple[ir.Value, ir.Value],
    panel: ir.Value,
) -> None:
    """Fill a panel from ``columns`` (the first, and the end) of the rows along the tile dim ``lane``.

    Rows past the end of memory are its last one: nobody reads the lanes that they are for.
    """
    (start, end), dim = columns, memory_dims(op)[lane]
    assert dim is not None
    first = em.sum(em.scalar(op.indices[dim]), em.position(axis))
    beyond, one, width = memory_size(em, op.base, dim), em.index(1), em.index(side)
    with em.here():
        last = arith.SubIOp(beyond, one).result
        squares = arith.SubIOp(end, arith.RemUIOp(arith.SubIOp(end, start).result, width).result).result
    with em.loop(em.index(0), em.index(axis.count * axis.lanes), width) as strip:
        row = em.sum(first, strip.induction_variable)
        rows = []
        for step in range(side):
            at = em.sum(row, em.index(step))
            with em.here():
                rows.append(arith.MinSIOp(at, last).result)

        def source(step: int, column: ir.Value) -> list[ir.Value]:
            outer = list(op.indices)[:-1]
            return [
                *(rows[step] if at == dim else em.scalar(index) for at, index in enumerate(outer)),
                column,
            ]

        def target(column: ir.Value, step: int, place: int) -> list[ir.Value]:
            with em.here():
                column = arith.SubIOp(column, start).result
            return [em.sum(column, em.index(step)), em.sum(strip.induction_variable, em.index(place))]

        kind = ir.VectorType.get([side], op.base.type.element_type)
        with em.loop(start, squares, width) as square:
            column = square.induction_variable
            places = [source(step, column) for step in range(side)]
            with em.here():
                turned = deinterleaved([vector.LoadOp(kind, op.base, place).result for place in places])
            for step, value in enumerate(turned):
                into = target(column, step, 0)
                with em.here():
                    vector.StoreOp(value, panel, into)
        with em.loop(squares, end, one) as rest:
            column = rest.induction_variable
            for step in range(side):
                place, into = source(step, column), target(column, 0, step)
                with em.here():
                    memref.StoreOp(memref.LoadOp(op.base, place).result, panel, into)
