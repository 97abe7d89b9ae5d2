"""What mlopt-schedule can choose from, for a program as a whole; no code is generated."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ..dialects.attributes import KERNEL, SCHEDULE
from ..passes.options import format_pass
from ..passes.schedule import Schedule
from ..passes.scheduling.cpu import CANDIDATES
from .accept import accept
from .compile import looking
from .cpu import cpu_stages
from .driver import run_pipeline
from .stages import run_stages
from .user_passes import user_passes


def candidate_schedules(
    linalg_text: str, *, func_name: str = "main", passes: Sequence[str] = (), plugins: Sequence[str] = ()
) -> list[dict[str, str]]:
    """For each of the choices 0, 1, … of mlopt-schedule on a CPU, the schedule of each kernel by its name.

    ``passes`` and ``plugins`` are those of `mlopt.pipelines.compile.lower_text`.
    """
    found = []
    with looking():
        module = accept(linalg_text, func_name)
        with user_passes(cpu_stages(), passes, plugins) as stages:
            run_stages(module.operation, stages, stop_after="kernels")
        for number in range(len(CANDIDATES)):
            copy = module.operation.clone()
            run_pipeline(copy, f"builtin.module({format_pass(Schedule(choices=str(number)))})")
            found.append(_schedules(copy))
    return found


def _schedules(module: ir.Operation) -> dict[str, str]:
    kernels = [
        function for function in module.regions[0].blocks[0].operations if KERNEL.get(function.operation)
    ]
    return {
        ir.StringAttr(kernel.attributes["sym_name"]).value: str(kernel.attributes[SCHEDULE.name])
        for kernel in kernels
        if SCHEDULE.name in kernel.attributes
    }
