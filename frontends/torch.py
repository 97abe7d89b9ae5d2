"""torch.nn.Module -> `Program`: torch dialect text, and what calling it needs.

torch.export gives a graph of aten ops without side effects; our decompositions make it
one that torch-mlir lowers well. Weights become arguments after the inputs, in-place
changes of buffers and inputs become leading results.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol
from unittest import mock

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound
from torch.utils import _pytree as pytree

from ..errors import CompileError, MloptError, UnsupportedOpError
from .arguments import Arguments
from .conditions import Fact, facts, noted_answers, positive_sizes
from .decomposing.target import used_loops
from .decompositions import decomposed
from .equalities import described_equalities, lines_of_equalities
from .fx_operands import DTYPE_ASM
from .fx_text import graph_to_text
from .graph_code import code_on_demand
from .graph_steps import is_random, list_ops, simplify
from .loops import refuse_loops
from .module_form import named_tensors
from .program import Program, Result
from .refusals import check_refusals, sizes_of_extremes
from .results import Results
from .sizes import Sizes
from .source_lines import source_line
from .tracing import one_at_a_time
from .unsupported import EAGER_REMEDY, NUMBER_REMEDY, check_dense, unsupported_dtype, unsupported_ops
from .untraced import described, untraced

_RANDOM_REMEDY = "random ops run in eager only (fallback=True); or pass the numbers as an input"


class Keeper(Protocol):
    """The place of one exported graph's program in a cache."""

    def load(self) -> Program | None:
        """The program with this graph's own weights, or None."""
        ...

    def store(self, program: Program) -> None:
        """Keep ``program`` for the next time."""
        ...


def capture(
    module: torch.nn.Module,
    example_inputs: Sequence[Any],
    dynamic_shapes: Any = None,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    keeper: Callable[[ExportedProgram], Keeper] | None = None,
) -> Program:
    """Trace ``module`` on ``example_inputs``; ``dynamic_shapes`` is torch.export's.

    ``keeper`` gives the exported graph's place in the cache, where there is one.
    """
    args, kwargs = _distinct((tuple(example_inputs), dict(example_kwargs or {})))
    _check_arguments(module, args, kwargs)
    with one_at_a_time(), code_on_demand():
        exported = _export(module, args, kwargs, dynamic_shapes)
        kept = keeper(exported) if keeper is not None else None
        known = kept.load() if kept is not None else None
        if known is not None:
            return known
        program = replace(program_of(exported, module._get_name()), loops=used_loops())
        if kept is not None:
            kept.store(program)
        return program


def program_of(exported: ExportedProgram, name: str) -> Program:
    """The program of what torch.export made of a module called ``name``."""
    eager_outputs = _output_values(exported)
    eager_inputs = {n.name: n.meta.get("val") for n in exported.graph.nodes if n.op == "placeholder"}
    _check_values(exported.graph)
    check_refusals(exported.graph)
    not_zero = sizes_of_extremes(exported.graph) | positive_sizes(exported.graph)
    known, lines = facts(exported.graph), lines_of_equalities(exported.graph)
    return _program(_decompose(exported, name), eager_inputs, eager_outputs, not_zero, known, lines)


def _check_arguments(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `CompileError` if ``forward`` cannot be called with these, or one of its tensors is not dense."""
    signature = inspect.signature(module.forward)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise CompileError(
            f"{module._get_name()} cannot be called with these example inputs: {error}",
            details=f"it takes {signature}, and these were given: {described((args, kwargs))}",
            remedy="give one example input for each argument, in their order, or by name (example_kwargs)",
        ) from error
    for kind, values in (("input", given), ("weight", named_tensors(module))):
        for name, value in values.items():
            for each in pytree.tree_leaves(value):
                if isinstance(each, torch.Tensor):
                    check_dense(each, f"{kind} '{name}'")


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
    wanted: Callable[[], Any] = dict
    try:
        with noted_answers() as wanted, _no_graphs():
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except MloptError:
        raise
    except Exception as error:
        equalities = described_equalities(wanted())
        raise untraced(module._get_name(), error, (args, kwargs), dynamic_shapes, equalities) from error


def _no_graphs() -> AbstractContextManager[Any]:
    """torch.export prints what it has of a graph before it raises."""
    return mock.patch("torch.export._trace.print", lambda *_, **__: None, create=True)


def _decompose(exported: ExportedProgram, name: str) -> ExportedProgram:
    try:
        return decomposed(exported)
    except MloptError:
        raise
    except (GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound) as error:
        read = exported.graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
        raise UnsupportedOpError(
            f"the ops of {name} cannot be decomposed: what they read or write depends on a tensor's values",
            where=next((str(source_line(node) or "") for node in read), ""),
            remedy=NUMBER_REMEDY,
        ) from error
    except Exception as error:
        raise UnsupportedOpError(
            f"the ops of {name} cannot be decomposed: {type(error).__name__}",
            details=str(error),
            remedy=EAGER_REMEDY,
        ) from error


def _output_values(exported: ExportedProgram) -> list[Any]:
    """What eager returns, as fake tensors: with its strides, and its sharing of memory."""
    output = next(n for n in reversed(exported.graph.nodes) if n.op == "output")
    specs = exported.graph_signature.output_specs
    user = [a for a, s in zip(output.args[0], specs, strict=True) if s.kind is OutputKind.USER_OUTPUT]
    return [arg.meta["val"] if isinstance(arg, Node) else arg for arg in user]


def _check_values(graph: Graph) -> None:
    """Complex numbers, sparse tensors, by the user's line, before a decomposition takes them apart."""
    for node in graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor):
                check_dense(value, f"the result of {node.target}", source_line(node))
                if value.dtype not in DTYPE_ASM:
                    raise unsupported_dtype(str(value.dtype), source_line(node))


def _program(
    exported: ExportedProgram,
    eager_inputs: dict[str, Any],
    eager_outputs: list[Any],
    not_zero: set[Any],
    known: list[Fact],
    lines: Mapping[tuple[str, int], Mapping[str, str]],
) -> Program:
    """The decomposed graph, rewritten step by step, as text."""
    graph = exported.graph
    ops = list_ops(graph)
    _refuse_random_ops(graph)
    refuse_loops(graph)
    simplify(graph)
    arguments = Arguments(exported)
    sizes = Sizes(arguments.inputs, graph)
    returned = Results(exported, arguments, eager_inputs, eager_outputs, sizes)
    arguments.order()
    results = tuple(
        Result(node.meta["val"].dtype, sizes.all(node.meta["val"].shape)) for node in returned.nodes
    )
    dynamic = [size for result in results for size in result.sizes if isinstance(size, str)]
    inputs = arguments.describe_inputs(sizes, not_zero, lines)
    return Program(
        text=graph_to_text(graph, dynamic),
        inputs=inputs,
        weights=tuple(arguments.weights),
        results=results,
        outputs=tuple(returned.outputs),
        mutations=tuple(returned.mutations),
        constants=arguments.constants,
        conditions=sizes.conditions([*known, *facts(graph)], inputs),
        in_spec=exported.call_spec.in_spec,
        out_spec=exported.call_spec.out_spec,
        ops=ops,
    )


def _refuse_random_ops(graph: Graph) -> None:
    random = [(f"the random op {node.target}", source_line(node)) for node in graph.nodes if is_random(node)]
    if random:
        raise unsupported_ops(random, _RANDOM_REMEDY)
