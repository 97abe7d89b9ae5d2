"""Values without elements: made anew, so that only what gives elements is left to lower.

torch-mlir divides by a size when it lowers a view, and finds no shape for a cat of nothing. So an
op whose result has a size of 0 becomes an empty tensor of that shape (not a filled one: torch-mlir
fills none of uint8), and cat loses such operands::

    %v = aten.view(%x: [0, 6], [2, 0, 3])         %v = aten.empty([2, 0, 3])
    %c = aten.cat([%e: [0, 4], %y: [2, 4]])  ->   %c = %y
"""

from __future__ import annotations

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten


def resolve_empties(graph: Graph) -> None:
    """Rewrite ``graph`` in place; shapes with a symbolic size beside the 0 are left alone."""
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor):
            continue
        if _is_empty(value):
            _replace(graph, node, aten.empty.memory_format, (list(value.shape),), {"dtype": value.dtype})
        elif node.target is aten.cat.default:
            _drop_empty_operands(graph, node, value)
    graph.eliminate_dead_code()


def _is_empty(value: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in value.shape) and 0 in value.shape


def _replace(graph: Graph, node: Node, target: object, args: tuple[object, ...], kwargs: object) -> None:
    with graph.inserting_before(node):
        made = graph.call_function(target, args, kwargs)  # type: ignore[arg-type]
    made.meta["val"] = node.meta["val"]
    made.meta["stack_trace"] = node.meta.get("stack_trace")
    node.replace_all_uses_with(made)
    graph.erase_node(node)


def _drop_empty_operands(graph: Graph, node: Node, value: torch.Tensor) -> None:
    """Those of shape (0,), which eager takes at any rank, too. The dtype stays that of all of them."""
    operands, *rest = node.args
    assert isinstance(operands, (list, tuple))
    kept = [arg for arg in operands if isinstance(arg, Node) and not _is_empty(arg.meta["val"])]
    if len(kept) == len(operands):
        return
    if len(kept) == 1:
        _replace(graph, node, torch.ops.prims.convert_element_type.default, (kept[0], value.dtype), {})
        return
    if all(arg.meta["val"].dtype != value.dtype for arg in kept):
        with graph.inserting_before(node):
            first = graph.call_function(torch.ops.prims.convert_element_type.default, (kept[0], value.dtype))
        first.meta["val"] = kept[0].meta["val"].to(value.dtype)
        first.meta["stack_trace"] = node.meta.get("stack_trace")
        kept[0] = first
    node.args = (kept, *rest)
