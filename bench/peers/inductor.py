"""torch.compile with its own backend."""

from __future__ import annotations

from pathlib import Path

from .base import Call, Task
from .eager import Eager


class Inductor(Eager):
    """``torch.compile(module)``; it needs a C++ compiler."""

    name = "torch.compile"
    keeps = True

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads), "TORCHINDUCTOR_CACHE_DIR": str(cache)}

    def build(self, task: Task) -> Call:
        import torch

        from ..inductor_graphs import graphs_shown_to, kernels_of

        module, inputs = torch.compile(task.module), task.inputs
        counts: list[int] = []
        with graphs_shown_to(lambda graph: counts.append(len(kernels_of(graph)))):
            module(*inputs)
        self.kernels = sum(counts) if counts else None
        return lambda: module(*inputs)
