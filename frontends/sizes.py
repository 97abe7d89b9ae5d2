"""Symbolic sizes as Python expressions over the sizes of the arguments."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.printers import PythonPrinter

from .program import Size
from .unsupported import unsupported_ops


class Sizes:
    """Knows for each symbol the first argument dimension that is just this symbol."""

    def __init__(self, inputs: Sequence[Node]) -> None:
        self._symbols: dict[sympy.Symbol, sympy.Symbol] = {}
        for i, node in enumerate(inputs):
            for d, size in enumerate(node.meta["val"].shape):
                if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
                    self._symbols.setdefault(
                        size.node.expr, sympy.Symbol(f"a{i}_{d}", integer=True, positive=True)
                    )

    def of(self, size: int | torch.SymInt) -> Size:
        """``size`` as a number or expression."""
        if isinstance(size, int):
            return size
        expr = size.node.expr
        if expr.is_Integer:
            return int(expr)
        if missing := expr.free_symbols - self._symbols.keys():
            names = ", ".join(sorted(str(s) for s in missing))
            raise unsupported_ops([(f"a size that depends on data ({names})", None)])
        text: str = PythonPrinter().doprint(expr.xreplace(self._symbols))
        return text

    def all(self, sizes: Sequence[int | torch.SymInt]) -> tuple[Size, ...]:
        return tuple(self.of(size) for size in sizes)
