"""Code generation: a module in the ``llvm`` dialect becomes the bytes of an ELF object.

Runs in a compile worker. Everything goes through LLVM's C API: the object stays in memory,
is position-independent, and symbols are resolved only where it is loaded
(`mlopt.runtime.loader`). Floating-point semantics are IEEE: no flag that allows
reassociation, approximation or contraction is set here, so only an explicit ``fma`` fuses.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from ctypes import byref, c_void_p
from dataclasses import dataclass

from mlir import ir

from .llvm_c import (
    ASSEMBLY_FILE,
    CODE_MODEL_DEFAULT,
    DIAGNOSTIC_HANDLER,
    OBJECT_FILE,
    RELOC_PIC,
    VERIFIER_RETURN_STATUS,
    llvm,
    mlir_capi,
    operation_pointer,
    take_string,
)

TRIPLE = b"x86_64-unknown-linux-gnu"
# The processors' own conversion to bf16 flushes denormals, and LLVM 22 asserts on shuffles of bf16
# vectors where it has it. The passes convert in integer arithmetic, and name the dot product that they want.
WITHOUT_BF16 = "-avx512bf16,-avxneconvert"


class CodegenError(Exception):
    """LLVM refused the module: what it said, and in which step."""


@dataclass(frozen=True)
class Target:
    """The processor that code is generated for; "host" means the one this runs on."""

    cpu: str
    features: str = ""
    dot_bf16: bool = False
    """Whether it is known to have AVX512-BF16, of which LLVM is not told."""

    @staticmethod
    def resolve(cpu: str = "host", features: str = "") -> Target:
        """The target with "host" replaced by the host's name and complete feature list.

        ``features`` come last, so they win.
        """
        given = [WITHOUT_BF16, *([features] if features else [])]
        if cpu == "host":
            cpu = take_string(llvm().LLVMGetHostCPUName())
            given.insert(0, take_string(llvm().LLVMGetHostCPUFeatures()))
        said = [each for part in (given[0], features) for each in part.split(",") if each[1:] == "avx512bf16"]
        return Target(cpu, ",".join(given), said[-1:] == ["+avx512bf16"])

    @property
    def vector_bits(self) -> int:
        """The width of the widest vector registers: 128, 256 or 512."""
        return _vector_bits(self)


@dataclass(frozen=True)
class ObjectCode:
    """What code generation returns; texts that were not asked for are empty."""

    object: bytes
    llvm_ir: str = ""
    assembly: str = ""


def generate(
    module: ir.Module,
    target: Target | None = None,
    opt_level: int = 2,
    *,
    want_llvm_ir: bool = False,
    want_assembly: bool = False,
) -> ObjectCode:
    """Translate, optimize and assemble ``module``, whose ops are all of the ``llvm`` dialect."""
    target = target or Target.resolve()
    with translated(module.operation) as (llvm_module, diagnostics):
        return _compile(llvm_module, target, opt_level, diagnostics, want_llvm_ir, want_assembly)


@contextmanager
def translated(module: ir.Operation) -> Iterator[tuple[int, list[str]]]:
    """A module in the llvm dialect as LLVM's, and the list that errors about it are added to."""
    with _context() as (context, diagnostics):
        llvm_module = mlir_capi().mlirTranslateModuleToLLVMIR(operation_pointer(module), context)
        if not llvm_module:
            raise CodegenError(
                "the module cannot be translated to LLVM IR; ops that are not of the llvm dialect: "
                + (", ".join(_foreign_ops(module)) or "none, see the diagnostics above")
            )
        try:
            yield llvm_module, diagnostics
        finally:
            llvm().LLVMDisposeModule(llvm_module)


def _compile(
    module: int, target: Target, opt_level: int, diagnostics: list[str], want_ir: bool, want_assembly: bool
) -> ObjectCode:
    with _machine(target, opt_level) as machine:
        _prepare_module(module, machine, target)
        optimize(module, machine, f"default<O{opt_level}>", diagnostics)
        text = take_string(llvm().LLVMPrintModuleToString(module)) if want_ir else ""
        assembly = ""
        if want_assembly:
            # Code generation rewrites the IR that it is given, hence the copy.
            copy = llvm().LLVMCloneModule(module)
            try:
                assembly = emit(copy, machine, ASSEMBLY_FILE, diagnostics).decode()
            finally:
                llvm().LLVMDisposeModule(copy)
        return ObjectCode(emit(module, machine, OBJECT_FILE, diagnostics), text, assembly)


def _prepare_module(module: int, machine: int, target: Target) -> None:
    """Set the triple, the data layout and the function attributes that depend on the target."""
    lib = llvm()
    set_target(module, TRIPLE, machine)
    width = str(target.vector_bits).encode()
    function = lib.LLVMGetFirstFunction(module)
    while function:
        if not lib.LLVMIsDeclaration(function):
            # Without it LLVM splits 512-bit vectors in two for most processors that have them.
            lib.LLVMAddTargetDependentFunctionAttr(function, b"prefer-vector-width", width)
        function = lib.LLVMGetNextFunction(function)
    message = c_void_p()
    failed = lib.LLVMVerifyModule(module, VERIFIER_RETURN_STATUS, byref(message))
    text = take_string(message.value)
    if failed:
        raise CodegenError(f"the translated module is not valid LLVM IR: {text}")


def set_target(module: int, triple: bytes, machine: int) -> None:
    """Say what code will be generated for: the ``machine``, one of the ``triple``'s."""
    lib = llvm()
    lib.LLVMSetTarget(module, triple)
    layout = lib.LLVMCreateTargetDataLayout(machine)
    lib.LLVMSetModuleDataLayout(module, layout)
    lib.LLVMDisposeTargetData(layout)


def optimize(module: int, machine: int, passes: str, diagnostics: list[str]) -> None:
    """Run LLVM's ``passes``, a pipeline's text."""
    lib = llvm()
    builder_options = lib.LLVMCreatePassBuilderOptions()
    error = lib.LLVMRunPasses(module, passes.encode(), machine, builder_options)
    lib.LLVMDisposePassBuilderOptions(builder_options)
    if error:
        pointer = lib.LLVMGetErrorMessage(error)
        text = ctypes.string_at(pointer).decode(errors="replace")
        lib.LLVMDisposeErrorMessage(pointer)
        raise CodegenError(f"LLVM's optimizer failed: {text}")
    _check(diagnostics, "optimizer")


def emit(module: int, machine: int, kind: int, diagnostics: list[str]) -> bytes:
    """Assembly or an object, by its ``kind``."""
    lib = llvm()
    message, buffer = c_void_p(), c_void_p()
    failed = lib.LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, byref(message), byref(buffer))
    if failed:
        raise CodegenError(f"LLVM's code generator failed: {take_string(message.value)}")
    try:
        _check(diagnostics, "code generator")
        return ctypes.string_at(lib.LLVMGetBufferStart(buffer), lib.LLVMGetBufferSize(buffer))
    finally:
        lib.LLVMDisposeMemoryBuffer(buffer)


def _check(diagnostics: list[str], step: str) -> None:
    if diagnostics:
        raise CodegenError(f"LLVM's {step} reported: " + "; ".join(diagnostics))


@contextmanager
def _context() -> Iterator[tuple[int, list[str]]]:
    """An LLVM context and the list that its errors are added to."""
    lib = llvm()
    errors: list[str] = []

    def on_diagnostic(info: int, _: int) -> None:
        if lib.LLVMGetDiagInfoSeverity(info) == 0:  # LLVMDSError; remarks and warnings are not ours
            errors.append(take_string(lib.LLVMGetDiagInfoDescription(info)))

    handler = DIAGNOSTIC_HANDLER(on_diagnostic)
    context = lib.LLVMContextCreate()
    lib.LLVMContextSetDiagnosticHandler(context, handler, None)
    try:
        yield context, errors
    finally:
        lib.LLVMContextDispose(context)


@contextmanager
def target_machine(triple: bytes, cpu: str, features: str, opt_level: int, relocation: int) -> Iterator[int]:
    """What generates code for one processor."""
    lib = llvm()
    handle, message = c_void_p(), c_void_p()
    if lib.LLVMGetTargetFromTriple(triple, byref(handle), byref(message)):
        raise CodegenError(take_string(message.value))
    machine = lib.LLVMCreateTargetMachine(
        handle, triple, cpu.encode(), features.encode(), opt_level, relocation, CODE_MODEL_DEFAULT
    )
    try:
        yield machine
    finally:
        lib.LLVMDisposeTargetMachine(machine)


def _machine(target: Target, opt_level: int) -> AbstractContextManager[int]:
    return target_machine(TRIPLE, target.cpu, target.features, min(opt_level, 3), RELOC_PIC)


# One vector add: the registers in its assembly say what LLVM knows of a processor.
_PROBE = b"""
define void @f(ptr %a) #0 {
  %x = load <16 x float>, ptr %a
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %a
  ret void
}
attributes #0 = { "prefer-vector-width"="512" "min-legal-vector-width"="512" }
"""


@functools.cache
def _vector_bits(target: Target) -> int:
    lib = llvm()
    with _context() as (context, diagnostics), _machine(target, 0) as machine:
        # LLVMParseIRInContext takes ownership of the buffer.
        buffer = lib.LLVMCreateMemoryBufferWithMemoryRangeCopy(_PROBE, len(_PROBE), b"probe")
        module, message = c_void_p(), c_void_p()
        if lib.LLVMParseIRInContext(context, buffer, byref(module), byref(message)):
            raise CodegenError(take_string(message.value))
        try:
            assembly = emit(module.value or 0, machine, ASSEMBLY_FILE, diagnostics).decode()
        finally:
            lib.LLVMDisposeModule(module)
    return 512 if "zmm" in assembly else 256 if "ymm" in assembly else 128


def _foreign_ops(module: ir.Operation) -> list[str]:
    """The names of the ops that the translation does not know, each once."""
    names: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not op.name.startswith(("llvm.", "builtin.module", "gpu.module", "nvvm.")):
            names.add(op.name)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return sorted(names)
