"""Which kernels a call runs, on each target: what tests of fusion count."""

from typing import Any

import mlopt
import torch
from torch import nn

TARGETS: dict[str, dict[str, Any]] = {"cpu": {}, "emulator": {"target": "cuda:sm_80", "device": "emulator"}}


def kernels_of(module: Any, inputs: tuple[torch.Tensor, ...], target: str) -> list[str]:
    """The kernels that one call runs, each as often as it is called; all of them are one scf.forall."""
    if isinstance(module, nn.Module):
        module.eval()
    with torch.no_grad():
        kernels = mlopt.jit(module, *inputs, **TARGETS[target]).kernels
    assert all(each.path == "tile" for each in kernels), [(each.name, each.path) for each in kernels]
    return [each.name for each in kernels if each.function == "main" for _ in range(each.calls)]
