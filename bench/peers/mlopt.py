"""mlopt itself."""

from __future__ import annotations

from pathlib import Path

from .base import Call, Task
from .eager import Eager

NAME = "mlopt"


class Mlopt(Eager):
    """``mlopt.jit(module, *inputs)``."""

    name = NAME
    keeps = True

    @staticmethod
    def environment(threads: int, cache: Path) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads), "MLOPT_CACHE_DIR": str(cache)}

    def build(self, task: Task) -> Call:
        from ...compiler import jit

        inputs = task.inputs
        compiled = jit(task.module, *inputs)
        compiled(*inputs)
        self.kernels = sum(kernel.calls for kernel in compiled.kernels if kernel.function == "main")
        return lambda: compiled(*inputs)
