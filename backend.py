"""``torch.compile(model, backend="mlopt")``: the backend, and what it did (`report`).

Dynamo hands over a graph; AOTAutograd makes it functional, takes care of aliases and
mutations, and splits it into forward and backward where gradients are needed. What it gives
then are graphs of aten ops, which are compiled one by one (`mlopt.graph_module`).
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule

from .errors import CompileError
from .frontends.aot import eager_strides, keep_strides, static_arguments
from .frontends.decomposing.target import for_target
from .frontends.gradients.composites import own_composites
from .frontends.gradients.table import training_decompositions
from .frontends.partition import common_place
from .graph_module import CompiledGraph, compile_graph, misplaced
from .graph_report import CompileReport, GraphRecord, Log
from .options import Options, variable
from .processors import did_you_mean
from .runtime.dynamo import Frame, current_frame

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"cuda_graph": True},
    "max-autotune": {"opt_level": 3, "cuda_graph": True},
    "max-autotune-no-cudagraphs": {"opt_level": 3},
}
_RANDOM = "random"
_log = Log()


def report() -> CompileReport:
    """All that the backend has compiled since the process started, or since `torch._dynamo.reset()`."""
    return _log.report()


def mlopt(
    module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend that ``torch.compile`` finds by its name.

    ``mode`` and ``options`` are those of torch.compile; options are `mlopt.options.Options`,
    of which ``fallback`` is true unless it is given.
    """
    resolved = _resolve(mode, options or {})
    frame = current_frame(module)
    strides = eager_strides(module)

    def compiler(kind: str) -> Callable[[GraphModule, Sequence[Any]], Any]:
        def compile_aot(graph: GraphModule, inputs: Sequence[Any]) -> Any:  # noqa: ARG001
            start = time.perf_counter()
            static = static_arguments(graph) if kind == "inference" else []
            if kind != "backward":
                keep_strides(graph, strides)
            done = compile_graph(graph, static, resolved, f"{frame.function} {kind}")
            seconds = time.perf_counter() - start
            note = "; ".join(dict.fromkeys(each for unit in done.units for each in unit.notes))
            _log.add(GraphRecord(frame, kind, done.units, done.eager, done.ops, seconds, note))
            _warn(frame, kind, done, resolved)
            return make_boxed_func(done.call)

        return compile_aot

    backend = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        decompositions=training_decompositions(),
        partition_fn=min_cut_rematerialization_partition,
    )
    with own_composites(), for_target(resolved.target):
        return backend(module, example_inputs)


mlopt.reset = _log.clear  # type: ignore[attr-defined]  # torch._dynamo.reset() calls it


def _resolve(mode: str | None, options: Mapping[str, Any]) -> Options:
    if mode is not None and mode not in MODES:
        raise CompileError(
            f"there is no mode '{mode}'{did_you_mean(mode, MODES)}", remedy=f"use one of: {', '.join(MODES)}"
        )
    given = {**MODES[mode or "default"], **options}
    if variable("fallback") not in os.environ:
        given = {"fallback": True, **given}
    return Options.resolve(**given)


def _warn(frame: Frame, kind: str, done: CompiledGraph, options: Options) -> None:
    """Say what cannot be compiled; that random ops run in eager is as it should be."""
    missing = [op for op in done.eager if not op.reason.startswith(_RANDOM)]
    place = common_place([op.reason for op in missing])
    if place and not any(unit.kernels for unit in done.units):
        error = misplaced(place, options)
        what = f"{error.what}, so the {kind} graph of {frame.function} runs in eager"
        warnings.warn(f"mlopt: {what}; {error.remedy}", stacklevel=2)
    elif missing:
        more = f" and {len(missing) - 1} more ops run" if len(missing) > 1 else " runs"
        warnings.warn(
            f"mlopt: {missing[0].name}{more} in eager in the {kind} graph of {frame.function} "
            f"({missing[0]}); mlopt.backend.report() lists them",
            stacklevel=2,
        )
