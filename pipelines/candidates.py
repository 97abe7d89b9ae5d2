"""What mlopt-schedule can choose from, for a program as a whole; no code is generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlir import ir

from ..dialects.attributes import KERNEL, SCHEDULE
from ..passes.cpu.functions import with_calls
from ..passes.options import format_pass
from ..passes.schedule import CANDIDATES, Schedule
from ..runtime.codegen import Target
from ..runtime.cuda.chips import find_chip
from .accept import accept
from .compile import looking
from .cpu import cpu_stages
from .cuda import cuda_schedule, cuda_stages
from .driver import run_pipeline
from .stages import run_stages
from .user_passes import user_passes

_NAME = "sym_name"


def candidate_schedules(
    linalg_text: str,
    *,
    func_name: str = "main",
    chip: str = "",
    tf32: bool = False,
    passes: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> dict[str, Any]:
    """What there is to choose from for the kernels that @main calls.

    On this CPU, or the GPU ``chip`` ("sm_80"), whose tensor cores may round factors of f32 (``tf32``).
    ``passes`` and ``plugins`` are those of `mlopt.pipelines.compile.lower_text`. Returns::

        {"kernels": {name: its text before mlopt-schedule, without the name},
         "schedules": [{name: schedule}, …] for the choices 0, 1, … of mlopt-schedule}
    """
    bits = Target.resolve().vector_bits
    target = cuda_stages(chip, find_chip(chip).ptx, tf32=tf32) if chip else cpu_stages(bits)
    found = []
    with looking():
        module = accept(linalg_text, func_name)
        with user_passes(target, passes, plugins) as stages:
            run_stages(module.operation, stages, stop_after="kernels")
        texts = {_name(kernel): _nameless(kernel) for kernel in _kernels(module.operation)}
        for number in range(CANDIDATES["cuda" if chip else "cpu"]):
            choices = str(number)
            schedule = (
                cuda_schedule(chip, tf32, choices) if chip else Schedule(choices=choices, vector_bits=bits)
            )
            copy = module.operation.clone()
            run_pipeline(copy, f"builtin.module({format_pass(schedule)})")
            found.append(
                {
                    _name(kernel): str(kernel.attributes[SCHEDULE.name])
                    for kernel in _kernels(copy)
                    if SCHEDULE.name in kernel.attributes
                }
            )
    return {"kernels": texts, "schedules": found}


def _kernels(module: ir.Operation) -> Iterator[ir.Operation]:
    """Those that @main calls."""
    calls = {_name(function.operation): calls for function, calls in with_calls(module)}
    called = {callee for _, callee in calls["main"]}
    for function in module.regions[0].blocks[0].operations:
        if KERNEL.get(function.operation) and _name(function.operation) in called:
            yield function.operation


def _name(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes[_NAME]).value


def _nameless(function: ir.Operation) -> str:
    return function.get_asm(assume_verified=True).replace(f"@{_name(function)}(", "@(", 1)
