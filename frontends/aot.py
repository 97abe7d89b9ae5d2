"""What AOTAutograd knows of its graphs: which arguments are weights, which strides eager has."""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch._aot_autograd.schemas import OutputType, ViewAndMutationMeta
from torch._guards import TracingContext
from torch.fx import GraphModule, Node

_OWN_MEMORY = (OutputType.non_alias, OutputType.unsafe_view_alias, OutputType.custom_function_view)


def static_arguments(graph: GraphModule) -> list[int]:
    """The numbers of those arguments that are parameters or buffers of known sizes, and stay as they are."""
    metadata = _metadata()
    if metadata is None:
        return []
    changed = {number + len(metadata.tokens) for number in metadata.mutated_inp_runtime_indices}
    values = [node.meta.get("val") for node in graph.graph.find_nodes(op="placeholder")]
    return [
        number
        for number in metadata.static_input_indices
        if number not in changed and all(isinstance(size, int) for size in values[number].shape)
    ]


def eager_strides(module: GraphModule) -> list[Any]:
    """The strides of each output of Dynamo's graph, None for one that is no tensor.

    Its ops are those that the user called; decompositions may give their results other strides.
    """
    output = next(node for node in reversed(module.graph.nodes) if node.op == "output")
    values = [arg.meta.get("example_value") if isinstance(arg, Node) else None for arg in output.args[0]]
    return [value.stride() if isinstance(value, torch.Tensor) else None for value in values]


def keep_strides(graph: GraphModule, strides: list[Any]) -> None:
    """Give those outputs of a forward graph that are new memory the ``strides`` of eager."""
    metadata = _metadata()
    if metadata is None or len(metadata.output_info) != len(strides):
        return
    output = next(node for node in reversed(graph.graph.nodes) if node.op == "output")
    returned = list(output.args[0])
    first = len(metadata.tokens) + metadata.num_mutated_inp_runtime_indices
    for number, (info, wanted) in enumerate(zip(metadata.output_info, strides, strict=True), first):
        node = returned[number]
        value = node.meta.get("val") if isinstance(node, Node) else None
        if info.output_type not in _OWN_MEMORY or wanted is None or not isinstance(value, torch.Tensor):
            continue
        if value.shape and _texts(wanted) != _texts(value.stride()):
            with graph.graph.inserting_before(output):
                copied = graph.graph.call_function(torch.ops.aten.clone.default, (node,))
            copied.meta["val"] = value.new_empty_strided(value.shape, wanted)
            copied.meta["stack_trace"] = node.meta.get("stack_trace")
            returned[number] = copied
    output.args = (tuple(returned),)


def _texts(strides: Any) -> list[str]:
    """Comparable without fixing sizes that are symbols."""
    return [str(stride) for stride in strides]


def _metadata() -> ViewAndMutationMeta | None:
    context = TracingContext.try_get()
    return context.fw_metadata if context else None
