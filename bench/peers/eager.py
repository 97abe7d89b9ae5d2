"""PyTorch's eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Call, Peer, Task


class Eager(Peer):
    """The module as it is."""

    name = "eager"
    requirements = ("torch==2.13.0",)
    needs = ("torch",)

    def load(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def build(self, task: Task) -> Call:
        module, inputs = task.module, task.inputs
        return lambda: module(*inputs)

    def array(self, result: Any) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = result.numpy()
        return array
