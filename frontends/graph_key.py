"""An exported graph as text that says all that its decomposition and translation depend on.

One line a node: its kind, target, arguments, source line and what is known of its value; then the
signature, the ranges of dynamic sizes, what is true of them, and which tensors are one. Graphs that run
code other than torch's own (custom ops, higher-order ops, submodules), or have sparse tensors, have no
such text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils import _pytree as pytree

from .source_lines import source_line

_NAMESPACES = ("aten", "prims")
_MODULES = ("_operator", "math", "torch")
_PLAIN = (
    bool, int, float, str, type(None),
    torch.dtype, torch.device, torch.layout, torch.memory_format,
)  # fmt: skip


class NoKey(Exception):  # noqa: N818
    """The graph has something that its text would not show."""


def graph_key(exported: ExportedProgram) -> str | None:
    """The text, or None for a graph that has none."""
    try:
        return "\n".join(_lines(exported))
    except NoKey:
        return None


def _lines(exported: ExportedProgram) -> Iterator[str]:
    from .conditions import facts, positive_sizes  # with sympy, which torch.export has imported by now
    from .equalities import lines_of_equalities

    storages: dict[int, int] = {}
    for node in exported.graph.nodes:
        value = _value(node.meta.get("val"), storages)
        yield f"{node.name} = {node.op} {_target(node)} {_arguments(node)} : {value} at {source_line(node)}"
    signature = exported.graph_signature
    yield from map(str, (*signature.input_specs, *signature.output_specs))
    yield from sorted(f"{symbol}: {limits}" for symbol, limits in exported.range_constraints.items())
    yield from sorted(f"{fact.expr} at {fact.where}" for fact in facts(exported.graph))
    yield from (
        f"{place} equal at {lines}" for place, lines in sorted(lines_of_equalities(exported.graph).items())
    )
    yield f"not 0: {sorted(map(str, positive_sizes(exported.graph)))}"
    tensors: dict[int, int] = {}
    for name, tensor in [*exported.state_dict.items(), *exported.constants.items()]:
        if not isinstance(tensor, torch.Tensor):
            raise NoKey
        yield f"{name} is tensor {tensors.setdefault(id(tensor), len(tensors))}"
    yield f"{torch.get_default_dtype()}, grad mode {torch.is_grad_enabled()}"


def _target(node: Node) -> str:
    target = node.target
    if node.op in ("placeholder", "output"):
        return str(target)
    if node.op != "call_function":
        raise NoKey
    if isinstance(target, torch._ops.OpOverload):
        if target.namespace not in _NAMESPACES:
            raise NoKey
        return str(target)
    if getattr(target, "__module__", None) not in _MODULES:
        raise NoKey
    return f"{target.__module__}.{target.__name__}"  # type: ignore[union-attr]


def _arguments(node: Node) -> str:
    leaves, structure = pytree.tree_flatten((node.args, node.kwargs))
    return f"{structure} {[_argument(leaf) for leaf in leaves]}"


def _argument(leaf: Any) -> str:
    if isinstance(leaf, Node):
        return f"%{leaf.name}"
    if type(leaf) not in _PLAIN:
        raise NoKey
    return repr(leaf)


def _value(value: Any, storages: dict[int, int]) -> str:
    return str([_leaf(leaf, storages) for leaf in pytree.tree_leaves(value)])


def _leaf(leaf: Any, storages: dict[int, int]) -> str:
    """A tensor's form, and which of the graph's storages it is in; a size with its example."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout is not torch.strided:
            raise NoKey
        storage = storages.setdefault(leaf.untyped_storage()._cdata, len(storages))
        sizes = [*leaf.shape, "strides", *leaf.stride(), "offset", leaf.storage_offset()]
        form = " ".join(_size(size) for size in sizes)
        return f"{leaf.dtype} {form} {leaf.device} {leaf.requires_grad} in {storage}"
    if isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool):
        return _size(leaf)
    if type(leaf) not in _PLAIN:
        raise NoKey
    return repr(leaf)


def _size(size: Any) -> str:
    if isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool):
        return f"({size.node.expr}, for example {size.node.hint})"
    return str(size)
