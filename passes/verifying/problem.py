"""What a check returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mlir import ir


class Problem(NamedTuple):
    """An operation that breaks a rule, and which."""

    op: ir.Operation
    message: str


def functions_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """The func.funcs with a body."""
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and len(op.operation.regions[0].blocks) > 0:
            yield op.operation
