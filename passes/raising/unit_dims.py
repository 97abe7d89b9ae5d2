"""Loops and dims of extent 1 disappear, so that one computation has one form.

::

    generic {(d0, d1) -> (d0, 0)} outs(tensor<4x1xf32>)
    ->  generic {(d0, d1) -> (d0)} outs(tensor<4xf32>), tensor.expand_shape
    insert_slice tensor<1x64x56xf32>
    ->  insert_slice tensor<64x56xf32>

Legal always: an index into a unit dim is 0. The reshapes around are views; those between two ops cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir
from mlir.dialects import tensor

from ...dialects.attributes import OP
from ..constants import index_constant
from ..groups import entry_ops
from ..structured import (
    DYNAMIC,
    body_of,
    inputs_of,
    kinds_of,
    label_of,
    loop_extents,
    make_generic,
    maps_of,
    replace_op,
)
from .reshape import squeeze, unit_dims, unsqueeze


def drop_unit_dims(func: ir.Operation) -> None:
    """Drop the unit loops and dims of all structured ops of ``func``."""
    for op in entry_ops(func):
        rewrite = _REWRITES.get(op.name)
        if rewrite is not None:
            with op.location, ir.InsertionPoint(op):
                rewrite(op)


def _generic(op: ir.Operation) -> None:
    extents = loop_extents(op)
    loops = [loop for loop, extent in enumerate(extents) if extent != 1]
    zero = ir.AffineExpr.get_constant(0)
    new_loops = [
        ir.AffineExpr.get_dim(loops.index(loop)) if loop in loops else zero for loop in range(len(extents))
    ]
    substitution = ir.AffineMap.get(len(loops), 0, new_loops)
    kept = [extents[loop] for loop in loops]
    operands, maps, drops = [], [], []
    for value, where in zip(op.operands, maps_of(op), strict=True):
        exprs = [
            _within(expr.compose(substitution), size, kept)
            for expr, size in zip(where.results, value.type.shape, strict=True)
        ]
        drop = [dim for dim, expr in enumerate(exprs) if expr == zero and value.type.shape[dim] == 1]
        drops.append(drop)
        operands.append((value, drop))
        maps.append(
            ir.AffineMap.get(len(loops), 0, [expr for dim, expr in enumerate(exprs) if dim not in drop])
        )
    if len(loops) == len(extents) and not any(drops):
        return
    _renumber_indices(op, loops)
    inputs = len(inputs_of(op))
    values = [squeeze(value, drop) for value, drop in operands]
    kinds = [kind for loop, kind in enumerate(kinds_of(op)) if loop in loops]
    new = make_generic(
        values[:inputs],
        values[inputs:],
        maps,
        kinds,
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body_of(op),
    )
    results = [
        unsqueeze(result, old.type, drop)
        for result, old, drop in zip(new.results, op.results, drops[inputs:], strict=True)
    ]
    replace_op(op, results)


def _within(expr: ir.AffineExpr, size: int, extents: Sequence[int | None]) -> ir.AffineExpr:
    """An index of a window with one place is one loop then, which may end before the dim does."""
    expr = expr.maybe_downcast()
    if size == DYNAMIC or not isinstance(expr, ir.AffineDimExpr):
        return expr
    return expr if extents[expr.position] in (None, size) else ir.AffineExpr.get_mod(expr, size)


def _renumber_indices(op: ir.Operation, loops: list[int]) -> None:
    for index in [each.operation for each in body_of(op).operations if each.operation.name == "linalg.index"]:
        loop = index.attributes["dim"].value
        if loop in loops:
            index.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loops.index(loop))
        else:
            index.results[0].replace_all_uses_with(index_constant(0))
            index.erase()


def _fill(op: ir.Operation) -> None:
    result = op.results[0]
    dropped = unit_dims(result)
    if dropped:
        replace_op(op, [unsqueeze(squeeze(result, dropped), result.type, dropped)])


def _insert_slice(op: ir.Operation) -> None:
    source, onto = op.operands[0], op.operands[1]
    small, dropped = unit_dims(source), unit_dims(onto)
    if not dropped and not small:
        return
    offsets, sizes, strides = _slice_of(op, dropped)
    part, whole = squeeze(source, small), squeeze(onto, dropped)
    new = tensor.InsertSliceOp(
        part, whole, offsets[1], sizes[1], strides[1], offsets[0], sizes[0], strides[0]
    )
    _keep_label(op, new.operation)
    replace_op(op, [unsqueeze(new.result, onto.type, dropped)])


def _extract_slice(op: ir.Operation) -> None:
    source, result = op.operands[0], op.results[0]
    small, dropped = unit_dims(result), unit_dims(source)
    if not dropped and not small:
        return
    offsets, sizes, strides = _slice_of(op, dropped)
    shape = [size for dim, size in enumerate(result.type.shape) if dim not in small]
    kind = ir.RankedTensorType.get(shape, result.type.element_type)
    new = tensor.ExtractSliceOp(
        kind, squeeze(source, dropped), offsets[1], sizes[1], strides[1], offsets[0], sizes[0], strides[0]
    )
    _keep_label(op, new.operation)
    replace_op(op, [unsqueeze(new.result, result.type, small)])


def _slice_of(op: ir.Operation, dropped: list[int]) -> list[tuple[list[int], list[ir.Value]]]:
    """Offsets, sizes and strides without the dims ``dropped``, each as static numbers and dynamic values."""
    view = op.opview
    parts = []
    for static, dynamic in (
        (view.static_offsets, view.offsets),
        (view.static_sizes, view.sizes),
        (view.static_strides, view.strides),
    ):
        values = iter(dynamic)
        pairs = [
            (size, next(values) if size == ir.ShapedType.get_dynamic_size() else None) for size in static
        ]
        kept = [pair for dim, pair in enumerate(pairs) if dim not in dropped]
        parts.append(([size for size, _ in kept], [value for _, value in kept if value is not None]))
    return parts


def _keep_label(old: ir.Operation, new: ir.Operation) -> None:
    label = label_of(old)
    if label is not None:
        OP.set(new, label)


_REWRITES: dict[str, Callable[[ir.Operation], None]] = {
    "linalg.generic": _generic,
    "linalg.fill": _fill,
    "tensor.insert_slice": _insert_slice,
    "tensor.extract_slice": _extract_slice,
}
