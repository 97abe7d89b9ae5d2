"""Symbolic sizes as Python expressions over the sizes of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.printers import PythonPrinter

from .program import Size
from .unsupported import unsupported_ops


def known_size(size: int | torch.SymInt) -> int | None:
    """The number that a size is; a symbolic one may have become one by a guard."""
    if isinstance(size, int):
        return size
    return int(size.node.expr) if size.node.expr.is_Integer else None


class Sizes:
    """Knows for each symbol the first argument dimension that is just this symbol.

    A symbol that is no size by itself may be part of one: then that expression is known as a whole.
    """

    def __init__(self, inputs: Sequence[Node]) -> None:
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

    def all(self, sizes: Sequence[int | torch.SymInt]) -> tuple[Size, ...]:
        return tuple(self.of(size) for size in sizes)
