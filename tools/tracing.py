"""Torch modules as programs that are only looked at: what `mlopt.jit` does first, without the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from .. import torch_module
from ..errors import InputError
from ..frontends.decomposing.target import for_target
from ..frontends.program import Program
from ..frontends.torch import program_of
from ..runtime.quiet import quiet_export, quiet_load
from .programs import why_unread


def trace(function: Callable[..., Any], examples: Sequence[Any], target: str) -> Program:
    """The program of a module or function on ``examples``, torch tensors or numpy arrays, for ``target``."""
    with for_target(target):
        return torch_module.trace(function, examples)[1]


def load(path: Path, target: str) -> Program:
    """The program in a .pt2 file, which torch.export.save wrote, for ``target``."""
    with quiet_export(), for_target(target):
        try:
            with quiet_load():
                exported = torch.export.load(path)
        except Exception as error:
            raise InputError(
                f"{path} cannot be read: {why_unread(error)}",
                remedy=f"pass a file that torch.export.save of torch {torch.__version__} wrote",
            ) from error
        return program_of(exported, path.name)
