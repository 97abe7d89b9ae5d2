"""Which math op is expanded by which function."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

from .lanes import Lanes

# An op's operands to its result.
Rule = Callable[[Lanes, list[ir.Value]], ir.Value]

# As if they were ops.
ONE_PLUS_EXP = "1 + math.exp"
ONE_PLUS_TANH = "1 + math.tanh"
ONE_PLUS_ERF = "1 + math.erf"
EXP_NOT_POSITIVE = "math.exp of 0 at most"

RULES: dict[tuple[str, int], Rule] = {}


def expands(op_name: str, *bits: int) -> Callable[[Rule], Rule]:
    """Register the decorated function as what ``op_name`` becomes on floats of ``bits``, 32 unless said."""

    def register(rule: Rule) -> Rule:
        for width in bits or (32,):
            RULES[op_name, width] = rule
        return rule

    return register
