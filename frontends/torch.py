"""torch.nn.Module -> `Program`: torch dialect text, and what calling it needs.

torch.export gives a graph of aten ops without side effects; our decompositions make it
one that torch-mlir lowers well. Weights become arguments after the inputs, in-place
changes of buffers and inputs become leading results.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Mapping, Sequence
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
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from ..errors import CompileError, MloptError, UnsupportedOpError
from .decompositions import decomposition_table
from .empties import resolve_empties
from .fx_text import DTYPE_ASM, graph_to_text
from .kept_programs import KeptProgram
from .program import Input, Program, Result, Weight
from .refusals import check_refusals
from .results import MUTATION_KINDS, Results
from .sizes import Sizes
from .source_lines import source_line
from .unsupported import EAGER_REMEDY, unsupported_dtype, unsupported_ops
from .widen import make_formats_explicit

_WEIGHT_KINDS: dict[InputKind, Any] = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
}
# Checks of symbolic sizes: the caller checks the ranges of `Input` instead.
_SIZE_CHECKS = {
    "aten._assert_scalar.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._assert_tensor_metadata.default",
}


def capture(
    module: torch.nn.Module,
    example_inputs: Sequence[Any],
    dynamic_shapes: Any = None,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    keeper: Callable[[ExportedProgram], KeptProgram] | None = None,
) -> Program:
    """Trace ``module`` on ``example_inputs``; ``dynamic_shapes`` is torch.export's.

    ``keeper`` gives the exported graph's place in the cache, where there is one.
    """
    args, kwargs = _distinct((tuple(example_inputs), dict(example_kwargs or {})))
    with _tracing:
        exported = _export(module, args, kwargs, dynamic_shapes)
        kept = keeper(exported) if keeper is not None else None
        known = kept.load() if kept is not None else None
        if known is not None:
            return known
        eager_outputs = _output_values(exported)
        eager_inputs = {n.name: n.meta.get("val") for n in exported.graph.nodes if n.op == "placeholder"}
        _check_dtypes(exported.graph)
        check_refusals(exported.graph)
        program = _Capture(_decompose(exported, module), eager_inputs, eager_outputs).program()
        if kept is not None:
            kept.store(program)
        return program


# torch traces in one thread at a time. A child of fork has none of the other threads, so its lock is free.
_tracing = threading.RLock()
os.register_at_fork(after_in_child=lambda: globals().update(_tracing=threading.RLock()))


def _distinct(tree: Any) -> Any:
    """A tensor that is passed twice as two: torch.export would take the two for one input at every call."""
    seen: set[int] = set()

    def distinct(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in seen:
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)
        seen.add(id(tensor))
        return tensor

    return pytree.tree_map_only(torch.Tensor, distinct, tree)


def _export(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> ExportedProgram:
    try:
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except MloptError:
        raise
    except Exception as error:
        raise CompileError(
            f"torch.export cannot trace {type(module).__name__}: {type(error).__name__}",
            details=str(error),
            remedy="run it in eager (fallback=True), or rewrite the part that depends on data",
        ) from error


def _decompose(exported: ExportedProgram, module: torch.nn.Module) -> ExportedProgram:
    try:
        return exported.run_decompositions(decomposition_table())
    except MloptError:
        raise
    except Exception as error:
        raise UnsupportedOpError(
            f"the ops of {type(module).__name__} cannot be decomposed: {type(error).__name__}",
            details=str(error),
            remedy=EAGER_REMEDY,
        ) from error


def _output_values(exported: ExportedProgram) -> list[Any]:
    """What eager returns, as fake tensors: with its strides, and its sharing of memory."""
    output = next(n for n in reversed(exported.graph.nodes) if n.op == "output")
    specs = exported.graph_signature.output_specs
    user = [a for a, s in zip(output.args[0], specs, strict=True) if s.kind is OutputKind.USER_OUTPUT]
    return [arg.meta["val"] if isinstance(arg, Node) else arg for arg in user]


def _check_dtypes(graph: Graph) -> None:
    """Complex numbers and the like, by the user's line, before a decomposition takes them apart."""
    for node in graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.dtype not in DTYPE_ASM:
                raise unsupported_dtype(str(value.dtype), source_line(node))


class _Capture:
    """The exported graph, rewritten step by step in `program`."""

    def __init__(
        self, exported: ExportedProgram, eager_inputs: dict[str, Any], eager_outputs: list[Any]
    ) -> None:
        self.exported = exported
        self.graph = exported.graph
        self.eager_inputs = eager_inputs
        self.eager_outputs = eager_outputs
        self.placeholders = {n.name: n for n in self.graph.nodes if n.op == "placeholder"}
        self.inputs: list[Node] = []
        self.input_positions: list[int] = []
        self.constants: dict[int, Any] = {}
        self.weights: list[Weight] = []
        self.weight_nodes: list[Node] = []

    def program(self) -> Program:
        ops = self._ops()
        self._drop_size_checks()
        resolve_empties(self.graph)
        make_formats_explicit(self.graph)
        self._collect_arguments()
        self._lift_literals()
        self._drop_unused_weights()
        sizes = Sizes(self.inputs)
        returned = Results(
            self.exported,
            self.inputs,
            self.weights,
            self.weight_nodes,
            self.eager_inputs,
            self.eager_outputs,
            sizes,
        )
        returned.collect(self.placeholders)
        self._order_arguments()
        results = tuple(
            Result(node.meta["val"].dtype, sizes.all(node.meta["val"].shape)) for node in returned.nodes
        )
        dynamic = [size for result in results for size in result.sizes if isinstance(size, str)]
        return Program(
            text=graph_to_text(self.graph, dynamic),
            inputs=tuple(self._input(i, sizes) for i in range(len(self.inputs))),
            weights=tuple(self.weights),
            results=results,
            outputs=tuple(returned.outputs),
            mutations=tuple(returned.mutations),
            constants=self.constants,
            in_spec=self.exported.call_spec.in_spec,
            out_spec=self.exported.call_spec.out_spec,
            ops=ops,
        )

    def _ops(self) -> tuple[tuple[str, str], ...]:
        random: list[tuple[str, Any]] = []
        ops = []
        for node in self.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem:
                continue
            ops.append((str(node.target), str(source_line(node) or "")))
            tags = getattr(node.target, "tags", ())
            if torch.Tag.nondeterministic_seeded in tags:
                what = f"the random op {node.target} (random ops run in eager only)"
                random.append((what, source_line(node)))
        if random:
            raise unsupported_ops(random)
        return tuple(ops)

    def _drop_size_checks(self) -> None:
        for node in list(self.graph.nodes):
            if str(node.target) in _SIZE_CHECKS:
                self.graph.erase_node(node)
        self.graph.eliminate_dead_code()

    def _collect_arguments(self) -> None:
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
                    self.input_positions.append(position)
                position += 1
            elif spec.kind in _WEIGHT_KINDS and isinstance(spec.arg, TensorArgument):
                assert node is not None and spec.target is not None
                self._add_weight(node, spec.target, _WEIGHT_KINDS[spec.kind], by_tensor)
            else:
                raise unsupported_ops([(f"an argument of kind {spec.kind.name} ({spec.target})", None)])

    def _add_weight(self, node: Node, name: str, kind: Any, by_tensor: dict[int, int]) -> None:
        state = self.exported.state_dict
        tensor = state[name] if name in state else self.exported.constants[name]
        first = by_tensor.setdefault(id(tensor), len(self.weights))
        if first < len(self.weights):
            known = self.weights[first]
            self.weights[first] = Weight(known.name, known.kind, tensor, (*known.names, name))
            node.replace_all_uses_with(self.weight_nodes[first])
            self.placeholders[node.name] = self.weight_nodes[first]
            self.graph.erase_node(node)
            return
        self.weights.append(Weight(name, kind, tensor, (name,)))
        self.weight_nodes.append(node)

    def _lift_literals(self) -> None:
        """Tensors that a decomposition put into the graph become arguments, single elements apart."""
        for node in list(self.graph.nodes):
            if node.op != "get_attr":
                continue
            tensor = getattr(self.exported.graph_module, str(node.target))
            if tensor.numel() == 1:
                continue
            with self.graph.inserting_before(next(iter(self.graph.nodes))):
                argument = self.graph.placeholder(f"literal_{node.name}")
            argument.meta["val"] = node.meta["val"]
            node.replace_all_uses_with(argument)
            self.graph.erase_node(node)
            self.weights.append(Weight(str(node.target), "constant", tensor, (str(node.target),)))
            self.weight_nodes.append(argument)

    def _input(self, index: int, sizes: Sizes) -> Input:
        node = self.inputs[index]
        value = node.meta["val"]
        limits = self.exported.range_constraints
        ranges = {}
        for d, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and size.node.expr in limits:
                limit = limits[size.node.expr]
                high = int(limit.upper) if limit.upper.is_finite and limit.upper < 2**62 else None
                ranges[d] = (int(limit.lower), high)
        return Input(
            name=node.name,
            position=self.input_positions[index],
            dtype=value.dtype,
            shape=tuple(s if isinstance(s, int) else None for s in value.shape),
            sizes=sizes.all(value.shape),
            ranges=ranges,
            requires_grad=bool(getattr(self.eager_inputs.get(node.name), "requires_grad", False)),
        )

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

    def _order_arguments(self) -> None:
        """Inputs first, then weights, at the top of the graph."""
        for node in reversed([*self.inputs, *self.weight_nodes]):
            first = next(iter(self.graph.nodes))
            if first is not node:
                first.prepend(node)
