"""Sizes that must be equal: which of which input, and the line of the user's that wants it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import sympy
from torch._dynamo.source import TensorPropertySource
from torch.fx import Graph
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .conditions import equal_in, size_env
from .sizes import SizePrinter

_PARTS = re.compile(r"\['?(\w+)'?\]")  # of L['xs'][0]


def lines_of_equalities(graph: Graph) -> dict[tuple[str, int], dict[str, str]]:
    """For sizes of inputs (name, dimension) that must equal something: what is wanted, and by which line."""
    env = size_env(graph)
    if env is None:
        return {}
    found: dict[tuple[str, int], dict[str, str]] = {}
    for expr, line in equal_in(env).items():
        for place in _places(env, expr) if line else ():
            found.setdefault(place, {})[_readable(env, expr)] = line
    return found


def described_equalities(equal: Mapping[ShapeEnv, Mapping[sympy.Basic, str]]) -> list[str]:
    """``x.shape[0] == y.shape[0] at file:line`` of each equality that has a line."""
    return [
        f"{_readable(env, expr)} is wanted at {line}"
        for env, lines in equal.items()
        for expr, line in lines.items()
        if line and expr.free_symbols
    ]


def _places(env: ShapeEnv, expr: sympy.Basic) -> Iterator[tuple[str, int]]:
    """The sizes of inputs that ``expr`` has."""
    for symbol in expr.free_symbols:
        for source in env.var_to_sources.get(symbol, ()):
            if isinstance(source, TensorPropertySource) and source.idx is not None:
                yield "_".join(_PARTS.findall(_name(source.base))), source.idx


def _readable(env: ShapeEnv, expr: sympy.Basic) -> str:
    names = {
        symbol: sympy.Symbol(f"{name}.shape[{dim}]")
        for symbol in expr.free_symbols
        for name, dim in [next(_places(env, symbol), (str(symbol), 0))]
    }
    left, right = (SizePrinter().doprint(each.xreplace(names)) for each in expr.args)
    return f"{left} == {right}"


def _name(source: object) -> str:
    name = source.name  # type: ignore[attr-defined]
    return str(name() if callable(name) else name)
