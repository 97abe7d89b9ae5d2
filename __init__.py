"""mlopt: an MLIR-based compiler for PyTorch, written in Python.

Importing it imports neither torch nor MLIR; each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .versions import check_versions

if TYPE_CHECKING:
    from .compiler import compile_mlir, jit
    from .errors import MloptError

__all__ = ["MloptError", "compile_mlir", "jit"]

_HOME = {"jit": "compiler", "compile_mlir": "compiler", "MloptError": "errors"}

check_versions()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
