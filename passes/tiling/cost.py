"""What a kernel has to move and to compute, whatever its tiles: the roofline's two numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from mlir import ir

from ..operations import nested_ops
from ..structured import CASTS
from .access import STRUCTURED, Access, Nest, nest_of, shape_of
from .analysis import loops_in

_FREE = ("arith.constant", *CASTS)


def cost_of(kernel: ir.Operation) -> tuple[int, int]:
    """Bytes and FLOPs of a kernel function on tensors, whether or not a tile rule takes it.

    Bytes are the distinct elements of inputs, read once, and the results; FLOPs one for each arith or math op
    of a body and iteration, of which branches and loops in the body count once. Dynamic sizes count as 1;
    what a gather reads counts once for each element that it makes.
    """
    *ops, end = (op.operation for op in kernel.regions[0].blocks[0].operations)
    moved: dict[ir.Value, int] = {}
    flops = 0
    for op in ops:
        if op.name not in STRUCTURED:
            moved |= {value: _bytes(value) for value in op.operands if _is_tensor_argument(value)}
            continue
        nest = nest_of(op)
        for access in nest.reads:
            if access is not None and isinstance(access.value, ir.BlockArgument):
                moved[access.value] = max(moved.get(access.value, 0), _read_bytes(nest, access))
        points = _points(nest.extents)
        for inner in nested_ops(op) if nest.body else ():
            if inner.name == "tensor.extract":
                moved[inner.operands[0]] = points * _bytes_of(inner.results[0].type)
            elif inner.name.startswith(("arith.", "math.")) and inner.name not in _FREE:
                flops += points
    return sum(moved.values()) + sum(_written(value) for value in end.operands), flops


def _is_tensor_argument(value: ir.Value) -> bool:
    return isinstance(value, ir.BlockArgument) and isinstance(value.type, ir.RankedTensorType)


def _read_bytes(nest: Nest, access: Access) -> int:
    """The whole tensor, or as many elements of it as there are positions that are read."""
    loops = {loop for index in access.indices for loop in index.loops}
    loops |= {loop for index in access.indices if index.rest is not None for loop in loops_in(index.rest)}
    positions = _points(nest.extents[loop] for loop in loops)
    if not isinstance(access.value.type, ir.RankedTensorType):
        return _bytes_of(access.value.type)
    return min(positions, _elements(access.value)) * _bytes_of(access.value.type.element_type)


def _written(value: ir.Value) -> int:
    """What is stored of a result: of a buffer that comes with its other parts, the parts that are put in."""
    total = 0
    while not isinstance(value, ir.BlockArgument) and value.owner.name == "tensor.insert_slice":
        part, value = value.owner.operands[0], value.owner.operands[1]
        total += _bytes(part)
    return total if total and isinstance(value, ir.BlockArgument) else _bytes(value)


def _bytes(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return _bytes_of(kind)
    return _elements(value) * _bytes_of(kind.element_type)


def _elements(value: ir.Value) -> int:
    return _points(shape_of(value))


def _points(extents: Iterable[int | None]) -> int:
    return prod(1 if extent is None else extent for extent in extents)


def _bytes_of(element: ir.Type) -> int:
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
