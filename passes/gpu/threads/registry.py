"""The rules of distribution, one for each kind of op: how its share of one thread is emitted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from mlir import ir

from ...base import PassError

if TYPE_CHECKING:
    from .emitter import Emitter

Rule = Callable[["Emitter", ir.Operation], None]

# The files that register rules.
_FILES = (
    "arrivals", "asserts", "asynchronous", "compress", "contract", "convert", "elementwise",
    "extract", "kept", "leaves", "loop", "persistent", "read", "reduce", "reshape",
    "scalars", "scan", "serial", "tma", "tma_store", "warpgroup", "write",
)  # fmt: skip
_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function for the ops named; a dialect's name stands for its other ops."""

    def register(function: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return register


def rule_of(op: ir.Operation) -> Rule:
    """The rule of an op; an op without one cannot be distributed."""
    _load()
    found = _RULES.get(op.name) or _RULES.get(op.name.split(".")[0])
    if found is None:
        raise PassError(op, f"distribute: no rule for '{op.name}'; the kernel belongs on the slow path")
    return found


@cache
def _load() -> None:
    for name in _FILES:
        import_module(f".{name}", __package__)
