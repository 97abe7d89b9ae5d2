"""Which op is expanded by which function, on which floats."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

from .scalars import Scalars

# What an op's value may be replaced by, or None; built before the op.
Rule = Callable[[Scalars, ir.Operation], ir.Value | None]

RULES: dict[tuple[str, int], Rule] = {}


def expands(op_name: str, bits: int = 32) -> Callable[[Rule], Rule]:
    """Register the decorated function as what ``op_name`` on floats of ``bits`` becomes."""

    def register(rule: Rule) -> Rule:
        RULES[op_name, bits] = rule
        return rule

    return register
