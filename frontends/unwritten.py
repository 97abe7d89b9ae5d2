"""Tensors that nothing was written to (torch.empty) are zeros where they are read.

    %e = aten.empty([7, 5])                    %z = aten.full([7, 5], 0)
    %r = aten.where(%mask, %column, %e)   ->   %r = aten.where(%mask, %column, %z)

A column that is written in place (``out = torch.empty(7, 5); out[:, 0] = x``) is chosen element by element
from what was there before. In eager that may be anything; a kernel reads no buffer that none has written.
"""

from __future__ import annotations

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten

# What takes a tensor for its shape, or as a buffer whose parts it writes.
_NO_READERS = {
    aten.copy.default, aten.slice_scatter.default, aten.empty_like.default, aten.full_like.default,
    aten.sym_size.int,
}  # fmt: skip


def fill_unwritten(graph: Graph) -> None:
    """Rewrite ``graph`` in place."""
    for node in list(graph.nodes):
        if node.target in (aten.empty.memory_format, aten.empty_like.default) and 0 not in _sizes(node):
            readers = [user for user in node.users if _reads(user, node)]
            if readers:
                _read_zeros(graph, node, readers)


def _sizes(node: Node) -> list[int]:
    return [size for size in node.meta["val"].shape if isinstance(size, int)]


def _reads(user: Node, node: Node) -> bool:
    """Whether ``user`` wants elements of ``node``: a result of the program is what memory holds."""
    if user.op == "output":
        return False
    return user.target not in _NO_READERS or node in user.args[1:]


def _read_zeros(graph: Graph, node: Node, readers: list[Node]) -> None:
    value = node.meta["val"]
    fill, shape = aten.full.default, node.args[0]
    if node.target is aten.empty_like.default:
        known = len(_sizes(node)) == value.dim()
        fill, shape = (fill, list(value.shape)) if known else (aten.full_like.default, node.args[0])
    with graph.inserting_after(node):
        zeros = graph.call_function(fill, (shape, 0), {"dtype": value.dtype})
    zeros.meta = {"val": value, "stack_trace": node.meta.get("stack_trace")}
    for reader in readers:
        reader.replace_input_with(node, zeros)
