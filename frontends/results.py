"""What the graph returns: the function's results, and how the user's outputs are made of them."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from .program import Alias, Mutation, Output, Weight
from .sizes import Sizes
from .source_lines import source_line
from .unsupported import unsupported_ops

MUTATION_KINDS = {
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
}


class Results:
    """After `collect`: the ``nodes`` that the function returns, ``outputs`` and ``mutations``.

    The graph's output is rewritten: each result once, in the memory order of eager's strides.
    """

    def __init__(
        self,
        exported: ExportedProgram,
        inputs: list[Node],
        weights: list[Weight],
        weight_nodes: list[Node],
        eager_inputs: dict[str, Any],
        eager_outputs: list[Any],
        sizes: Sizes,
    ) -> None:
        self.graph = exported.graph
        self.specs = exported.graph_signature.output_specs
        self.inputs = inputs
        self.weights = weights
        self.weight_nodes = weight_nodes
        self.eager_inputs = eager_inputs
        self.eager_outputs = eager_outputs
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.outputs: list[Output] = []
        self.mutations: list[Mutation] = []
        self._seen: dict[tuple[Node, tuple[int, ...]], int] = {}
        self._output_node = next(n for n in reversed(self.graph.nodes) if n.op == "output")

    def collect(self, placeholders: dict[str, Node]) -> None:
        """``placeholders`` are the graph's original ones by name."""
        values = iter(self.eager_outputs)
        for arg, spec in zip(self._output_node.args[0], self.specs, strict=True):
            if spec.kind in MUTATION_KINDS:
                self.mutations.append(self._mutation(spec, placeholders))
                self.nodes.append(arg)
            elif spec.kind is OutputKind.USER_OUTPUT:
                self.outputs.append(self._output(arg, next(values)))
            else:
                raise unsupported_ops([(f"an output of kind {spec.kind.name}", None)])
        if not self.nodes:
            self.nodes.append(self._nothing())
        self._output_node.args = (tuple(self.nodes),)

    def _nothing(self) -> Node:
        """A function has to return something: a number that is in no output."""
        with self.graph.inserting_before(self._output_node):
            zero = self.graph.call_function(torch.ops.aten.full.default, ([1], 0), {"dtype": torch.int64})
        zero.meta["val"] = torch.zeros(1, dtype=torch.int64, device="meta")
        return zero

    def _mutation(self, spec: Any, placeholders: dict[str, Node]) -> Mutation:
        result = len(self.nodes)
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            return Mutation(result, "input", self.inputs.index(placeholders[spec.target]))
        index = next(i for i, w in enumerate(self.weights) if spec.target in w.names)
        return Mutation(result, "weight", index)

    def _output(self, arg: Any, eager: Any) -> Output:
        if isinstance(eager, torch.SymInt):
            return Output("size", value=self.sizes.of(eager))
        if not isinstance(arg, Node):
            return Output("constant", value=arg)
        if not isinstance(eager, torch.Tensor):
            raise unsupported_ops([(f"an output of type {type(eager).__name__}", source_line(arg))])
        order = _memory_order(eager)
        dense = order is not None
        order = order or tuple(range(eager.dim()))
        if (arg, order) not in self._seen:
            self._seen[arg, order] = len(self.nodes)
            self.nodes.append(self._permuted(arg, order))
        return Output(
            "result",
            result=self._seen[arg, order],
            dtype=eager.dtype,
            shape=self.sizes.all(eager.shape),
            strides=self.sizes.all(eager.stride()),
            dense=dense,
            alias=self._alias(eager),
        )

    def _permuted(self, node: Node, order: tuple[int, ...]) -> Node:
        if order == tuple(sorted(order)):
            return node
        with self.graph.inserting_before(self._output_node):
            permuted = self.graph.call_function(torch.ops.aten.permute.default, (node, list(order)))
        permuted.meta["stack_trace"] = node.meta.get("stack_trace")
        permuted.meta["val"] = node.meta["val"].permute(order)
        return permuted

    def _alias(self, eager: torch.Tensor) -> Alias | None:
        """The input or weight whose memory ``eager`` is in; else an earlier output that shares it."""
        storage = eager.untyped_storage()._cdata
        groups: list[tuple[Any, list[Node]]] = [("input", self.inputs), ("weight", self.weight_nodes)]
        for kind, nodes in groups:
            for i, node in enumerate(nodes):
                base = self.eager_inputs.get(node.name)
                if isinstance(base, torch.Tensor) and base.untyped_storage()._cdata == storage:
                    return Alias(kind, i, _same_view(base, eager))
        for i, other in enumerate(self.eager_outputs):
            if other is eager:
                return None
            if isinstance(other, torch.Tensor) and other.untyped_storage()._cdata == storage:
                return Alias("output", i, _same_view(other, eager))
        return None


def _same_view(base: torch.Tensor, view: torch.Tensor) -> bool:
    same = base.storage_offset() == view.storage_offset() and base.dtype == view.dtype
    return same and base.shape == view.shape and base.stride() == view.stride()


def _example(size: int | torch.SymInt) -> int:
    """What ``size`` was for the example inputs; ``int()`` of a dynamic size would fix it to that."""
    if isinstance(size, int):
        return size
    hint = size.node.hint
    return 0 if hint is None else int(hint)


def _memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """The permutation that makes ``value`` contiguous, or None if it has gaps or overlaps."""
    if value.is_contiguous():
        return tuple(range(value.dim()))
    strides, shape = value.stride(), value.shape
    order = sorted(range(value.dim()), key=lambda d: (-_example(strides[d]), -_example(shape[d])))
    return tuple(order) if value.permute(order).is_contiguous() else None
