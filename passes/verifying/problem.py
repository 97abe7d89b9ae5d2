"""What a check returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mlir import ir

from ..operations import ops_named


class Problem(NamedTuple):
    """An operation that breaks a rule, and which."""

    op: ir.Operation
    message: str


def functions_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """The func.funcs with a body, those of modules inside of it, too."""
    for function in ops_named(module, "func.func"):
        if len(function.regions[0].blocks) > 0:
            yield function
