"""Which kernels a call runs, on each target: what tests of fusion count."""

from collections.abc import Iterable
from typing import Any

import torch
from mlopt.options import Options
from mlopt.report import Kernel
from mlopt.runtime import pool, requests
from mlopt.runtime.cuda.chips import chip_of, is_cuda
from mlopt.torch_module import trace
from torch import nn

TARGETS: dict[str, dict[str, Any]] = {"cpu": {}, "emulator": {"target": "cuda:sm_80", "device": "emulator"}}


def kernels_in(module: Any, inputs: tuple[torch.Tensor, ...], target: str) -> tuple[Kernel, ...]:
    """The kernels that `mlopt.jit` makes of ``module``: it goes down to tiles, and no code is generated."""
    if isinstance(module, nn.Module):
        module.eval()
    options = Options.resolve(cache=False, **TARGETS[target])
    with torch.no_grad():
        _, program, _ = trace(module, inputs, options=options)
    found = pool.call(
        "compile",
        "mlopt.test.python.tiled:kernels",
        linalg_text=requests.import_program(program.text, program.weight_positions, options),
        chip=chip_of(options.target).name if is_cuda(options.target) else "",
    )
    return tuple(map(Kernel.from_metadata, found))


def kernels_of(module: Any, inputs: tuple[torch.Tensor, ...], target: str) -> list[str]:
    """The kernels that one call of ``module`` would run, each as often as it is called."""
    return calls_of(kernels_in(module, inputs, target))


def calls_of(kernels: Iterable[Kernel]) -> list[str]:
    """Those of ``kernels`` that one call runs, each as often as it is called; all of them are tiles."""
    kernels = list(kernels)
    assert all(each.path == "tile" for each in kernels), [(each.name, each.path) for each in kernels]
    return [each.name for each in kernels if each.function == "main" for _ in range(each.calls)]
