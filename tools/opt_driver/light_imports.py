"""Imports MLIR's Python bindings without what they import for others' sake: numpy, opdsl and more."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_NAMED_OPS = "mlir.dialects.linalg.opdsl.ops.core_named_ops"
_BY_CHANCE = ("List", "Optional", "Sequence", "Union", "ir")


def import_bindings() -> None:
    """Import ``mlir.ir``, and have ``mlir.dialects.linalg`` read the named ops when one is called."""
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
    sys.modules[_NAMED_OPS] = _NamedOps(_NAMED_OPS)


class _WhenUsed(ModuleType):
    """Stands in for a module until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


class _NoLogging(ModuleType):
    """Stands in for ``logging``: loggers that say nothing."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_: self


class _NamedOps(ModuleType):
    """Stands in for opdsl's named ops, which take 100 ms and numpy, until one of them is called.

    ``mlir.dialects.linalg`` takes all names from it, of the ops and those that come with them by chance.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            path = f"{sys.modules['mlir'].__path__[0]}/dialects/linalg/opdsl/ops/core_named_ops.py"
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 (pathlib takes 6 ms)
                return [*_BY_CHANCE, *re.findall(r"^def (\w+)\(", file.read(), re.MULTILINE)]
        if name == "ir":
            return sys.modules["mlir.ir"]
        return getattr(typing, name) if name in _BY_CHANCE else self._op(name)

    def _op(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if sys.modules.get(_NAMED_OPS) is self:
                del sys.modules[_NAMED_OPS]
            return getattr(import_module(_NAMED_OPS), name)(*arguments, **named)

        return call
