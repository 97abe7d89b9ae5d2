"""The ways down to a target as passes: ``--mlopt-cpu``, ``--mlopt-cuda='chip=sm_90a'``, or slices of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from mlir import ir

from ...passes.base import Pass
from ...passes.options import format_pass
from ...passes.registry import did_you_mean
from ...pipelines.cpu import cpu_stages
from ...pipelines.cuda import cuda_stages
from ...pipelines.stages import Stage
from ...runtime.cuda.chips import find_chip


@dataclass(frozen=True)
class NamedPipeline(Pass):
    """Stages of a target, from ``from-stage`` to ``to-stage``; both run, and empty stands for the ends.

    The contract of each stage is checked after it: which dialects may remain, and its other rules.
    """

    from_stage: str = ""
    to_stage: str = ""
    only_check: bool = False  # the contract of to-stage, nothing else

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """All stages of the target."""

    def run(self, op: ir.Operation) -> None:
        """Check the contract of the last stage; in a pipeline, `elements` stands for the rest."""
        stages = self.stages()
        stages[_position(stages, self.to_stage)].check(op)

    def elements(self) -> Iterator[str]:
        """The passes as pipeline text, stage by stage with its check; ValueError for an unknown stage."""
        stages = self.stages()
        first = _position(stages, self.from_stage) if self.from_stage else 0
        last = _position(stages, self.to_stage) if self.to_stage else len(stages) - 1
        if first > last:
            raise ValueError(f"stage '{self.from_stage}' comes after stage '{self.to_stage}'")
        for stage in stages[first : last + 1]:
            yield stage.passes
            yield format_pass(replace(self, from_stage="", to_stage=stage.name, only_check=True))


@dataclass(frozen=True)
class CpuPipeline(NamedPipeline):
    """From linalg on tensors to the llvm dialect, for CPUs (a pipeline)."""

    name: ClassVar[str] = "mlopt-cpu"
    vector_bits: int = 512
    fast_math: bool = False
    dot_bf16: bool = False

    def stages(self) -> tuple[Stage, ...]:
        return cpu_stages(self.vector_bits, self.fast_math, dot_bf16=self.dot_bf16)


@dataclass(frozen=True)
class CudaPipeline(NamedPipeline):
    """From linalg on tensors to the llvm and nvvm dialects, for NVIDIA GPUs (a pipeline)."""

    name: ClassVar[str] = "mlopt-cuda"
    chip: str = "sm_90"
    fast_math: bool = False
    tf32: bool = False

    def stages(self) -> tuple[Stage, ...]:
        known = find_chip(self.chip)
        return cuda_stages(known.name, known.ptx, self.fast_math, self.tf32)


PIPELINES: dict[str, type[NamedPipeline]] = {each.name: each for each in (CpuPipeline, CudaPipeline)}


def _position(stages: Sequence[Stage], name: str) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        hint = did_you_mean(name, names) or f"; the stages are {', '.join(names)}"
        raise ValueError(f"there is no stage '{name}'{hint}")
    return names.index(name)
