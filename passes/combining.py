"""Reductions of vectors: their kinds (which op combines, and what changes nothing), and their dims."""

from __future__ import annotations

from mlir import ir

from ..dialects.attributes import BY_LOGARITHMS

LOGADDEXP = "logaddexp"  # of a scan that adds by logarithms: no op combines so
_FLOAT_OPS = {
    "add": "arith.addf",
    "mul": "arith.mulf",
    "maximumf": "arith.maximumf",
    "minimumf": "arith.minimumf",
    "maxnumf": "arith.maxnumf",
    "minnumf": "arith.minnumf",
}
_INTEGER_OPS = {
    "add": "arith.addi",
    "mul": "arith.muli",
    "maxsi": "arith.maxsi",
    "maxui": "arith.maxui",
    "minsi": "arith.minsi",
    "minui": "arith.minui",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
}
# -0 + -0 stays -0; not a number is what maxnumf and minnumf leave out.
_NEUTRAL_FLOATS = {
    "add": -0.0, "mul": 1.0, "maximumf": -float("inf"), "minimumf": float("inf"),
    "maxnumf": float("nan"), "minnumf": float("nan"), LOGADDEXP: -float("inf"),
}  # fmt: skip
_ROUNDED = ("add", "mul", LOGADDEXP)  # of floats
# The kind of each op that combines.
KINDS = {op: kind for ops in (_FLOAT_OPS, _INTEGER_OPS) for kind, op in ops.items()}


def kind_of(op: ir.Operation | ir.OpView) -> str:
    """How a multi_reduction, or a scan, combines: "add", "maximumf", …"""
    if BY_LOGARITHMS.get(op):
        return LOGADDEXP
    return str(op.attributes["kind"]).split("<")[1].rstrip(">")


def reduced_dims(op: ir.Operation | ir.OpView) -> list[int]:
    """The dims of its operand that a multi_reduction takes away."""
    return list(ir.DenseI64ArrayAttr(op.attributes["reduction_dims"]))


def kept_dims(op: ir.Operation | ir.OpView) -> list[int]:
    """The dims of its operand that a multi_reduction's result has."""
    gone = reduced_dims(op)
    return [dim for dim in range(ir.VectorType(op.operands[0].type).rank) if dim not in gone]


def scanned_dim(op: ir.Operation | ir.OpView) -> int:
    """The dim that a vector.scan runs along."""
    return int(ir.IntegerAttr(op.attributes["reduction_dim"]).value)


def rows_of_scan(op: ir.Operation | ir.OpView) -> list[int]:
    """The dims of its operand that a vector.scan's totals of whole rows have."""
    return [dim for dim in range(ir.VectorType(op.operands[0].type).rank) if dim != scanned_dim(op)]


def are_exact(kind: str, element: ir.Type) -> bool:
    """Whether combining rounds nothing, so that its order is free."""
    return not isinstance(element, ir.FloatType) or kind not in _ROUNDED


def op_of(kind: str, element: ir.Type) -> str:
    """The name of the op that combines two scalars, tiles or vectors of ``element``."""
    return (_FLOAT_OPS if isinstance(element, ir.FloatType) else _INTEGER_OPS)[kind]


def neutral_of(kind: str, element: ir.Type) -> ir.Attribute:
    """The element that changes nothing."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, _NEUTRAL_FLOATS[kind])
    bits = 64 if isinstance(element, ir.IndexType) else element.width
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    value = {"mul": 1, "maxsi": least, "minsi": most, "minui": -1, "and": -1}.get(kind, 0)
    return ir.IntegerAttr.get(element, value & 1 if bits == 1 else value)
