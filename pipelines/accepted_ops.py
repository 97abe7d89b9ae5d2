"""Which ops a caller's module may hold: named here, before a pass meets them, with the line and a remedy."""

from __future__ import annotations

from mlir import ir

from ..passes.operations import nested_ops
from ..passes.structured import SCAN
from .shared import TENSORS

_DIALECT_REMEDY = "lower it to linalg, tensor, arith, math and scf first"
_NO_WINOGRAD = "use a linalg.conv"
_NO_PARALLEL = "use linalg.generic, or scf.for"
# Ops of these dialects that no pass lowers, and what to write instead.
_REFUSED = {
    "linalg.softmax": "write it as a maximum, a subtraction, math.exp, a sum and a division",
    "linalg.pack": "use tensor.expand_shape and linalg.transpose",
    "linalg.unpack": "use linalg.transpose and tensor.collapse_shape",
    "linalg.winograd_filter_transform": _NO_WINOGRAD,
    "linalg.winograd_input_transform": _NO_WINOGRAD,
    "linalg.winograd_output_transform": _NO_WINOGRAD,
    "math.clampf": "use arith.maximumf and arith.minimumf",
    "math.ipowi": "multiply, with arith.muli",
    "math.isinf": "compare math.absf with infinity, with arith.cmpf",
    "math.isnormal": "compare math.absf with the least normal number and infinity, with arith.cmpf",
    "math.sincos": "use math.sin and math.cos",
    "memref.global": "use arith.constant",
    "scf.forall": _NO_PARALLEL,
    "scf.parallel": _NO_PARALLEL,
    "tensor.bitcast": "use arith.bitcast",
    "tensor.gather": "use a linalg.generic with tensor.extract in its body",
    "tensor.scatter": "use a loop with tensor.insert",
}
# In the body of a loop or branch, which runs as it is written.
_REFUSED_IN_LOOPS = {"tensor.concat": "use tensor.insert_slice"}
_ELEMENTS = (
    ir.F64Type, ir.F32Type, ir.F16Type, ir.BF16Type, ir.Float8E4M3FNType, ir.Float8E5M2Type, ir.IndexType,
)  # fmt: skip
_NAMES = "f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64, i32, i16, i8, i1 or index"
_WIDTHS = (1, 8, 16, 32, 64)


def objection(op: ir.Operation) -> tuple[ir.Operation, str, str] | None:
    """The first of ``op`` and the ops in it that cannot be compiled, what about it, and the remedy."""
    known: dict[ir.Type, bool] = {}
    for inner in (op, *nested_ops(op)):
        name = inner.name
        in_loop = name in _REFUSED_IN_LOOPS and _is_in_loop(inner, op)
        remedy = _REFUSED_IN_LOOPS[name] if in_loop else _REFUSED.get(name)
        if name != SCAN and name.split(".", 1)[0] not in TENSORS:
            remedy = _DIALECT_REMEDY
        if remedy is not None:
            where = " inside a loop or branch" if in_loop else ""
            return inner, f"mlopt cannot compile '{name}'{where}", remedy
        for value in inner.results:
            kind = value.type
            if kind not in known:
                known[kind] = _is_known(kind)
            if not known[kind]:
                what = f"mlopt cannot compile '{name}', which makes a {kind}"
                return inner, what, f"use elements of {_NAMES}"
    return None


def _is_in_loop(inner: ir.Operation, op: ir.Operation) -> bool:
    """Whether ``inner`` is in the body of a loop or branch that is in ``op``."""
    parent = inner.parent.operation
    return parent != op and (parent.name.startswith("scf.") or _is_in_loop(parent, op))


def _is_known(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.ShapedType):
        return True
    element = kind.element_type
    if isinstance(element, ir.IntegerType):
        is_byte = element.is_unsigned and element.width == 8
        return is_byte or (element.is_signless and element.width in _WIDTHS)
    return isinstance(element, _ELEMENTS)
