"""From gpu.modules in the nvvm dialect to PTX, by MLIR and LLVM."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import gpu

from .diagnostics import PipelineError
from .driver import run_pipeline


def take_ptx(module: ir.Module) -> str:
    """The PTX of the module's gpu.module, which is erased; empty if it has none.

    Raises `PipelineError` if there are several: kernels are looked up in one CUDA module.
    """
    run_pipeline(module.operation, "builtin.module(gpu-module-to-binary{format=isa})")
    binaries = [op for op in module.body.operations if op.operation.name == "gpu.binary"]
    if len(binaries) > 1:
        names = ", ".join(f"@{ir.StringAttr(op.attributes['sym_name']).value}" for op in binaries)
        raise PipelineError(f"one gpu.module can be loaded, there are {len(binaries)}: {names}")
    if not binaries:
        return ""
    (code,) = (gpu.ObjectAttr(found).object for found in binaries[0].attributes["objects"])
    text: str = code.rstrip(b"\0").decode()
    binaries[0].operation.erase()
    return text
