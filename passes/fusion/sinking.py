"""Whether element-wise work can be done at other places, and beside them: where what it is a part of is read.

::

    %e = generic {exp} ins(%x)                                    %x : 4x5
    %p = insert_slice %e into (fill %c)[0, 1] [4, 5]              exp may be computed at all places of 4x8
"""

from __future__ import annotations

from mlir import ir

from ..costs.cost import SPECIAL
from ..operations import defining_op
from ..structured import STRUCTURED, body_of, elements_of, has_one_use, inputs_of, is_pointwise, maps_of

MOST_MORE = 1.1  # times as many elements: with 1.16 exp of 64x60x60 floats, padded, took 1.3 of the time

_TRAPS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi")
_PURE = ("arith.", "math.", "linalg.index", "linalg.yield")


def sinks(value: ir.Value, whole: ir.Value) -> bool:
    """Whether ``value`` is made where what it is a part of is read, and something beside it."""
    return can_sink(value) and should_sink(value, whole)


def can_sink(value: ir.Value) -> bool:
    """Whether ``value`` can be made at other places, and something beside it, of what is at hand."""
    maker = defining_op(value, "linalg.generic")
    if maker is None or not is_pointwise(maker) or not has_one_use(value) or not inputs_of(maker):
        return False
    names = [inner.operation.name for inner in body_of(maker).operations]
    if any(name in _TRAPS or not name.startswith(_PURE) for name in names):
        return False
    *reads, write = maps_of(maker)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return (
        write == ir.AffineMap.get_identity(write.n_dims, value.context)
        and not any(True for _ in body_of(maker).arguments[len(reads)].uses)
        and all(isinstance(expr, plain) for where in reads for expr in where.results)
        and all(_runs_through(value, where, each) for where, each in zip(reads, maker.operands, strict=False))
        and all(is_in_memory(each) or can_sink(each) for each in inputs_of(maker))
    )


def should_sink(value: ir.Value, whole: ir.Value) -> bool:
    """Whether no special functions are computed for many elements more."""
    return elements_of(whole) <= MOST_MORE * elements_of(value) or not _takes_special_functions(value)


def _takes_special_functions(value: ir.Value) -> bool:
    """Whether what makes ``value`` of what is in memory has an exp in it, say."""
    if not can_sink(value):
        return False
    maker = value.owner.operation
    names = {inner.operation.name for inner in body_of(maker).operations}
    return bool(names & SPECIAL.keys()) or any(map(_takes_special_functions, inputs_of(maker)))


def _runs_through(made: ir.Value, where: ir.AffineMap, read: ir.Value) -> bool:
    """Whether the loops along which ``made`` lies run through all of what they read."""
    return all(
        isinstance(expr, ir.AffineConstantExpr) or size == made.type.shape[expr.position]
        for expr, size in zip(where.results, read.type.shape if where.results else (), strict=True)
    )


def is_in_memory(value: ir.Value) -> bool:
    """Whether no kernel makes ``value``, or any makes it itself."""
    maker = defining_op(value)
    return maker is None or maker.name not in STRUCTURED or maker.name == "linalg.fill"
