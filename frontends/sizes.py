"""Symbolic sizes as Python expressions over the sizes of the arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ..errors import UnsupportedOpError
from .bounds import from_zero
from .conditions import Fact
from .program import Condition, Input, Size
from .source_lines import source_line
from .unsupported import unsupported_ops


def known_size(size: int | torch.SymInt) -> int | None:
    """The number that a size is; a symbolic one may have become one by a guard."""
    if isinstance(size, int):
        return size
    return int(size.node.expr) if size.node.expr.is_Integer else None


class SizePrinter(PythonPrinter):
    """Writes an expression for Python with nothing imported but math."""

    def _print_ToFloat(self, expr: sympy.Expr) -> str:  # noqa: N802
        return f"float({self._print(expr.args[0])})"

    def _print_OpaqueUnaryFn_sqrt(self, expr: sympy.Expr) -> str:  # noqa: N802
        return f"math.sqrt({self._print(expr.args[0])})"


class Sizes:
    """Knows for each symbol the first argument dimension that is just this symbol.

    A symbol that is no size by itself may be part of one: then that expression is known as a whole. One that
    an op of the ``graph`` makes of data is known to no argument, and refused.
    """

    def __init__(self, inputs: Sequence[Node], graph: Graph) -> None:
        self._graph = graph
        self._known: dict[sympy.Expr, sympy.Symbol] = {}
        places: list[tuple[Any, str]] = []
        for i, node in enumerate(inputs):
            shape: Sequence[Any] = getattr(node.meta["val"], "shape", ())
            places += [(s.node.expr, f"a{i}_{d}") for d, s in enumerate(shape) if isinstance(s, torch.SymInt)]
        for expr, name in sorted(places, key=lambda place: not place[0].is_Symbol):
            if expr.free_symbols - self._known.keys():
                self._known[expr] = sympy.Symbol(name, integer=True, nonnegative=True)
        self._from_zero = {from_zero(expr): symbol for expr, symbol in self._known.items()}

    def of(self, size: int | torch.SymInt) -> Size:
        """``size`` as a number or expression."""
        known = known_size(size)
        if known is not None:
            return known
        assert isinstance(size, torch.SymInt)
        return SizePrinter().doprint(self._renamed(size.node.expr))

    def all(self, sizes: Sequence[int | torch.SymInt]) -> tuple[Size, ...]:
        return tuple(self.of(size) for size in sizes)

    def conditions(self, facts: Sequence[Fact], inputs: Sequence[Input]) -> tuple[Condition, ...]:
        """Those of ``facts`` that do not follow from the ranges of the ``inputs``' sizes."""
        ranges = {
            sympy.Symbol(f"a{number}_{dim}", integer=True, nonnegative=True): ValueRanges(low, high or int_oo)
            for number, spec in enumerate(inputs)
            for dim in range(len(spec.shape))
            for low, high in [spec.ranges.get(dim, (0, None))]
        }
        found: dict[str, str] = {}
        for fact in facts:
            expr = self._renamed(fact.expr)
            if bound_sympy(expr, ranges).lower is not sympy.true:
                found.setdefault(SizePrinter().doprint(expr), fact.where)
        return tuple(Condition(text, where) for text, where in found.items())

    def _renamed(self, expr: Any) -> Any:
        """``expr``, over torch's symbols or `from_zero`, over the sizes of arguments."""
        expr = expr.xreplace(self._known).xreplace(self._from_zero)
        if missing := expr.free_symbols - set(self._known.values()):
            raise self._depends_on_data(missing)
        return expr

    def _depends_on_data(self, symbols: Collection[sympy.Symbol]) -> UnsupportedOpError:
        """Names the op that makes them."""
        what = "a size that depends on data"
        for node in self._graph.nodes:
            if free_unbacked_symbols(node.meta.get("val")) & set(symbols):
                return unsupported_ops([(f"{what}, that of {node.target}", source_line(node))])
        return unsupported_ops([(f"{what} ({', '.join(sorted(map(str, symbols)))})", None)])
