"""Steps that both ways from an FX graph to text share: `mlopt.jit` and torch.compile."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node

from .empties import resolve_empties
from .places_of_data import gather_places_of_data
from .source_lines import source_line
from .unwritten import fill_unwritten
from .widen import make_formats_explicit

# Checks of symbolic sizes: whoever calls the compiled code checks sizes before.
_SIZE_CHECKS = {
    "aten._assert_scalar.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._assert_tensor_metadata.default",
}

_VIEWS = {
    torch.ops.aten.view.default,
    torch.ops.aten._unsafe_view.default,
    torch.ops.aten.reshape.default,
}


def is_random(node: Node) -> bool:
    """Whether the op draws from a random generator."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def op_name(node: Node) -> str:
    """The op; of one that is wrapped to keep its place among others with side effects, the inner one."""
    wrapped = node.target is torch.ops.higher_order.with_effects
    op = node.args[1] if wrapped else node.target
    return op.__name__ if isinstance(op, (FunctionType, BuiltinFunctionType)) else str(op)


def list_ops(graph: Graph) -> tuple[tuple[str, str], ...]:
    """Each op of ``graph`` and its source line."""
    return tuple(
        (op_name(node), str(source_line(node) or ""))
        for node in graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    )


def simplify(graph: Graph) -> None:
    """What torch-mlir would compute when the program runs, or not do as eager does, is said by the graph."""
    gather_places_of_data(graph)
    _drop_size_checks(graph)
    resolve_empties(graph)
    fill_unwritten(graph)
    _name_what_expands(graph)
    _split_and_join(graph)
    _flatten_before_views(graph)
    make_formats_explicit(graph)


def _drop_size_checks(graph: Graph) -> None:
    """Remove the checks of sizes, and what only they needed."""
    for node in list(graph.nodes):
        if str(node.target) in _SIZE_CHECKS:
            graph.erase_node(node)
    graph.eliminate_dead_code()


def lift_literals(graph: Graph, owner: torch.nn.Module) -> list[tuple[Node, str, torch.Tensor]]:
    """Tensors that a decomposition put into the graph become arguments, single elements apart.

    Returns the new placeholders with the literals' names and values.
    """
    lifted = []
    for node in list(graph.nodes):
        if node.op != "get_attr":
            continue
        tensor = getattr(owner, str(node.target))
        if tensor.numel() == 1:
            continue
        with graph.inserting_before(next(iter(graph.nodes))):
            argument = graph.placeholder(f"literal_{node.name}")
        argument.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(argument)
        graph.erase_node(node)
        lifted.append((argument, str(node.target), tensor))
    return lifted


def order_placeholders(graph: Graph, nodes: list[Node]) -> None:
    """Put the placeholders ``nodes`` at the top of ``graph``, in this order."""
    for node in reversed(nodes):
        first = next(iter(graph.nodes))
        if first is not node:
            first.prepend(node)


def permute_before(graph: Graph, place: Node, node: Node, order: tuple[int, ...]) -> Node:
    """``node.permute(order)``, inserted before ``place``; ``node`` itself if the order is its own."""
    if order == tuple(range(len(order))):
        return node
    with graph.inserting_before(place):
        permuted = graph.call_function(torch.ops.aten.permute.default, (node, list(order)))
    permuted.meta["stack_trace"] = node.meta.get("stack_trace")
    permuted.meta["val"] = node.meta["val"].permute(order)
    return permuted


def take_permuted(graph: Graph, placeholder: Node, order: tuple[int, ...]) -> None:
    """Let ``graph`` take an argument with its dims in ``order``, and those that read it permute it back."""
    first = next(n for n in graph.nodes if n.op != "placeholder")
    users = list(placeholder.users)
    placeholder.meta["val"] = placeholder.meta["val"].permute(order)
    plain = permute_before(graph, first, placeholder, tuple(order.index(d) for d in range(len(order))))
    for user in users:
        user.replace_input_with(placeholder, plain)


def memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """The permutation that makes ``value`` contiguous, or None if it has gaps or overlaps.

    Symbolic sizes are compared as expressions: asking for their values would fix them.
    """
    plain = tuple(range(value.dim()))
    sizes, strides = [_expression(s) for s in value.shape], [_expression(s) for s in value.stride()]
    if any(size == 0 for size in sizes) or _fills(sizes, strides, plain):
        return plain
    order = by_strides(value)
    return order if _fills(sizes, strides, order) else None


def by_strides(value: torch.Tensor) -> tuple[int, ...]:
    """The dimensions of ``value`` from its largest stride to its smallest, for the example inputs."""
    hints = [(-_example(value.stride(d)), -_example(value.shape[d]), d) for d in range(value.dim())]
    return tuple(sorted(range(value.dim()), key=lambda d: hints[d]))


def _fills(sizes: list[Any], strides: list[Any], order: tuple[int, ...]) -> bool:
    expected: Any = sympy.Integer(1)
    for d in reversed(order):
        if sizes[d] == 1:
            continue
        if sympy.expand(strides[d] - expected) != 0:
            return False
        expected = expected * sizes[d]
    return True


def _expression(size: int | torch.SymInt) -> Any:
    return sympy.Integer(size) if isinstance(size, int) else size.node.expr


def _example(size: int | torch.SymInt) -> int:
    """What ``size`` was for the example inputs; ``int()`` of a dynamic size would fix it to that."""
    if isinstance(size, int):
        return size
    hint = size.node.hint
    return 0 if hint is None else int(hint)


def _flatten_before_views(graph: Graph) -> None:
    """A view that merges symbolic sizes is made of the flat tensor.

    torch-mlir would take ``[s0, s1, 24]`` as ``[s0 * s1, 24]`` for one whose ``s1`` is 1. The
    flat tensor between the two is folded away later.
    """
    for node in [node for node in graph.nodes if node.target in _VIEWS]:
        _flatten_before(graph, node)


def _flatten_before(graph: Graph, node: Node) -> None:
    source = node.args[0]
    assert isinstance(source, Node)
    before, after = (_symbolic(n.meta["val"].shape) for n in (source, node))
    if len(before) < 2 or before == after:
        return
    with graph.inserting_before(node):
        flat = graph.call_function(torch.ops.aten.view.default, (source, [-1]))
    flat.meta["stack_trace"] = node.meta.get("stack_trace")
    flat.meta["val"] = source.meta["val"].new_empty(math.prod(source.meta["val"].shape))
    node.replace_input_with(source, flat)


def _name_what_expands(graph: Graph) -> None:
    """An expansion to the shape that a tensor has is that tensor; others leave open the sizes that stay (-1).

    Of symbolic sizes torch-mlir does not see it, and asks of each whether it is 1 when the program runs.
    """
    for node in [node for node in graph.nodes if node.target is torch.ops.aten.expand.default]:
        source, wanted = node.args
        before, after = ([_expression(size) for size in each.meta["val"].shape] for each in (source, node))
        if before == after and not any(user.op == "output" for user in node.users):
            node.replace_all_uses_with(source)
            graph.erase_node(node)
            continue
        first = len(after) - len(before)
        stays = [
            dim >= first and size == before[dim - first] and not size.is_Integer
            for dim, size in enumerate(after)
        ]
        node.args = (source, [-1 if same else size for same, size in zip(stays, wanted, strict=True)])


def _split_and_join(graph: Graph) -> None:
    """A view of several symbolic sizes says which dimensions it splits and joins.

    For ``[6, s0, s1]`` as ``[2, 3, s0, s1]`` torch-mlir would compute the shape when the program runs, and
    write a reshape to whatever it is: nothing could be fused across it, and a GPU's host cannot make it. So
    it does with ``x.view(x.shape[0], -1, 8)``, of whose sizes it knows one.
    """
    for node in [node for node in graph.nodes if node.target in _VIEWS]:
        source = node.args[0]
        assert isinstance(source, Node)
        shapes = ([_expression(size) for size in source.meta["val"].shape], _sizes_of_view(node))
        groups = _groups(*shapes) if _is_open(node) or max(map(_symbols_in, shapes)) > 1 else None
        if groups is None or any(_symbols_in(new) > 1 and len(new) > 1 for _, new in groups):
            continue
        value, dim = source, 0
        for old, new in groups:
            value = _reshape_group(graph, value, dim, len(old), new, node)
            dim += len(new)
        if value is not source:
            if shapes[1] == [_expression(size) for size in node.meta["val"].shape]:
                value.meta["val"] = node.meta["val"]  # with its strides
            node.replace_all_uses_with(value)
            graph.erase_node(node)


def _sizes_of_view(view: Node) -> list[Any]:
    """The sizes of its result, as it is asked for them; for -1 that which torch has worked out."""
    asked = view.args[1]
    assert isinstance(asked, Sequence)
    return [
        sympy.Integer(size) if isinstance(size, int) and size >= 0 else _expression(known)
        for size, known in zip(asked, view.meta["val"].shape, strict=True)
    ]


def _is_open(view: Node) -> bool:
    """Whether more than one of the sizes that a view asks for is no number."""
    asked = view.args[1]
    assert isinstance(asked, Sequence)
    return sum(not isinstance(size, int) or size < 0 for size in asked) > 1


def _symbols_in(sizes: Sequence[Any]) -> int:
    return sum(not size.is_Integer for size in sizes)


def _groups(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[list[Any], list[Any]]] | None:
    """The least neighbours that have as many elements before as after; None if there are no such groups.

    A view keeps their number: so does the rest, where what stands before it does, and no formula shows it.
    """
    groups: list[tuple[list[Any], list[Any]]] = []
    left, right = list(before), list(after)
    if 0 in left or 0 in right:
        return None
    while left and right:
        rest = [*left], [*right]
        old, new = [left.pop(0)], [right.pop(0)]
        while (ratio := sympy.cancel(sympy.prod(old) / sympy.prod(new))) != 1:
            if sympy.denom(ratio) == 1 and right:
                new.append(right.pop(0))
            elif sympy.numer(ratio) == 1 and left:
                old.append(left.pop(0))
            else:
                return [*groups, rest]
        groups.append((old, new))
    if not groups or any(size != 1 for size in (*left, *right)):
        return None
    groups[-1] = ([*groups[-1][0], *left], [*groups[-1][1], *right])
    return groups


def _reshape_group(graph: Graph, value: Node, dim: int, old: int, new: list[Any], view: Node) -> Node:
    """``value`` with sizes ``new`` for ``old`` dimensions from ``dim`` on, which is part of ``view``."""
    aten, shape = torch.ops.aten, value.meta["val"].shape
    if old > 1:
        joined = (*shape[:dim], math.prod(shape[dim : dim + old]), *shape[dim + old :])
        value = _call(graph, view, aten.flatten.using_ints, (value, dim, dim + old - 1), joined)
    if len(new) > 1:
        sizes = [int(size) if size.is_Integer else -1 for size in new]
        known = view.meta["val"].shape[dim : dim + len(new)]
        parts = (int(size) if size.is_Integer else part for size, part in zip(new, known, strict=True))
        split = (*shape[:dim], *parts, *shape[dim + old :])
        value = _call(graph, view, aten.unflatten.int, (value, dim, sizes), split)
    return value


def _call(graph: Graph, view: Node, op: Any, args: tuple[Any, ...], shape: Sequence[Any]) -> Node:
    """A new op before ``view``, whose result has ``shape``."""
    with graph.inserting_before(view):
        node = graph.call_function(op, args)
    node.meta["stack_trace"] = view.meta.get("stack_trace")
    node.meta["val"] = view.meta["val"].new_empty(shape)
    return node


def _symbolic(sizes: Any) -> list[Any]:
    return [size.node.expr for size in sizes if isinstance(size, torch.SymInt)]
