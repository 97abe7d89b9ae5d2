"""Which op is expanded by which function."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

from .scalars import Scalars

# What an f32 op's value may be replaced by, or None; built before the op.
Rule = Callable[[Scalars, ir.Operation], ir.Value | None]

RULES: dict[str, Rule] = {}


def expands(op_name: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as what ``op_name`` becomes."""

    def register(rule: Rule) -> Rule:
        RULES[op_name] = rule
        return rule

    return register
