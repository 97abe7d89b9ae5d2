"""What compile workers do, but for fusion: each op is a kernel of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

from mlopt.pipelines import compile as for_cpu
from mlopt.pipelines import compile_cuda as for_gpu
from mlopt.pipelines.stages import Stage

_FUSE = re.compile(r"mlopt-fuse(\{[^}]*\})?,")
Stages = tuple[Stage, ...]


def compile_text(linalg_text: str, **options: Any) -> dict[str, Any]:
    """As `mlopt.pipelines.compile.compile_text`."""
    with mock.patch.object(for_cpu, "cpu_stages", _without_fusion(for_cpu.cpu_stages)):
        return for_cpu.compile_text(linalg_text, **options)


def compile_text_for_gpu(linalg_text: str, **options: Any) -> dict[str, Any]:
    """As `mlopt.pipelines.compile_cuda.compile_text`."""
    with mock.patch.object(for_gpu, "cuda_stages", _without_fusion(for_gpu.cuda_stages)):
        return for_gpu.compile_text(linalg_text, **options)


def _without_fusion(stages: Callable[..., Stages]) -> Callable[..., Stages]:
    def made(*arguments: Any) -> Stages:
        fused = stages(*arguments)
        unfused = tuple(replace(stage, passes=_FUSE.sub("", stage.passes)) for stage in fused)
        assert unfused != fused
        return unfused

    return made
