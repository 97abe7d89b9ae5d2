"""What must be true of symbolic sizes so that a graph reads inside of its tensors: over sizes from 0 on.

torch's symbols are positive, and it takes them for 2 or more: ``x[n - 1]`` is inside of ``n`` rows to it,
without a guard. A slice clamps its bounds, and never fails; the graph has what it clamped for the example.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sympy
import torch
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree
from torch.utils._sympy.functions import FloorDiv

aten = torch.ops.aten
_SELECTS = (aten.select.int, aten.select_scatter.default)
_SLICES = (aten.slice.Tensor, aten.slice_scatter.default)


def from_zero(expr: Any) -> Any:
    """``expr`` over symbols of the same names that may be 0."""
    return expr.xreplace({s: sympy.Symbol(s.name, integer=True, nonnegative=True) for s in expr.free_symbols})


def bounds(graph: Graph) -> Iterator[tuple[Any, Node]]:
    """Conditions, and the nodes that need them."""
    known: set[Any] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        conditions = list(_sizes(node, known))
        if node.target in (*_SELECTS, *_SLICES):
            x, *args = node.args
            part = node if node.target in (aten.select.int, aten.slice.Tensor) else args.pop(0)
            parted = _select if node.target in _SELECTS else _slice
            conditions += parted(x.meta["val"].shape, part.meta["val"].shape, *args)
        if node.target is aten._unsafe_index_put.default:
            conditions += _put(*node.args)
        yield from ((condition, node) for condition in conditions if condition is not sympy.true)


class _Number(NamedTuple):
    """A size or a place: over sizes from 0 on, and what it is for the example."""

    expr: Any
    example: int

    def plus(self, other: _Number) -> _Number:
        return _Number(self.expr + other.expr, self.example + other.example)


_ZERO = _Number(sympy.Integer(0), 0)
_ONE = _Number(sympy.Integer(1), 1)


def _number(arg: Any) -> _Number:
    value = arg.meta["val"] if isinstance(arg, Node) else arg
    if isinstance(value, torch.SymInt):
        return _Number(from_zero(value.node.expr), value.node.hint if value.node.has_hint() else 0)
    return _Number(sympy.Integer(value), value)


def _at_most(low: _Number, high: _Number) -> Any:
    """The comparison with all that is not a number on its left, where the two's common terms are gone."""
    constant, rest = sympy.expand(high.expr - low.expr).as_coeff_Add()
    return sympy.Ge(rest, -constant)


def _sizes(node: Node, known: set[Any]) -> Iterator[Any]:
    """No size is less than 0: what has it would be read at places that are another's."""
    for value in pytree.tree_leaves(node.meta.get("val")):
        for size in getattr(value, "shape", ()):
            if isinstance(size, torch.SymInt) and size.node.expr not in known:
                known.add(size.node.expr)
                yield _at_most(_ZERO, _number(size))


def _select(shape: Sequence[Any], _: Sequence[Any], dim: int, index: Any) -> Iterator[Any]:
    if isinstance(index, Node) and not index.meta["val"].node.has_hint():
        return  # it is data, and checked when the program runs
    size, place = _number(shape[dim]), _number(index)
    yield _sign(place)
    place = _from_start(place, size)
    yield _at_most(_ZERO, place)
    yield _at_most(place.plus(_ONE), size)


def _slice(
    shape: Sequence[Any],
    part: Sequence[Any],
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Iterator[Any]:
    """Start and end are clamped as the example's are, and leave as many elements as were found."""
    size = _number(shape[dim])
    places = [_ZERO, size]
    for number, bound in enumerate((start, end)):
        if bound is None or bound == sys.maxsize:
            continue
        yield _sign(_number(bound))
        place = _from_start(_number(bound), size)
        if place.example < 0:
            yield _at_most(place, _ZERO)
            places[number] = _ZERO
        elif place.example > size.example:
            yield _at_most(size, place)
            places[number] = size
        else:
            yield from (_at_most(_ZERO, place), _at_most(place, size))
            places[number] = place
    first, last = places
    if last.example < first.example:
        yield _at_most(last, first)
        last = first
    else:
        yield _at_most(first, last)
    steps = _number(step).expr
    yield sympy.Eq(_number(part[dim]).expr, FloorDiv(last.expr - first.expr + steps - 1, steps))


def _put(_: Node, indices: Sequence[Node | None], *__: Any) -> Iterator[Any]:
    """torch-mlir's loops write through one index at least."""
    for index in indices:
        yield from (
            _at_most(_ONE, _number(size)) for size in (() if index is None else index.meta["val"].shape)
        )


def _sign(place: _Number) -> Any:
    return _at_most(_ZERO, place) if place.example >= 0 else _at_most(place, _Number(sympy.Integer(-1), -1))


def _from_start(place: _Number, size: _Number) -> _Number:
    return place if place.example >= 0 else place.plus(size)
