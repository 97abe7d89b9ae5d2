"""The part of MLIR's C API that the Python bindings leave out: passes in nested pass managers.

`PassManager.add` takes a Python function only at the top level, so the tree of pass
managers is built here, by ctypes, in the library that the bindings themselves use.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from mlir import _mlir_libs, ir
from mlir.passmanager import PassManager

# What MLIR calls when an external pass runs: the operation, and a function that fails the pass.
RunFunction = Callable[[int, Callable[[], None]], None]


class _Handle(ctypes.Structure):
    _fields_ = (("ptr", ctypes.c_void_p),)


class _StringRef(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


class _LogicalResult(ctypes.Structure):
    _fields_ = (("value", ctypes.c_int8),)


_CONSTRUCT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_CLONE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(None, _Handle, _Handle, ctypes.c_void_p)
_PRINT = ctypes.CFUNCTYPE(None, _StringRef, ctypes.c_void_p)


class _ExternalPassCallbacks(ctypes.Structure):
    _fields_ = (
        ("construct", _CONSTRUCT),
        ("destruct", _CONSTRUCT),
        ("initialize", ctypes.c_void_p),
        ("clone", _CLONE),
        ("run", _RUN),
    )


class PassTree:
    """A pass manager for one anchor operation, with passes nested at will.

    The numbers that stand for operations and pass managers are addresses. Keep the tree
    alive while it runs: MLIR calls back into it.
    """

    def __init__(self, anchor: str, context: ir.Context) -> None:
        self.manager = PassManager(anchor, context)
        self.manager.enable_verifier(False)  # the driver verifies, and knows after which pass
        handle = _Handle(_pointer(self.manager._CAPIPtr, b"mlir.passmanager.PassManager._CAPIPtr"))
        self.root: int = _library().mlirPassManagerGetAsOpPassManager(handle).ptr
        self._kept: list[object] = []

    def nest(self, manager: int, op_name: str) -> int:
        """The pass manager for operations ``op_name`` below those of ``manager``."""
        nested = _library().mlirOpPassManagerGetNestedUnder(_Handle(manager), _string(op_name))
        return int(nested.ptr)

    def add_upstream(self, manager: int, text: str) -> str | None:
        """Append upstream passes by their text; returns the reason if that cannot be done."""
        return add_text(manager, text)

    def add_external(self, manager: int, name: str, function: RunFunction) -> None:
        """Append a pass that calls ``function``; it must let no exception out."""
        external, callbacks = external_pass(name, name, "", function)
        self._kept.append(callbacks)
        add_pass(manager, external)


def external_pass(
    name: str, argument: str, op_name: str, function: RunFunction, description: str = "", dialects: int = 0
) -> tuple[int, object]:
    """A pass that calls ``function``, for operations ``op_name`` ("": any), and what must outlive it.

    ``argument`` stands for it in a pipeline's text; ``function`` must let no exception out. ``dialects`` is
    the address of a MlirDialectHandle (0: none), for what the pass manager loads before it starts.
    """

    def run(op: _Handle, external: _Handle, _: int) -> None:
        function(op.ptr, lambda: _library().mlirExternalPassSignalFailure(external))

    callbacks = _ExternalPassCallbacks(_construct, _construct, None, _clone, _RUN(run))
    texts = (_string(name), _string(argument), _string(description), _string(op_name))
    handle = _Handle(dialects)
    loaded = (int(dialects != 0), ctypes.addressof(handle))
    external = _library().mlirCreateExternalPass(_type_id(), *texts, *loaded, callbacks, None)
    return int(external.ptr), (callbacks, texts, handle)


def add_pass(manager: int, external: int) -> None:
    """Append a pass to a pass manager, which owns it from now on."""
    _library().mlirOpPassManagerAddOwnedPass(_Handle(manager), _Handle(external))


def add_text(manager: int, text: str) -> str | None:
    """Append passes by their text to a pass manager; returns the reason if that cannot be done."""
    parts: list[str] = []

    def append(part: _StringRef, _: int) -> None:
        parts.append(ctypes.string_at(part.data, part.length).decode())

    result = _library().mlirOpPassManagerAddPipeline(_Handle(manager), _string(text), _PRINT(append), None)
    return None if result.value else "".join(parts).strip()


def operation_at(address: int) -> ir.Operation:
    """The Python object for the operation at ``address``."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return ir.Operation._CAPICreate(new(address, b"mlir.ir.Operation._CAPIPtr", None))


def context_address(context: ir.Context) -> int:
    """Where the context is, for functions that are not of the C API."""
    return _pointer(context._CAPIPtr, b"mlir.ir.Context._CAPIPtr")


def verify_operation(address: int) -> bool:
    """Run MLIR's verifier; what it finds goes to the context's diagnostic handlers."""
    return bool(_library().mlirOperationVerify(_Handle(address)))


# MLIR demands these callbacks; the Python objects outlive the passes anyway.
_construct = _CONSTRUCT(lambda _: None)
_clone = _CLONE(lambda data: data)


@functools.cache
def _library() -> Any:
    library = ctypes.PyDLL(_mlir_libs.__file__.replace("__init__.py", "libMLIRPythonCAPI.so"))
    handle, string, text = _Handle, _StringRef, ctypes.c_void_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "mlirPassManagerGetAsOpPassManager": (handle, [handle]),
        "mlirOpPassManagerGetNestedUnder": (handle, [handle, string]),
        "mlirOpPassManagerAddPipeline": (_LogicalResult, [handle, string, _PRINT, text]),
        "mlirOpPassManagerAddOwnedPass": (None, [handle, handle]),
        "mlirExternalPassSignalFailure": (None, [handle]),
        "mlirOperationVerify": (ctypes.c_bool, [handle]),
        "mlirTypeIDCreate": (handle, [ctypes.c_void_p]),
        "mlirCreateExternalPass": (
            handle,
            [handle, string, string, string, string, ctypes.c_ssize_t, text, _ExternalPassCallbacks, text],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def _type_id_storage() -> ctypes.Array[ctypes.c_uint64]:
    return (ctypes.c_uint64 * 1)()


def _type_id() -> _Handle:
    # A type id is the address of something unique that is aligned to eight bytes.
    identity: _Handle = _library().mlirTypeIDCreate(ctypes.addressof(_type_id_storage()))
    return identity


def _pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name))


@functools.lru_cache(1024)
def _string(text: str) -> _StringRef:
    data = text.encode()
    return _StringRef(data, len(data))
