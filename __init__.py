"""mlopt: an MLIR-based compiler for PyTorch, written in Python.

Importing it imports neither torch nor MLIR; each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .versions import check_versions

if TYPE_CHECKING:
    from .compiled import Compiled
    from .compiler import compile_mlir, jit
    from .errors import (
        CompileError,
        CompileTimeout,
        DeviceError,
        InputError,
        MloptError,
        UnsupportedOpError,
        VerifyError,
        WorkerDied,
        WorkerOutOfMemory,
    )

__all__ = [
    "CompileError",
    "CompileTimeout",
    "Compiled",
    "DeviceError",
    "InputError",
    "MloptError",
    "UnsupportedOpError",
    "VerifyError",
    "WorkerDied",
    "WorkerOutOfMemory",
    "compile_mlir",
    "jit",
]

_HOME = {"jit": "compiler", "compile_mlir": "compiler", "Compiled": "compiled"}

check_versions()


def __getattr__(name: str) -> Any:
    if name == "emulator":
        return import_module(".emulator", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
