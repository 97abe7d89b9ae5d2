"""The arguments of an exported graph: what the user passes, then the module's tensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Node

from .decomposing.target import takes_memory_order
from .graph_steps import lift_literals, memory_order, order_placeholders, take_permuted
from .program import Input, Weight
from .sizes import Sizes, known_size
from .unsupported import unsupported_ops

MUTATION_KINDS = {
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
}
_WEIGHT_KINDS: dict[InputKind, Any] = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
}


class Arguments:
    """The placeholders of ``exported.graph``, sorted into ``inputs`` and weights.

    Tied weights become one, those that nothing reads go away, tensors that a decomposition made
    become weights. ``placeholders`` finds each by the name it had, ``constants`` holds the inputs
    that are no tensors by position. ``orders`` has the inputs of known sizes that are taken with their dims
    in the order of their memory, since that is another.
    """

    def __init__(self, exported: ExportedProgram) -> None:
        self.exported = exported
        self.graph = exported.graph
        self.placeholders = {n.name: n for n in self.graph.nodes if n.op == "placeholder"}
        self.inputs: list[Node] = []
        self.constants: dict[int, Any] = {}
        self.weights: list[Weight] = []
        self.weight_nodes: list[Node] = []
        self._positions: list[int] = []
        self._collect()
        for node, name, tensor in lift_literals(self.graph, exported.graph_module):
            self._append(node, Weight(name, "constant", tensor, (name,)))
        self._drop_unused_weights()
        self.orders: dict[Node, tuple[int, ...]] = {}
        self._read_in_memory_order()

    def order(self) -> None:
        """Inputs first, then weights, at the top of the graph."""
        order_placeholders(self.graph, [*self.inputs, *self.weight_nodes])

    def describe_inputs(
        self, sizes: Sizes, not_zero: Collection[Any], lines: Mapping[tuple[str, int], Mapping[str, str]]
    ) -> tuple[Input, ...]:
        """What a caller has to pass.

        The symbols in ``not_zero`` are sizes that eager wants to be 1 or more; ``lines`` want sizes, by the
        input's name and the dimension, to equal something.
        """
        return tuple(
            self._describe(node, position, sizes, not_zero, lines)
            for node, position in zip(self.inputs, self._positions, strict=True)
        )

    def _collect(self) -> None:
        position = 0
        by_tensor: dict[int, int] = {}
        for spec in self.exported.graph_signature.input_specs:
            node = self.placeholders.get(spec.arg.name)
            if spec.kind is InputKind.USER_INPUT:
                if isinstance(spec.arg, ConstantArgument):
                    self.constants[position] = spec.arg.value
                    if node is not None:
                        self.graph.erase_node(node)
                elif isinstance(spec.arg, SymIntArgument):
                    raise unsupported_ops([(f"the dynamic int argument {spec.arg.name}", None)])
                else:
                    assert node is not None
                    self.inputs.append(node)
                    self._positions.append(position)
                position += 1
            elif spec.kind in _WEIGHT_KINDS and isinstance(spec.arg, TensorArgument):
                assert node is not None and spec.target is not None
                self._add_weight(node, spec.target, _WEIGHT_KINDS[spec.kind], by_tensor)
            elif spec.kind is InputKind.TOKEN:  # nothing's: what has effects is refused by its name
                assert node is not None and not node.users
                self.graph.erase_node(node)
            else:
                raise unsupported_ops([(f"an argument of kind {spec.kind.name} ({spec.target})", None)])

    def _add_weight(self, node: Node, name: str, kind: Any, by_tensor: dict[int, int]) -> None:
        state = self.exported.state_dict
        tensor = state[name] if name in state else self.exported.constants[name]
        first = by_tensor.setdefault(id(tensor), len(self.weights))
        if first == len(self.weights):
            self._append(node, Weight(name, kind, tensor, (name,)))
            return
        known = self.weights[first]
        self.weights[first] = Weight(known.name, known.kind, tensor, (*known.names, name))
        node.replace_all_uses_with(self.weight_nodes[first])
        self.placeholders[node.name] = self.weight_nodes[first]
        self.graph.erase_node(node)

    def _append(self, node: Node, weight: Weight) -> None:
        self.weights.append(weight)
        self.weight_nodes.append(node)

    def _drop_unused_weights(self) -> None:
        """Weights that nothing reads; one that is only written to has its new value as a result."""
        written = {s.target for s in self.exported.graph_signature.output_specs if s.kind in MUTATION_KINDS}
        kept = [
            (weight, node)
            for weight, node in zip(self.weights, self.weight_nodes, strict=True)
            if node.users or written.intersection(weight.names)
        ]
        for node in set(self.weight_nodes) - {node for _, node in kept}:
            self.graph.erase_node(node)
        self.weights = [weight for weight, _ in kept]
        self.weight_nodes = [node for _, node in kept]

    def _read_in_memory_order(self) -> None:
        for node in self.inputs:
            value = node.meta["val"]
            order = memory_order(value)
            known = all(isinstance(size, int) for size in value.shape)
            turned = order not in (None, tuple(range(value.dim())))
            if order and turned and known and takes_memory_order():
                self.orders[node] = order
                take_permuted(self.graph, node, order)

    def _describe(
        self,
        node: Node,
        position: int,
        sizes: Sizes,
        not_zero: Collection[Any],
        lines: Mapping[tuple[str, int], Mapping[str, str]],
    ) -> Input:
        value, order = node.meta["val"], self.orders.get(node, ())
        if order:
            value = value.permute([order.index(d) for d in range(len(order))])
        limits = self.exported.range_constraints
        ranges = {}
        for d, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and size.node.expr in limits:
                limit = limits[size.node.expr]
                high = int(limit.upper) if limit.upper.is_finite and limit.upper < 2**62 else None
                low = max(int(limit.lower), int(size.node.expr in not_zero))
                ranges[d] = (low, high)
        return Input(
            name=node.name,
            position=position,
            dtype=value.dtype,
            shape=tuple(map(known_size, value.shape)),
            sizes=sizes.all(value.shape),
            ranges=ranges,
            lines={d: lines[node.name, d] for d in range(value.dim()) if (node.name, d) in lines},
            strides=tuple(value.stride()) if order else (),
            order=order,
        )
