"""What a kernel has to move and to compute, whatever its tiles: the roofline's two numbers."""

from __future__ import annotations

from math import prod

from mlir import ir

from ..domain import Domain
from .access import Access, Nest, shape_of

_FREE = (
    "arith.constant",
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.extui",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.bitcast",
)


def cost_of(domain: Domain) -> tuple[int, int]:
    """Bytes and FLOPs.

    Bytes are the distinct elements of inputs, read once, and the results; FLOPs one for each arith or math op
    and element. Dynamic sizes count as 1; what a gather reads counts once for each element that it makes.
    """
    moved: dict[ir.Value, int] = {}
    flops = 0
    for nest in domain.nests:
        for access in nest.reads:
            if access is not None and domain.writer(access.value) is None:
                moved[access.value] = max(moved.get(access.value, 0), _read_bytes(nest, access))
        points = prod(1 if extent is None else extent for extent in nest.extents)
        for op in nest.body.operations if nest.body else ():
            name = op.operation.name
            if name == "tensor.extract":
                table = op.operation.operands[0]
                moved[table] = points * _bytes_of(op.operation.results[0].type)
            elif name.startswith(("arith.", "math.")) and name not in _FREE:
                flops += points
    written = sum(_written(domain, value) for value in domain.results)
    return sum(moved.values()) + written, flops


def _read_bytes(nest: Nest, access: Access) -> int:
    kind = access.value.type
    if not isinstance(kind, ir.RankedTensorType):
        return _bytes_of(kind)
    if nest.op.name == "tensor.extract_slice":
        return _elements(nest.writes[0].value) * _bytes_of(kind.element_type)
    return _elements(access.value) * _bytes_of(kind.element_type)


def _written(domain: Domain, value: ir.Value) -> int:
    found = domain.writer(value)
    assert found is not None
    nest, _ = found
    part = nest.op.operands[0] if nest.onto is not None and domain.writer(nest.onto) is None else value
    return _elements(part) * _bytes_of(value.type.element_type)


def _elements(value: ir.Value) -> int:
    return prod(1 if size is None else size for size in shape_of(value))


def _bytes_of(element: ir.Type) -> int:
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
