"""The MLIR context that every tool and worker of mlopt uses."""

from __future__ import annotations

from mlir import ir

# Creating an op of a dialect that is not loaded aborts the process, so all dialects that our
# passes write are loaded up front (all together 8 ms). What a file needs besides is loaded
# when the parser meets it.
LOADED_DIALECTS = (
    "affine", "arith", "bufferization", "cf", "func", "gpu", "linalg", "llvm", "math",
    "memref", "nvgpu", "nvvm", "scf", "tensor", "ub", "vector",
)  # fmt: skip


def make_context() -> ir.Context:
    """A single-threaded context with our dialects loaded; enter it with ``with``.

    Single-threaded because a Python pass nested under another operation deadlocks otherwise.
    """
    from .irdl import load_mlopt_dialect  # IRDL's builders take 3 ms to import

    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)
    for name in LOADED_DIALECTS:
        context.get_dialect_descriptor(name)
    load_mlopt_dialect(context)
    return context
