"""Number formats made explicit: after this, each op computes in the dtype of its operands.

Eager computes element-wise ops and reductions of f16 and bf16 in f32 and rounds the result
once; it rounds Python numbers to the dtype that it computes in. torch-mlir does neither. So:

- operands of different dtypes are cast to the dtype in which they meet;
- f16 and bf16 operands of ops that round are cast to f32, and the result back;
- Python numbers are rounded here;
- comparisons with a number become comparisons with a tensor of the operand's dtype (a number
  would be compared in f64 or i64), and ``x == y`` is written ``not x != y``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten
_CAST = torch.ops.prims.convert_element_type.default
_LOW = (torch.float16, torch.bfloat16)
EIGHT_BITS = (torch.float8_e4m3fn, torch.float8_e5m2)

# Reductions and windows; element-wise ops are known by their tag.
_ROUNDING = {
    aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim, aten.prod.default,
    aten.prod.dim_int, aten.var.correction, aten.std.correction, aten.var_mean.correction,
    aten.linalg_vector_norm.default, aten.logsumexp.default, aten.cumsum.default, aten.cumprod.default,
    aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default,
    aten._adaptive_avg_pool2d.default,
}  # fmt: skip

# Element-wise ops whose result is one of the operands, exactly, or no float.
_EXACT = {
    aten.abs.default, aten.alias.default, aten.bitwise_not.default, aten.ceil.default, aten.clamp.default,
    aten.clamp.Tensor, aten.clamp_max.default, aten.clamp_min.default, aten.clone.default,
    aten.copy.default, aten.fill.Scalar, aten.floor.default, aten.fmax.default, aten.fmin.default,
    aten.isinf.default, aten.isnan.default, aten.logical_not.default, aten.maximum.default,
    aten.minimum.default, aten.neg.default, aten.relu.default, aten.round.default, aten.sign.default,
    aten.trunc.default, aten.where.self, aten._to_copy.default, _CAST,
}  # fmt: skip

_INTEGER_ARITHMETIC = {
    aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default,
    aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor, aten.remainder.Tensor,
    aten.fmod.Tensor, aten.floor_divide.default,
}  # fmt: skip

_COMPARE = {
    aten.eq.Scalar: aten.eq.Tensor,
    aten.ne.Scalar: aten.ne.Tensor,
    aten.lt.Scalar: aten.lt.Tensor,
    aten.le.Scalar: aten.le.Tensor,
    aten.gt.Scalar: aten.gt.Tensor,
    aten.ge.Scalar: aten.ge.Tensor,
}


def make_formats_explicit(graph: Graph) -> None:
    """Rewrite ``graph`` in place; each new node keeps its source line."""
    for node in list(graph.nodes):
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if node.target in _COMPARE:
            _compare_with_tensor(graph, node, _COMPARE[node.target])
        if node.target is _CAST:
            _by_way_of_f32(graph, node)
        if node.target is aten.cat.default:
            _cast_all(graph, node)
        elif _promotes(node):
            _promote(graph, node)
        if node.target is aten.eq.Tensor:
            _equal_as_not_unequal(graph, node)
        elif node.target in _COMPARE.values():
            continue
        elif _computes(node):
            if _has_low(node):
                _widen(graph, node)
            _round_numbers(node, torch.float32)
        else:
            _round_numbers(node, _float_dtype(node))


def _value(arg: Any) -> torch.Tensor | None:
    value = arg.meta.get("val") if isinstance(arg, Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _computes(node: Node) -> bool:
    """Whether the result is rounded: not for moves, selections and comparisons."""
    target = node.target
    if target in _EXACT:
        return False
    if target in _ROUNDING:
        return True
    value = node.meta.get("val")
    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return floats and torch.Tag.pointwise in getattr(target, "tags", ())


def _promotes(node: Node) -> bool:
    """Whether the operands meet in one dtype: element-wise arithmetic and comparisons."""
    if node.target in _INTEGER_ARITHMETIC or node.target in _COMPARE.values():
        return True
    return _computes(node) and node.target not in _ROUNDING


def _promote(graph: Graph, node: Node) -> None:
    """Cast integer operands to the dtype in which they meet: torch-mlir's own takes uint8 for int8.

    8-bit floats, which eager compares and nothing else, meet in f32.
    """
    _by_way_of_f32(graph, node)
    values = [(arg, _value(arg)) for arg in node.all_input_nodes]
    tensors = [(arg, value) for arg, value in values if value is not None]
    result = node.meta["val"].dtype
    if node.target in _COMPARE.values():
        result = torch.bool
        for _, value in tensors:
            result = torch.promote_types(result, value.dtype)
    for arg, value in tensors:
        if value.dtype != result and not value.is_floating_point() and value.dtype != torch.bool:
            with graph.inserting_before(node):
                node.replace_input_with(arg, _insert(graph, node, _CAST, (arg, result), value.to(result)))


def _cast_all(graph: Graph, node: Node) -> None:
    """The operands of a cat in its dtype: torch-mlir's own cast takes uint8 for int8."""
    dtype = node.meta["val"].dtype
    for arg in node.all_input_nodes:
        value = _value(arg)
        if value is not None and value.dtype != dtype:
            with graph.inserting_before(node):
                node.replace_input_with(arg, _insert(graph, node, _CAST, (arg, dtype), value.to(dtype)))


def _by_way_of_f32(graph: Graph, node: Node) -> None:
    """Cast 8-bit operands to f32, and all operands of a cast to 8 bits: as eager does."""
    narrows = node.meta["val"].dtype in EIGHT_BITS
    for arg in node.all_input_nodes:
        value = _value(arg)
        if value is not None and value.dtype != torch.float32 and (narrows or value.dtype in EIGHT_BITS):
            with graph.inserting_before(node):
                cast = _insert(graph, node, _CAST, (arg, torch.float32), value.to(torch.float32))
                node.replace_input_with(arg, cast)


def _has_low(node: Node) -> bool:
    values = [node.meta.get("val"), *(_value(arg) for arg in node.all_input_nodes)]
    return any(isinstance(v, torch.Tensor) and v.dtype in _LOW for v in values)


def _float_dtype(node: Node) -> torch.dtype:
    values = [*(_value(arg) for arg in node.all_input_nodes), node.meta.get("val")]
    dtypes = [v.dtype for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return dtypes[0] if dtypes else torch.float32


def _round_numbers(node: Node, dtype: torch.dtype) -> None:
    """Python floats among the operands, as ``dtype`` has them; nothing to do in f64."""
    values = [_value(n) for n in (node, *node.all_input_nodes)]
    if any(v is not None and v.dtype == torch.float64 for v in values):
        return
    node.args = tuple(_rounded(arg, dtype) for arg in node.args)
    node.kwargs = {name: _rounded(arg, dtype) for name, arg in node.kwargs.items()}


def _rounded(arg: Any, dtype: torch.dtype) -> Any:
    return torch.tensor(arg, dtype=dtype).double().item() if isinstance(arg, float) else arg


def _insert(graph: Graph, like: Node, target: Any, args: tuple[Any, ...], value: torch.Tensor) -> Node:
    node = graph.call_function(target, args)
    node.meta["stack_trace"] = like.meta.get("stack_trace")
    node.meta["val"] = value
    return node


def _widen(graph: Graph, node: Node) -> None:
    with graph.inserting_before(node):
        for arg in node.all_input_nodes:
            value = _value(arg)
            if value is not None and value.dtype in _LOW:
                wide = _insert(graph, node, _CAST, (arg, torch.float32), value.float())
                node.replace_input_with(arg, wide)
    if node.kwargs.get("dtype") in _LOW:
        node.kwargs = {**node.kwargs, "dtype": torch.float32}
    narrow = node.meta["val"]
    if not isinstance(narrow, torch.Tensor) or narrow.dtype not in _LOW:
        return
    node.meta["val"] = narrow.float()
    node.meta.pop("tensor_meta", None)
    with graph.inserting_after(node):
        back = _insert(graph, node, _CAST, (node, narrow.dtype), narrow)
    node.replace_all_uses_with(back, delete_user_cb=lambda user: user is not back)


def _compare_with_tensor(graph: Graph, node: Node, tensor_overload: torch._ops.OpOverload) -> None:
    source, number = node.args[0], node.args[1]
    value = _value(source)
    if value is None or value.dtype == torch.bool or not isinstance(number, (int, float)):
        return
    with graph.inserting_before(node):
        if isinstance(number, float) and not value.is_floating_point():
            value = value.to(torch.get_default_dtype())
            source = _insert(graph, node, _CAST, (source, value.dtype), value)
        full = _insert(graph, node, aten.full.default, ([], number), value.new_full((), number))
        full.kwargs = {"dtype": value.dtype}
    node.target = tensor_overload
    node.args = (source, full)


def _equal_as_not_unequal(graph: Graph, node: Node) -> None:
    """torch-mlir folds ``x == x`` to true, NaN or not; ``x != x`` it does not fold."""
    value = _value(node.args[0])
    if value is None or not value.is_floating_point():
        return
    node.target = aten.ne.Tensor
    with graph.inserting_after(node):
        equal = _insert(graph, node, aten.logical_not.default, (node,), node.meta["val"])
    node.replace_all_uses_with(equal, delete_user_cb=lambda user: user is not equal)
