"""``x[i]`` of a tensor ``i`` with one index: a gather, which reads the index, and checks it, when it runs."""

from __future__ import annotations

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten


def gather_places_of_data(graph: Graph) -> None:
    """A select at the number that a tensor holds, as tracing makes it of ``x[i]``, reads that tensor itself.

    In a graph without side effects, where the select's result is as good as a copy.
    """
    for node in graph.find_nodes(op="call_function", target=aten.select.int):
        x, dim, place = node.args
        if not _is_number_of_data(place):
            continue
        index, value = place.args[0], node.meta["val"]
        if index.meta["val"].dim() > 0:
            continue
        dim %= x.meta["val"].dim()
        with graph.inserting_before(node):
            if index.meta["val"].dtype is not torch.int64:
                index = _as_int64(graph, index)
            gathered = graph.call_function(aten.index.Tensor, (x, [None] * dim + [index]))
        gathered.meta.update(node.meta)
        gathered.meta["val"] = value.new_empty(value.shape)
        node.replace_all_uses_with(gathered)
        graph.erase_node(node)
    for node in graph.find_nodes(op="call_function", target=aten._local_scalar_dense.default):
        if not node.users:
            graph.erase_node(node)


def _as_int64(graph: Graph, index: Node) -> Node:
    wide = graph.call_function(torch.ops.prims.convert_element_type.default, (index, torch.int64))
    wide.meta.update(index.meta)
    wide.meta["val"] = index.meta["val"].to(torch.int64)
    return wide


def _is_number_of_data(arg: object) -> bool:
    return isinstance(arg, Node) and arg.target is aten._local_scalar_dense.default
