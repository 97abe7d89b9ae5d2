"""Torch modules as programs that are only looked at: what `mlopt.jit` does first, without the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ..errors import CompileError, InputError, user_line
from ..frontends.program import Program
from ..frontends.torch import capture, program_of
from ..runtime.quiet import quiet_fakes
from ..runtime.torch_tree import FunctionModule


def trace(function: Callable[..., Any], examples: Sequence[Any]) -> Program:
    """The program of a module or function on ``examples``, torch tensors or numpy arrays."""
    module = function if isinstance(function, torch.nn.Module) else FunctionModule(function)
    args = pytree.tree_map_only(np.ndarray, torch.from_numpy, tuple(examples))
    with _quiet():
        try:
            return capture(module, args)
        except CompileError as error:
            error.where = error.where or user_line(error.__cause__)
            raise


def load(path: Path) -> Program:
    """The program in a .pt2 file, which torch.export.save wrote."""
    with _quiet():
        try:
            exported = torch.export.load(path)
        except Exception as error:
            raise InputError(
                f"{path} cannot be read: {type(error).__name__}: {str(error).splitlines()[0]}",
                remedy=f"pass a file that torch.export.save of torch {torch.__version__} wrote",
            ) from error
        return program_of(exported, path.name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's own use of what it deprecates, at each export."""
    with warnings.catch_warnings(), quiet_fakes():
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        yield
