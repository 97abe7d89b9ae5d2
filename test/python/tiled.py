"""What a compile worker does for tests that ask which kernels there are: programs down to their tiles."""

from __future__ import annotations

from typing import Any

from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.pipelines.compile import lower_text
from mlopt.pipelines.cpu import cpu_stages
from mlopt.pipelines.cuda import cuda_stages
from mlopt.runtime.codegen import Target
from mlopt.runtime.cuda.chips import find_chip


def kernels(linalg_text: str, chip: str = "") -> list[dict[str, Any]]:
    """The kernels of ``linalg_text`` as a report has them, for this CPU or for the GPU ``chip`` ("sm_80")."""
    if chip:
        stages = cuda_stages(chip, find_chip(chip).ptx)
    else:
        target = Target.resolve()
        stages = cpu_stages(target.vector_bits, dot_bf16=target.dot_bf16)
    last = [stage.name for stage in stages].index("tile")
    with make_context(), ir.Location.unknown():
        found: list[dict[str, Any]] = lower_text(
            linalg_text, "main", stages[: last + 1], entries_after=""
        ).known["kernels"]
    return found
