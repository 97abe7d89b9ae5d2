"""Imports MLIR's Python bindings without what they import for others' sake: numpy, opdsl and more."""

from __future__ import annotations

import sys
import typing
from importlib import import_module
from types import ModuleType
from typing import Any

_NAMED_OPS = "mlir.dialects.linalg.opdsl.ops.core_named_ops"


def import_bindings() -> None:
    """Import ``mlir.ir``, and have ``mlir.dialects.linalg`` read the named ops when one is used."""
    # numpy is for builders that nobody here calls (40 ms), logging (4 ms) for messages that nobody reads;
    # dataclasses and the bindings seldom ask inspect (5 ms).
    stand_ins: dict[str, Any] = {  # None: importing it is an error
        "numpy": None,
        "logging": _NoLogging("logging"),
        "inspect": _WhenUsed("inspect"),
    }
    hidden = [name for name in stand_ins if name not in sys.modules]
    sys.modules.update((name, stand_ins[name]) for name in hidden)
    try:
        for name in ("mlir.ir", "mlir.extras.meta", "dataclasses"):
            import_module(name)
    finally:
        for name in hidden:
            del sys.modules[name]
    sys.modules[_NAMED_OPS] = _named_ops_when_used()


class _WhenUsed(ModuleType):
    """Stands in for a module until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


class _NoLogging(ModuleType):
    """Stands in for ``logging``: loggers that say nothing."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_: self


def _named_ops_when_used() -> ModuleType:
    """Stands in for opdsl's named ops, which take 100 ms and numpy.

    What ``mlir.dialects.linalg`` gets from it is a `__getattr__` that fetches the ops themselves, and the
    names from other modules that come with them by chance.
    """

    def fetch(name: str) -> Any:
        if not name.startswith("__") and sys.modules.get(_NAMED_OPS) is stand_in:
            del sys.modules[_NAMED_OPS]
            ops = vars(import_module(_NAMED_OPS))
            known = vars(sys.modules["mlir.dialects.linalg"])
            known.update({each: value for each, value in ops.items() if each not in known})
            if name in known:
                return known[name]
        raise AttributeError(f"module 'mlir.dialects.linalg' has no attribute '{name}'")

    stand_in = ModuleType(_NAMED_OPS)
    given = {name: getattr(typing, name) for name in ("List", "Optional", "Sequence", "Union")}
    given["ir"] = sys.modules["mlir.ir"]
    vars(stand_in).update(given, __getattr__=fetch, __all__=[*given, "__getattr__"])
    return stand_in
