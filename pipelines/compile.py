"""What a compile worker does: linalg text in, an object and what is to be known of it out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

from mlir import ir

from ..dialects.context import make_context
from ..errors import UnsupportedOpError
from ..passes.base import UnsupportedError
from ..runtime import progress
from ..runtime.codegen import Target, generate
from ..runtime.ir_text import printed
from . import metadata
from .accept import accept
from .cpu import cpu_stages
from .diagnostics import PipelineError
from .resume import program_line, resume
from .stages import Stage, run_stages
from .user_passes import user_passes


def compile_text(
    linalg_text: str,
    *,
    func_name: str = "main",
    cpu: str = "host",
    features: str = "",
    opt_level: int = 2,
    fast_math: bool = False,
    choices: str = "",
    **extras: Any,
) -> dict[str, Any]:
    """Compile the module ``linalg_text`` for a CPU.

    ``func_name`` is the function that callers call; ``cpu`` and ``features`` are LLVM's names
    ("host": this machine's); ``fast_math`` adds mlopt-fast-math; ``choices`` are mlopt-schedule's;
    ``extras`` are those of `lower_text`.
    Returns the object's bytes under "object", each stage's IR as text under "stages", under "metadata"
    plain data: functions (arguments, results, workspace), kernels, asserts, what was not fused; and what
    the user's passes "printed".
    """
    target = Target.resolve(cpu, features)
    with make_context(), ir.Location.unknown():
        stages = cpu_stages(target.vector_bits, fast_math, choices, target.dot_bf16)
        lowered = lower_text(linalg_text, func_name, stages, entries_after="loops", **extras)
        progress.phase("code generation")
        code = generate(lowered.module, target, opt_level)
    return {"object": code.object, **lowered.parts()}


@dataclass
class Lowered:
    """A module after its last stage, the IR after each stage, the metadata, and what passes printed."""

    module: ir.Module
    texts: dict[str, str]
    known: dict[str, Any]
    printed: str = ""

    def parts(self) -> dict[str, Any]:
        """What of it goes to the user's process."""
        return {"stages": self.texts, "metadata": self.known, "printed": self.printed}


def lower_text(
    text: str,
    func_name: str,
    stages: Sequence[Stage],
    *,
    entries_after: str,
    stage: str = "",
    passes: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> Lowered:
    """Run ``stages`` on the module ``text``.

    ``entries_after`` is the stage that makes the entry points, with all that they take. ``text`` is linalg,
    or what came out of ``stage``; ``passes`` (of the files ``plugins``, too) join the stages (`user_passes`).
    """
    printed = io.StringIO()
    if stage:
        module, known, stages = resume(text, stages, stage)
        lowered = Lowered(module, {stage: text}, known)
    else:
        lowered = Lowered(accept(text, func_name), {}, {})
    with user_passes(stages, passes, plugins) as all_stages, redirect_stdout(printed):
        _lower(lowered, all_stages, entries_after)
    lowered.printed = printed.getvalue()
    return lowered


def _lower(lowered: Lowered, stages: Sequence[Stage], entries_after: str) -> None:
    module, known = lowered.module, lowered.known

    def after_stage(stage: str, operation: ir.Operation) -> None:
        if stage == "kernels":
            known["functions"] = metadata.host_functions(module)
            known["fusion"] = metadata.fusion_notes(module)
        if stage == "tile":
            known["kernels"] = metadata.kernels(module)
        if stage == entries_after:
            metadata.add_entries(module, known["functions"])
        lowered.texts[stage] = printed(operation, assume_verified=True) + program_line(stage, known)

    with refusals():
        run_stages(module.operation, stages, after_stage=after_stage)
    known["asserts"] = metadata.asserts(module)


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what a pass refuses on purpose as the caller's error, which it is, with place and remedy."""
    try:
        yield
    except PipelineError as error:
        if not isinstance(error.__cause__, UnsupportedError):
            raise
        refusal = error.__cause__
        where = next((each.place for each in error.diagnostics if each.file), "")
        what = f"mlopt cannot compile this: {refusal.message}"
        raise UnsupportedOpError(what, where=where, remedy=refusal.remedy) from None


@contextmanager
def looking() -> Iterator[None]:
    """A context for passes that only look at a program: what they refuse is the caller's error.

    What the user's passes print meanwhile is dropped: it is heard when the program is compiled.
    """
    with make_context(), ir.Location.unknown(), refusals(), redirect_stdout(io.StringIO()):
        yield
