"""Which nodes of a graph stay in eager, and the graph split into what is compiled and what is not.

    x ── linear ── bernoulli ── mul ── y        x ── unit_0 ─┐
           └──────────────────── ┘      ──>     bernoulli ───┴ unit_1 ── y

Each node gets a step: an eager one comes after the compiled ones that it reads, a compiled
one in the step of the last that it reads. Step 0 is eager ops, then one compiled unit, and
so on: as few units as the order of the graph allows. Random ops keep their order, so that
they draw from eager's generator what eager draws.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from .fx_operands import DTYPE_ASM
from .graph_steps import is_random
from .loops import WHY, becomes_loops

_EMPTY = {
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_like.default,
    torch.ops.aten.new_empty.default,
    torch.ops.aten.empty_strided.default,
    torch.ops.aten.empty_permuted.default,
}


_BY_DATA = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_LEAVES = ("placeholder", "get_attr")


MEMORY = "memory that an op in eager fills"
_ELSEWHERE = "on "


@dataclass(frozen=True)
class Split:
    """The graph with a call of ``unit_N`` for each unit; ``inputs`` are theirs in the old graph."""

    module: GraphModule
    units: dict[str, GraphModule]
    inputs: dict[str, list[Node]]


def eager_reasons(graph: Graph, device: str = "cpu", *, loops: bool = True) -> dict[Node, str]:
    """The nodes that are known not to be compiled, and why.

    Compiled code has its tensors on ``device``, and may have ``loops`` over them.
    """
    reasons: dict[Node, str] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        reason = WHY if not loops and becomes_loops(node) else _reason(node, device)
        if reason:
            reasons[node] = reason
    for node in reversed(graph.nodes):
        if node.target in _EMPTY and node.users and all(user in reasons for user in node.users):
            reasons[node] = MEMORY
    return reasons


def _reason(node: Node, device: str) -> str:
    if node.op != "call_function":
        return f"a {node.op}"
    value = node.meta.get("val")
    if node.target is operator.getitem or (isinstance(value, torch.SymInt) and not _is_by_data(node)):
        return ""
    if not isinstance(node.target, torch._ops.OpOverload):
        return "not an aten op"
    if is_random(node):
        return "random: it draws from eager's generator"
    if _is_by_data(node):
        return "its result's form depends on data"
    for value in pytree.tree_leaves([n.meta.get("val") for n in (node, *node.all_input_nodes)]):
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            return "a number that is computed at run time"
        if isinstance(value, torch.Tensor):
            if value.dtype not in DTYPE_ASM:
                return f"{value.dtype}"
            if value.layout is not torch.strided:
                return f"{value.layout}"
            if value.device.type != device:
                return f"{_ELSEWHERE}{value.device}"
    return ""


def common_place(reasons: Collection[str]) -> str:
    """The device that all ``reasons`` name as where tensors are and should not be; "" if they have others."""
    found = set(reasons)
    reason = found.pop() if len(found) == 1 else ""
    return reason.removeprefix(_ELSEWHERE) if reason.startswith(_ELSEWHERE) else ""


def _is_by_data(node: Node) -> bool:
    """Whether the number or the sizes that come out are known only when it has run."""
    if not _BY_DATA.intersection(getattr(node.target, "tags", ())):
        return False
    values = pytree.tree_leaves(node.meta.get("val"))
    return any(not isinstance(value, torch.Tensor) or free_unbacked_symbols(value) for value in values)


def split(module: GraphModule, eager: Collection[Node]) -> Split:
    """``module`` with all nodes but those in ``eager`` moved into units."""
    eager = _with_items(module.graph, eager)
    steps = _steps(module.graph, eager)
    result, root = Graph(), torch.nn.Module()
    values: dict[Node, Node] = {}
    units: dict[str, GraphModule] = {}
    inputs: dict[str, list[Node]] = {}
    for node in module.graph.nodes:
        if node.op in _LEAVES:
            values[node] = result.node_copy(node)
        if node.op == "get_attr":
            setattr(root, str(node.target), getattr(module, str(node.target)))
    for step in range(max(steps.values(), default=0) + 1):
        here = [node for node, at in steps.items() if at == step]
        for node in here:
            if node in eager:
                values[node] = result.node_copy(node, values.__getitem__)
        nodes = [node for node in here if node not in eager]
        if not nodes:
            continue
        name = f"unit_{len(units)}"
        units[name], inputs[name], used = _unit(module, nodes)
        setattr(root, name, units[name])
        call = result.call_module(name, tuple(values[node] for node in inputs[name]))
        for number, node in enumerate(used):
            values[node] = result.call_function(operator.getitem, (call, number))
            values[node].meta = dict(node.meta)
    result.node_copy(next(n for n in reversed(module.graph.nodes) if n.op == "output"), values.__getitem__)
    return Split(GraphModule(root, result), units, inputs)


def _with_items(graph: Graph, eager: Collection[Node]) -> set[Node]:
    """``eager``, and the parts of results that are tuples."""
    found = set(eager)
    for node in graph.nodes:
        if _is_item(node) and node.args[0] in found:
            found.add(node)
    return found


def _steps(graph: Graph, eager: set[Node]) -> dict[Node, int]:
    steps: dict[Node, int] = {}
    last_random = 0
    for node in graph.nodes:
        if node.op in _LEAVES or node.op == "output":
            continue
        step = 0
        for source in node.all_input_nodes:
            if source in steps:
                step = max(step, steps[source] + (node in eager and source not in eager))
        if node in eager and is_random(node):
            step = last_random = max(step, last_random)
        steps[node] = step
    return steps


def prefix(module: GraphModule, count: int) -> GraphModule:
    """The first ``count`` ops of ``module``."""
    nodes = operations(module.graph)[:count]
    return _unit(
        module, [n for n in module.graph.nodes if n in nodes or (_is_item(n) and n.args[0] in nodes)]
    )[0]


def operations(graph: Graph) -> list[Node]:
    """The nodes that compute something; the parts of a tuple belong to the op that makes it."""
    return [node for node in graph.nodes if node.op not in (*_LEAVES, "output") and not _is_item(node)]


def _unit(module: GraphModule, nodes: list[Node]) -> tuple[GraphModule, list[Node], list[Node]]:
    """``nodes`` as a graph of its own; the nodes that are its arguments; those that it returns."""
    graph = Graph()
    values: dict[Node, Node] = {}
    inside = set(nodes)
    outside = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
    inputs = [node for node in outside if node.op != "get_attr"]
    for node in inputs:
        values[node] = graph.placeholder(node.name)
        values[node].meta = dict(node.meta)
    for node in [node for node in outside if node.op == "get_attr"] + nodes:
        values[node] = graph.node_copy(node, values.__getitem__)
    used = [node for node in nodes if not inside.issuperset(node.users) and not _is_tuple(node)]
    graph.output(tuple(values[node] for node in used))
    return GraphModule(module, graph), inputs, used


def _is_item(node: Node) -> bool:
    return node.target is operator.getitem


def _is_tuple(node: Node) -> bool:
    return isinstance(node.meta.get("val"), (tuple, list))
