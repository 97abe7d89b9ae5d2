"""Who is timed on a GPU: eager, torch.compile in its modes, mlopt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...compiler import jit
from ..peers.mlopt import NAME
from .prepared import opened
from .workload import GRAPHS, Timed

EAGER, COMPILE, AUTOTUNE, REDUCE = "eager", "torch.compile", "max-autotune", "reduce-overhead"
Function = Callable[..., Any]
Inputs = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Where:
    """``device``: "gpu" or "emulator"; ``folder``: of what was prepared, None: modules are traced here."""

    device: str
    target: str
    folder: Path | None

    @property
    def torch_device(self) -> str:
        """Where tensors are."""
        return "cuda" if self.device == "gpu" else "cpu"


def names(timed: Timed, where: Where) -> list[str]:
    """The peers of a row, those last that may take all of its time to compile. The emulator has none.

    CUDA graphs copy their inputs first: they are for rows that are bound by launches, the others are timed
    without ("max-autotune" is then torch.compile's "max-autotune-no-cudagraphs").
    """
    if where.device != "gpu":
        return [EAGER, NAME]
    return [EAGER, NAME, *([REDUCE, AUTOTUNE] if timed.group == GRAPHS else [COMPILE, AUTOTUNE])]


def warm_up(where: Where) -> None:
    """Import torch's compiler, and start its workers, which would else be part of the first row's time."""
    if where.device == "gpu":
        torch.compile(torch.neg)(torch.ones(1, device=where.torch_device))


def build(name: str, timed: Timed, inputs: Inputs, where: Where) -> Function:
    """The peer's function, compiled for these inputs at its first call."""
    graphs = timed.group == GRAPHS
    if name == EAGER:
        return timed.function
    if name == NAME:
        return _mlopt(timed, inputs, where, graphs)
    torch._dynamo.reset()
    modes = {COMPILE: None, REDUCE: "reduce-overhead"}
    plain = "max-autotune" if graphs else "max-autotune-no-cudagraphs"
    return torch.compile(timed.function, mode=modes.get(name, plain), dynamic=False)


def _mlopt(timed: Timed, inputs: Inputs, where: Where, graphs: bool) -> Function:
    options: dict[str, Any] = {"target": where.target, "device": where.device, "cache": False}
    options["cuda_graph"] = graphs
    if where.folder is None:
        return jit(timed.function, *inputs, **options)
    return opened(where.folder, timed.name, **options)
