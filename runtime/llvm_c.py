"""The few functions of the MLIR and LLVM C APIs that code generation calls, bound by ctypes.

Both libraries come with the pinned wheels: ``libMLIRPythonCAPI.so`` is the one that the
``mlir`` package has loaded, and it links against the ``libLLVM.so`` beside it, so a module
that one translates is a module that the other can optimize.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from mlir import _mlir_libs, ir

DIAGNOSTIC_HANDLER = CFUNCTYPE(None, c_void_p, c_void_p)

# The enumerations of llvm-c/TargetMachine.h and llvm-c/Analysis.h, as far as they are used.
RELOC_DEFAULT, RELOC_PIC = 0, 2
CODE_MODEL_DEFAULT = 0
ASSEMBLY_FILE, OBJECT_FILE = 0, 1
VERIFIER_RETURN_STATUS = 2

_LLVM: dict[str, tuple[Any, list[Any]]] = {
    # Results that LLVM owns or that must be disposed of are c_void_p: ctypes would copy a
    # c_char_p and lose the address.
    "LLVMContextCreate": (c_void_p, []),
    "LLVMContextDispose": (None, [c_void_p]),
    "LLVMContextSetDiagnosticHandler": (None, [c_void_p, DIAGNOSTIC_HANDLER, c_void_p]),
    "LLVMGetDiagInfoSeverity": (c_int, [c_void_p]),
    "LLVMGetDiagInfoDescription": (c_void_p, [c_void_p]),
    "LLVMDisposeMessage": (None, [c_void_p]),
    "LLVMGetErrorMessage": (c_void_p, [c_void_p]),
    "LLVMDisposeErrorMessage": (None, [c_void_p]),
    "LLVMCreateMemoryBufferWithMemoryRangeCopy": (c_void_p, [c_char_p, c_size_t, c_char_p]),
    "LLVMDisposeMemoryBuffer": (None, [c_void_p]),
    "LLVMGetBufferStart": (c_void_p, [c_void_p]),
    "LLVMGetBufferSize": (c_size_t, [c_void_p]),
    "LLVMParseIRInContext": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "LLVMDisposeModule": (None, [c_void_p]),
    "LLVMCloneModule": (c_void_p, [c_void_p]),
    "LLVMVerifyModule": (c_int, [c_void_p, c_int, POINTER(c_void_p)]),
    "LLVMPrintModuleToString": (c_void_p, [c_void_p]),
    "LLVMSetTarget": (None, [c_void_p, c_char_p]),
    "LLVMSetModuleDataLayout": (None, [c_void_p, c_void_p]),
    "LLVMGetFirstFunction": (c_void_p, [c_void_p]),
    "LLVMGetNextFunction": (c_void_p, [c_void_p]),
    "LLVMIsDeclaration": (c_int, [c_void_p]),
    "LLVMAddTargetDependentFunctionAttr": (None, [c_void_p, c_char_p, c_char_p]),
    **{
        f"LLVMInitialize{target}{part}": (None, [])
        for target in ("X86", "NVPTX")
        for part in ("TargetInfo", "Target", "TargetMC", "AsmPrinter")
    },
    "LLVMInitializeX86AsmParser": (None, []),
    "LLVMGetHostCPUName": (c_void_p, []),
    "LLVMGetHostCPUFeatures": (c_void_p, []),
    "LLVMGetTargetFromTriple": (c_int, [c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "LLVMCreateTargetMachine": (c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_int, c_int]),
    "LLVMDisposeTargetMachine": (None, [c_void_p]),
    "LLVMCreateTargetDataLayout": (c_void_p, [c_void_p]),
    "LLVMDisposeTargetData": (None, [c_void_p]),
    "LLVMTargetMachineEmitToMemoryBuffer": (
        c_int,
        [c_void_p, c_void_p, c_int, POINTER(c_void_p), POINTER(c_void_p)],
    ),
    "LLVMCreatePassBuilderOptions": (c_void_p, []),
    "LLVMDisposePassBuilderOptions": (None, [c_void_p]),
    "LLVMRunPasses": (c_void_p, [c_void_p, c_char_p, c_void_p, c_void_p]),
}


@functools.cache
def llvm() -> ctypes.CDLL:
    """The LLVM library with its prototypes declared and its targets initialized."""
    # The MLIR library first: it finds its own libLLVM through its run path, and the name
    # below then resolves to the copy that is already loaded.
    mlir_capi()
    library = ctypes.CDLL("libLLVM.so")
    for name, (result, arguments) in _LLVM.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    for name in _LLVM:
        if name.startswith("LLVMInitialize"):
            getattr(library, name)()
    return library


@functools.cache
def mlir_capi() -> ctypes.CDLL:
    """The MLIR C API, in the copy that ``mlir.ir`` uses."""
    library = ctypes.CDLL(str(Path(_mlir_libs.__file__).parent / "libMLIRPythonCAPI.so"))
    library.mlirTranslateModuleToLLVMIR.restype = c_void_p
    library.mlirTranslateModuleToLLVMIR.argtypes = [c_void_p, c_void_p]
    return library


def operation_pointer(operation: ir.Operation) -> int:
    """The address of the C++ operation behind a Python one."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = c_void_p
    get_pointer.argtypes = [ctypes.py_object, c_char_p]
    pointer: int = get_pointer(operation._CAPIPtr, b"mlir.ir.Operation._CAPIPtr")
    return pointer


def take_string(pointer: int | None) -> str:
    """The text behind a message that LLVM handed to us, which is then disposed of."""
    if not pointer:
        return ""
    text = ctypes.string_at(pointer).decode(errors="replace")
    llvm().LLVMDisposeMessage(pointer)
    return text
