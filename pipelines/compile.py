"""What a compile worker does: linalg text in, an object and what is to be known of it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlir import ir

from ..dialects.context import make_context
from ..errors import UnsupportedOpError
from ..passes.base import UnsupportedError
from ..runtime import progress
from ..runtime.codegen import Target, generate
from . import metadata
from .accept import accept
from .cpu import cpu_stages
from .diagnostics import PipelineError
from .stages import Stage, run_stages


def compile_text(
    linalg_text: str,
    *,
    func_name: str = "main",
    cpu: str = "host",
    features: str = "",
    opt_level: int = 2,
) -> dict[str, Any]:
    """Compile the module ``linalg_text`` for a CPU.

    ``func_name`` is the function that callers call; ``cpu`` and ``features`` are LLVM's names
    ("host": this machine's). Returns the object's bytes under "object", each stage's IR as
    text under "stages", and under "metadata" plain data: functions (arguments, results,
    workspace), kernels, asserts, what was not fused.
    """
    target = Target.resolve(cpu, features)
    with make_context(), ir.Location.unknown():
        module = accept(linalg_text, func_name)
        stages, known = lower(module, cpu_stages(target.vector_bits), entries_after="loops")
        progress.phase("code generation")
        code = generate(module, target, opt_level)
    return {"object": code.object, "stages": stages, "metadata": known}


def lower(
    module: ir.Module, stages: Sequence[Stage], *, entries_after: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """Run ``stages`` on ``module``: the IR after each, and the metadata.

    ``entries_after`` is the stage that makes the entry points, with all that they take.
    """
    texts: dict[str, str] = {}
    known: dict[str, Any] = {}

    def after_stage(stage: str, operation: ir.Operation) -> None:
        texts[stage] = operation.get_asm(enable_debug_info=False)
        if stage == "kernels":
            known["functions"] = metadata.host_functions(module)
            known["fusion"] = metadata.fusion_notes(module)
        if stage == "tile":
            known["kernels"] = metadata.kernels(module)
        if stage == entries_after:
            metadata.add_entries(module, known["functions"])

    with refusals():
        run_stages(module.operation, stages, after_stage=after_stage)
    known["asserts"] = metadata.asserts(module)
    return texts, known


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what a pass refuses on purpose as the caller's error, which it is, with place and remedy."""
    try:
        yield
    except PipelineError as error:
        if not isinstance(error.__cause__, UnsupportedError):
            raise
        refusal = error.__cause__
        where = next((each.place for each in error.diagnostics if each.line), "")
        what = f"mlopt cannot compile this: {refusal.message}"
        raise UnsupportedOpError(what, where=where, remedy=refusal.remedy) from None
