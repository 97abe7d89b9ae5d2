"""What the graph returns: the function's results, and how the user's outputs are made of them."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from .arguments import MUTATION_KINDS, Arguments
from .graph_steps import memory_order, permute_before
from .program import Mutation, Output
from .sizes import Sizes
from .source_lines import source_line
from .unsupported import unsupported_ops


class Results:
    """The ``nodes`` that the function returns, the user's ``outputs``, and ``mutations``.

    The graph's output is rewritten: each result once, in the memory order of eager's strides.
    """

    def __init__(
        self,
        exported: ExportedProgram,
        arguments: Arguments,
        eager_inputs: dict[str, Any],
        eager_outputs: list[Any],
        sizes: Sizes,
    ) -> None:
        self.graph = exported.graph
        self.arguments = arguments
        self.eager_inputs = eager_inputs
        self.eager_outputs = eager_outputs
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.outputs: list[Output] = []
        self.mutations: list[Mutation] = []
        self._seen: dict[tuple[Node, tuple[int, ...]], int] = {}
        self._output_node = next(n for n in reversed(self.graph.nodes) if n.op == "output")

        self._collect(exported.graph_signature.output_specs)

    def _collect(self, specs: list[Any]) -> None:
        values = iter(self.eager_outputs)
        for arg, spec in zip(self._output_node.args[0], specs, strict=True):
            if spec.kind in MUTATION_KINDS:
                self.mutations.append(self._mutation(spec))
                self.nodes.append(arg)
            elif spec.kind is OutputKind.USER_OUTPUT:
                self.outputs.append(self._output(arg, next(values)))
            elif spec.kind is not OutputKind.TOKEN:  # that orders ops with effects, which are in the graph
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

    def _mutation(self, spec: Any) -> Mutation:
        result = len(self.nodes)
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            node = self.arguments.placeholders[spec.target]
            return Mutation(result, "input", self.arguments.inputs.index(node))
        index = next(i for i, w in enumerate(self.arguments.weights) if spec.target in w.names)
        return Mutation(result, "weight", index)

    def _output(self, arg: Any, eager: Any) -> Output:
        if isinstance(eager, torch.SymInt):
            return Output("size", value=self.sizes.of(eager))
        if not isinstance(arg, Node):
            return Output("constant", value=arg)
        if not isinstance(eager, torch.Tensor):
            raise unsupported_ops([(f"an output of type {type(eager).__name__}", source_line(arg))])
        order = memory_order(eager)
        dense = order is not None
        order = order or tuple(range(eager.dim()))
        if (arg, order) not in self._seen:
            self._seen[arg, order] = len(self.nodes)
            self.nodes.append(permute_before(self.graph, self._output_node, arg, order))
        return Output(
            "result",
            result=self._seen[arg, order],
            dtype=eager.dtype,
            shape=self.sizes.all(eager.shape),
            strides=self.sizes.all(eager.stride()),
            dense=dense,
            alias=self._alias(eager),
        )

    def _alias(self, eager: torch.Tensor) -> Literal["input", "weight", "output"] | None:
        """Whether ``eager`` is in the memory of an input or weight, or else of an earlier output."""
        storage = eager.untyped_storage()._cdata
        if self._holds(self.arguments.inputs, storage):
            return "input"
        if self._holds(self.arguments.weight_nodes, storage):
            return "weight"
        for other in self.eager_outputs:
            if other is eager:
                return None
            if isinstance(other, torch.Tensor) and other.untyped_storage()._cdata == storage:
                return "output"
        return None

    def _holds(self, nodes: list[Node], storage: int) -> bool:
        """Whether one of the arguments has this memory in eager."""
        values = [self.eager_inputs.get(node.name) for node in nodes]
        return any(
            isinstance(value, torch.Tensor) and value.untyped_storage()._cdata == storage for value in values
        )
