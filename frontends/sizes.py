"""Symbolic sizes as Python expressions over the sizes of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.functions import FloorDiv, Mod
from torch.utils._sympy.printers import PythonPrinter

from .program import Size
from .unsupported import unsupported_ops


def known_size(size: int | torch.SymInt) -> int | None:
    """The number that a size is; a symbolic one may have become one by a guard."""
    if isinstance(size, int):
        return size
    return int(size.node.expr) if size.node.expr.is_Integer else None


def divisible_sizes(inputs: Sequence[Node]) -> list[sympy.Eq]:
    """What torch has found to divide what while it traced: guards ``Eq(Mod(a, b), 0)`` without quotients."""
    sizes = [size for node in inputs for size in getattr(node.meta.get("val"), "shape", ())]
    symbolic = next((size for size in sizes if isinstance(size, torch.SymInt)), None)
    if symbolic is None:
        return []
    guards = (guard.expr for guard in symbolic.node.shape_env.guards)
    return [
        expr
        for expr in guards
        if isinstance(expr, sympy.Eq)
        and isinstance(expr.lhs, Mod)
        and expr.rhs == 0
        and not expr.has(FloorDiv)
    ]


class Sizes:
    """Knows for each symbol the first argument dimension that is just this symbol.

    A symbol that is no size by itself may be part of one: then that expression is known as a whole.
    """

    def __init__(self, inputs: Sequence[Node]) -> None:
        self._divisible = divisible_sizes(inputs)
        self._known: dict[sympy.Expr, sympy.Symbol] = {}
        places: list[tuple[Any, str]] = []
        for i, node in enumerate(inputs):
            shape: Sequence[Any] = getattr(node.meta["val"], "shape", ())
            places += [(s.node.expr, f"a{i}_{d}") for d, s in enumerate(shape) if isinstance(s, torch.SymInt)]
        for expr, name in sorted(places, key=lambda place: not place[0].is_Symbol):
            if expr.free_symbols - self._known.keys():
                self._known[expr] = sympy.Symbol(name, integer=True, positive=True)

    def of(self, size: int | torch.SymInt) -> Size:
        """``size`` as a number or expression."""
        known = known_size(size)
        if known is not None:
            return known
        assert isinstance(size, torch.SymInt)
        expr = size.node.expr.xreplace(self._known)
        if missing := expr.free_symbols - set(self._known.values()):
            names = ", ".join(sorted(str(s) for s in missing))
            raise unsupported_ops([(f"a size that depends on data ({names})", None)])
        text: str = PythonPrinter().doprint(expr)
        return text

    def multiples(self) -> tuple[tuple[str, str], ...]:
        """What torch has found to divide what while it traced: `Program.multiples`.

        What it says of quotients follows from these.
        """
        found: dict[tuple[str, str], None] = {}
        for divisible in self._divisible:
            expr = divisible.xreplace(self._known)
            if expr.free_symbols <= set(self._known.values()):
                whole, part = map(PythonPrinter().doprint, expr.lhs.args)
                found[whole, part] = None
        return tuple(found)

    def all(self, sizes: Sequence[int | torch.SymInt]) -> tuple[Size, ...]:
        return tuple(self.of(size) for size in sizes)
