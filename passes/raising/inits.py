"""What a generic starts from becomes explicit: parallel ops read no init, contractions start from zero.

::

    linalg.generic {parallel} outs(%c) { ^(%o): f(%o) }  ->  ins(%c) outs(tensor.empty) { ^(%i, %o): f(%i) }
    %b = broadcast %bias; matmul(%x, %w) outs(%b)        ->  matmul(%x, %w) outs(fill 0), then add(%bias)

The sum of a contraction is rounded in another order than with the bias as its start, as eager does it.
"""

from __future__ import annotations

from itertools import accumulate

from mlir import ir
from mlir.dialects import arith, linalg, tensor

from ..constants import constant, is_zero, splat_of
from ..operations import defining_op
from ..structured import (
    DYNAMIC,
    body_of,
    element_type,
    fill_value,
    inits_of,
    inputs_of,
    is_used,
    kinds_of,
    label_of,
    make_empty,
    make_generic,
    maps_of,
    replace_op,
    structured_ops,
)
from .bodies import is_contraction
from .reshape import grouped, joined_dims
from .simplify import inline_splat


def make_inits_explicit(func: ir.Operation) -> None:
    """Rewrite the inits of all generics of ``func``."""
    for op in structured_ops(func):
        if "reduction" not in kinds_of(op):
            _free_parallel(op)
            continue
        _fill_constant_inits(op)
        if is_contraction(op) and not is_zero(fill_value(inits_of(op)[0])):
            _start_from_zero(op)


def _fill_constant_inits(op: ir.Operation) -> None:
    """Start from a fill, not from a constant tensor of one value."""
    for number, init in enumerate(inits_of(op), start=len(inputs_of(op))):
        value = splat_of(init)
        if value is not None:
            with op.location, ir.InsertionPoint(op):
                empty = make_empty(init, location=op.location, at=ir.InsertionPoint(op))
                op.operands[number] = linalg.fill(constant(value), outs=[empty])


def _free_parallel(op: ir.Operation) -> None:
    """Let the inits of an op without reductions be empty; what it reads of them becomes an input."""
    inputs, inits, maps, body = inputs_of(op), inits_of(op), maps_of(op), body_of(op)
    arguments = list(body.arguments)[len(inputs) :]
    for argument, init in zip(arguments, inits, strict=True):
        if is_used(argument):
            inline_splat(op, argument, init)
    read = [number for number, argument in enumerate(arguments) if is_used(argument)]
    if not read:
        for number, init in enumerate(inits):
            if defining_op(init, "tensor.empty") is None:
                op.operands[len(inputs) + number] = make_empty(
                    init, location=op.location, at=ir.InsertionPoint(op)
                )
        return
    empties = [make_empty(init, location=op.location, at=ir.InsertionPoint(op)) for init in inits]
    extra = [inits[number] for number in read]
    extra_maps = [maps[len(inputs) + number] for number in read]
    generic = make_generic(
        [*inputs, *extra],
        empties,
        [*maps[: len(inputs)], *extra_maps, *maps[len(inputs) :]],
        kinds_of(op),
        label_of(op),
        location=op.location,
        at=ir.InsertionPoint(op),
        body=body,
    )
    moved = body_of(generic)
    for number in read:
        moved.arguments[len(inputs) + number].replace_all_uses_with(
            moved.add_argument(element_type(inits[number]), op.location)
        )
    _reorder(moved, len(inputs), len(inits), len(read))
    replace_op(op, generic.results)


def _reorder(block: ir.Block, inputs: int, inits: int, added: int) -> None:
    """Arguments are inputs, inits, added inputs; make it inputs, added inputs, inits (which nobody reads)."""
    types = [argument.type for argument in block.arguments]
    location = block.arguments[0].location
    for kind in types[inputs : inputs + inits]:
        block.add_argument(kind, location)
    for _ in range(inits):
        block.erase_argument(inputs)
    assert len(block.arguments) == inputs + inits + added


def _start_from_zero(op: ir.Operation) -> None:
    """Contract onto zeros and add the old init afterwards."""
    init = inits_of(op)[0]
    result = op.results[0]
    rank = result.type.rank
    source, read = _through_broadcast(init)
    empty = make_empty(init, location=op.location, at=ir.InsertionPoint(op))
    with ir.InsertionPoint(op), op.location:
        zero = constant(_zero(element_type(init)))
        op.operands[len(op.operands) - 1] = linalg.fill(zero, outs=[empty])
    identity = ir.AffineMap.get_identity(rank)
    add = make_generic(
        [result, source],
        [empty],
        [identity, read, identity],
        ["parallel"] * rank,
        "add",
        location=op.location,
        at=ir.InsertionPoint.after(op),
    )
    block = body_of(add)
    with ir.InsertionPoint(block), op.location:
        one, other = block.arguments[0], block.arguments[1]
        integer = isinstance(one.type, ir.IntegerType)
        linalg.YieldOp([arith.addi(one, other) if integer else arith.addf(one, other)])
    result.replace_all_uses_except(add.results[0], [add])


def _through_broadcast(init: ir.Value) -> tuple[ir.Value, ir.AffineMap]:
    """The tensor that ``init`` is a broadcast of (or itself), and how it is read in the order of ``init``.

    A view that splits the broadcast's dims (a grouped convolution's) splits the tensor's dims instead.
    """
    view = defining_op(init, "tensor.expand_shape")
    maker = defining_op(init if view is None else view.operands[0], "linalg.generic")
    if maker is None or label_of(maker) != "broadcast" or len(inputs_of(maker)) != 1:
        return init, ir.AffineMap.get_identity(init.type.rank)
    source, read = inputs_of(maker)[0], maps_of(maker)[0]
    if view is None:
        return source, read
    if DYNAMIC in init.type.shape or not all(isinstance(expr, ir.AffineDimExpr) for expr in read.results):
        return init, ir.AffineMap.get_identity(init.type.rank)
    groups = joined_dims(view)
    dims = [groups[expr.position] for expr in read.results]
    flat = [dim for group in dims for dim in group]
    shape = [init.type.shape[dim] for dim in flat]
    starts = list(accumulate((len(group) for group in dims), initial=0))
    split = grouped([range(start, start + len(group)) for start, group in zip(starts, dims, strict=False)])
    with view.location, ir.InsertionPoint(view):
        kind = ir.RankedTensorType.get(shape, source.type.element_type)
        source = tensor.ExpandShapeOp(kind, source, split, [], shape).result
    return source, ir.AffineMap.get(init.type.rank, 0, [ir.AffineExpr.get_dim(dim) for dim in flat])


def _zero(element: ir.Type) -> ir.Attribute:
    if isinstance(element, ir.IntegerType):
        return ir.IntegerAttr.get(element, 0)
    return ir.FloatAttr.get(element, 0.0)
