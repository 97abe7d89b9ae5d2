"""What eager refuses and a trace does not: dtypes of an op, numbers to fill with, extremes of nothing.

torch.export computes with shapes and dtypes alone, and takes more than eager's kernels do: the
place of the largest of booleans, a boolean minus a number. Compiled, they would give some number
where eager raises.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from ..errors import CompileError
from .source_lines import source_line
from .widen import EIGHT_BITS

aten = torch.ops.aten

# Beside the element-wise ops: what can run on tensors of one element, whatever its shape.
_ROWS_AND_PRODUCTS = {
    aten.argmax, aten.argmin, aten.topk, aten.mm, aten.bmm, aten.mv, aten.dot, aten.matmul, aten.linear,
    aten.addmm, aten.baddbmm, aten.einsum, aten.mean, aten.var, aten.std, aten.var_mean, aten.cumprod,
    aten.softmax, aten.log_softmax, aten.logsumexp, aten.one_hot, aten.hardswish, aten.hardswish_,
    aten.trace, aten.conv1d, aten.conv2d, aten.conv3d,
}  # fmt: skip
# Where the number is among the arguments; the dtype is the result's.
_FILLED = {aten.full: 1, aten.full_like: 1, aten.new_full: 2, aten.fill: 1, aten.fill_: 1}
_EXTREMES = {aten.max, aten.min, aten.amax, aten.amin, aten.argmax, aten.argmin, aten.aminmax}
_REFUSAL = re.compile(
    r"not implemented for '|not support|only support|only applicable|is not .*supported|without overflow"
    r"|same dtype|should be the same|expected scalar type"
)


def check_refusals(graph: Graph) -> None:
    """Raise `CompileError`, with eager's own words and the source line, for the first op eager refuses."""
    for node in graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        refusal = _of_dtypes(node) or _of_number(node) or _of_nothing(node)
        if refusal:
            raise CompileError(
                f"eager refuses this {node.target}: {refusal}",
                where=str(source_line(node) or ""),
                remedy="convert the operands first, or leave the op out",
            )


def _of_dtypes(node: Node) -> str:
    """What eager says to one element of each operand; nothing where all are one float of 16 bits or more."""
    tags = node.target.tags  # type: ignore[union-attr]
    known = torch.Tag.pointwise in tags or node.target.overloadpacket in _ROWS_AND_PRODUCTS  # type: ignore[union-attr]
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    known = known or any(value.dtype in EIGHT_BITS for value in tensors)
    if not known or torch.Tag.nondeterministic_seeded in tags:
        return ""
    same = len({value.dtype for value in tensors}) == 1
    if len(tensors) < len(values) or (same and all(map(_is_plain, tensors))):
        return ""

    def one(operand: Node) -> torch.Tensor:
        value = operand.meta["val"]
        return torch.ones([1] * value.dim(), dtype=value.dtype)

    args, kwargs = pytree.tree_map_only(Node, one, (node.args, node.kwargs))
    if node.target.overloadpacket is aten.topk:  # type: ignore[union-attr]
        args = (args[0], 1, *args[2:])
    try:
        node.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, IndexError) as error:  # a place that one element does not have
        text = str(error).splitlines()[0]
        return text if _REFUSAL.search(text) else ""
    return ""


def _is_plain(value: torch.Tensor) -> bool:
    """Whether eager computes in the dtype: a float of 16 bits or more."""
    return value.is_floating_point() and value.dtype not in EIGHT_BITS


def _of_number(node: Node) -> str:
    """What eager says to a number that the dtype of the filled tensor does not have.

    A tensor of one element takes numbers that are too large for a float of 8 or 16 bits.
    """
    place = _FILLED.get(node.target.overloadpacket)  # type: ignore[union-attr]
    if place is None:
        return ""
    name = node.target._schema.arguments[place].name  # type: ignore[union-attr]
    number = node.args[place] if len(node.args) > place else node.kwargs.get(name)
    if not isinstance(number, bool | int | float):
        return ""
    filled = node.meta["val"]
    count = filled.numel()
    try:
        torch.full([1 if isinstance(count, int) and count == 1 else 2], number, dtype=filled.dtype)
    except RuntimeError as error:
        text = str(error).splitlines()[0]
        return text if _REFUSAL.search(text) else ""
    return ""


def _of_nothing(node: Node) -> str:
    """The extremes of no elements."""
    shape = _reduced_sizes(node)
    empty = any(isinstance(size, int) and size == 0 for size in shape)
    if not empty:
        return ""
    if len(node.args) > 1:
        return f"expected reduction dim {node.args[1]} to have non-zero size"
    return "expected reduction dim to be specified for input.numel() == 0"


def sizes_of_extremes(graph: Graph) -> set[Any]:
    """The symbols of the sizes that extremes are taken over: eager refuses 0."""
    symbols: set[Any] = set()
    for node in graph.nodes:
        for size in _reduced_sizes(node):
            if isinstance(size, torch.SymInt) and (size.node.expr.is_Symbol or size.node.expr.is_Mul):
                symbols |= size.node.expr.free_symbols
    return symbols


def _reduced_sizes(node: Node) -> list[Any]:
    """The sizes that an extreme or its place is taken over; none for other ops."""
    if node.op != "call_function" or getattr(node.target, "overloadpacket", None) not in _EXTREMES:
        return []
    operand = node.args[0]
    if not isinstance(operand, Node) or (node.args[1:] and isinstance(node.args[1], Node)):
        return []  # the larger of two tensors
    shape = operand.meta["val"].shape
    dims: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if dims is None or dims == []:
        return list(shape)
    return [shape[dim] for dim in ([dims] if isinstance(dims, int) else dims) if len(shape) > 0]
