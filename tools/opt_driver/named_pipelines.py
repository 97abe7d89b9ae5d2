"""The ways down to a target as passes: ``--mlopt-cpu``, ``--mlopt-cuda='chip=sm_90a'``, or slices of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...passes.base import Pass
from ...passes.registry import did_you_mean
from ...pipelines.cpu import cpu_stages
from ...pipelines.cuda import cuda_stages
from ...pipelines.stages import Stage
from ...runtime.cuda.chips import find_chip


@dataclass(frozen=True)
class NamedPipeline(Pass):
    """Stages of a target, from ``from-stage`` to ``to-stage``; both run, and empty stands for the ends."""

    from_stage: str = ""
    to_stage: str = ""

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """All stages of the target."""

    def run(self, op: ir.Operation) -> None:
        """Nothing: `elements` stands for it in a pipeline."""

    def elements(self) -> str:
        """The passes as pipeline text; ValueError for a stage that is not there."""
        stages = self.stages()
        first = _position(stages, self.from_stage) if self.from_stage else 0
        last = _position(stages, self.to_stage) if self.to_stage else len(stages) - 1
        if first > last:
            raise ValueError(f"stage '{self.from_stage}' comes after stage '{self.to_stage}'")
        return ",".join(stage.passes for stage in stages[first : last + 1])


@dataclass(frozen=True)
class CpuPipeline(NamedPipeline):
    """From linalg on tensors to the llvm dialect, for CPUs (a pipeline)."""

    name: ClassVar[str] = "mlopt-cpu"
    vector_bits: int = 512

    def stages(self) -> tuple[Stage, ...]:
        return cpu_stages(self.vector_bits)


@dataclass(frozen=True)
class CudaPipeline(NamedPipeline):
    """From linalg on tensors to the llvm and nvvm dialects, for NVIDIA GPUs (a pipeline)."""

    name: ClassVar[str] = "mlopt-cuda"
    chip: str = "sm_90"

    def stages(self) -> tuple[Stage, ...]:
        known = find_chip(self.chip)
        return cuda_stages(known.name, known.ptx)


PIPELINES: dict[str, type[NamedPipeline]] = {each.name: each for each in (CpuPipeline, CudaPipeline)}


def _position(stages: Sequence[Stage], name: str) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        hint = did_you_mean(name, names) or f"; the stages are {', '.join(names)}"
        raise ValueError(f"there is no stage '{name}'{hint}")
    return names.index(name)
