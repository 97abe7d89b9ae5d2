"""The rules of strip mining, one for each op: how to emit its result at a strip.

A rule module registers itself with `rule`; `rule_of` finds it by the op's name, with
element-wise emission for the arith and math dialects. A rule has two functions: ``emit``,
and ``uses``, which says at which strips the op's tile operands are then asked for (loops
need to know before they are built).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlir import ir

from ...base import PassError
from .fragment import Fragment, Strip

if TYPE_CHECKING:
    from .emitter import Emitter

Emit = Callable[["Emitter", ir.Value, Strip], Fragment]
Uses = Callable[[ir.Value, Strip], Sequence[tuple[ir.Value, Strip]]]


@dataclass(frozen=True)
class Rule:
    """How a result of one kind of op is emitted, and what that asks for in turn."""

    emit: Emit
    uses: Uses


_RULES: dict[str, Rule] = {}
ELEMENTWISE_DIALECTS = ("arith", "math")


def rule(*names: str, uses: Uses) -> Callable[[Emit], Emit]:
    """Register the decorated function as the ``emit`` of the ops named."""

    def register(emit: Emit) -> Emit:
        for name in names:
            _RULES[name] = Rule(emit, uses)
        return emit

    return register


def no_uses(_value: ir.Value, _strip: Strip) -> Sequence[tuple[ir.Value, Strip]]:
    """The ``uses`` of ops without tile operands."""
    return ()


def rule_of(op: ir.OpView) -> Rule:
    """The rule of an op; an op without one cannot be strip-mined."""
    name = op.operation.name
    if name in _RULES:
        return _RULES[name]
    if name.split(".")[0] in ELEMENTWISE_DIALECTS:
        return _RULES["elementwise"]
    raise PassError(op, f"strip-mine: no rule for '{name}' on tiles; the kernel belongs on the slow path")
