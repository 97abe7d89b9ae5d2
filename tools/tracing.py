"""A torch module as a program that is only looked at: what `mlopt.jit` does first, without the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ..errors import CompileError, user_line
from ..frontends.program import Program
from ..frontends.torch import capture
from ..runtime.quiet import quiet_fakes
from ..runtime.torch_tree import FunctionModule


def trace(function: Callable[..., Any], examples: Sequence[Any]) -> Program:
    """The program of a module or function on ``examples``, torch tensors or numpy arrays."""
    module = function if isinstance(function, torch.nn.Module) else FunctionModule(function)
    args = pytree.tree_map_only(np.ndarray, torch.from_numpy, tuple(examples))
    with warnings.catch_warnings(), quiet_fakes():
        # torch's own use of what it deprecates, at each export.
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        try:
            return capture(module, args)
        except CompileError as error:
            error.where = error.where or user_line(error.__cause__)
            raise
