"""The error of a module that torch.export cannot trace: for each kind of cause, what to do about it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.exc import UserError
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree

from ..errors import CompileError

_FUNCTIONS = Path(torch.__file__).parent / "nn"
_OF_DYNAMIC_SHAPES = (UserError, ConstraintViolationError)
# torch's advice on its own tools, which nobody can follow who called mlopt.
_ADVICE = ("For more information", "The error above occurred when calling torch.export")
_OF_VALUES = (
    "choose with torch.where or torch.cond, look at values outside of the module, "
    "or run it in eager (fallback=True)"
)
_OF_SIZES = (
    "name in dynamic_shapes only sizes that may vary, those that are equal by one Dim, "
    "and give examples where they are 2 or more"
)
_OF_EXAMPLES = (
    "pass example inputs that the module takes in eager; if it takes these, rewrite the line, "
    "or run it in eager (fallback=True)"
)


def untraced(
    name: str,
    error: Exception,
    given: tuple[tuple[Any, ...], Mapping[str, Any]],
    dynamic_shapes: Any,
    equalities: Sequence[str],
) -> CompileError:
    """What torch.export's ``error`` on the module ``name`` says, for these example inputs (args, kwargs).

    ``equalities`` are lines on sizes that were found to be equal.
    """
    if isinstance(error, GuardOnDataDependentSymNode | DataDependentOutputException):
        what = f"torch.export cannot trace {name}: Python asks for the values of a tensor"
        return CompileError(what, details=_asking(error), remedy=_OF_VALUES)
    lines = [line for line in str(error).splitlines() if line and not line.startswith(_ADVICE)]
    if dynamic_shapes is not None and (isinstance(error, _OF_DYNAMIC_SHAPES) or "user-specified" in lines[0]):
        lines = [line.partition(" For more information,")[0] for line in lines]
        return CompileError(
            f"torch.export cannot trace {name} with these dynamic_shapes",
            details="\n".join([*lines, *equalities]),
            remedy=_OF_SIZES,
        )
    return CompileError(
        f"torch.export cannot trace {name}: {type(error).__name__}",
        details="\n".join([*lines, f"the example inputs are {described(given)}"]),
        remedy=_OF_EXAMPLES,
    )


def described(given: tuple[tuple[Any, ...], Mapping[str, Any]]) -> str:
    """``(float32[4, 5], mask=bool[4])``."""
    args, kwargs = pytree.tree_map_only(torch.Tensor, _Shape, given)
    return f"({', '.join([*map(repr, args), *(f'{name}={value!r}' for name, value in kwargs.items())])})"


class _Shape:
    """Prints as a tensor's dtype and sizes."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._text = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"

    def __repr__(self) -> str:
        return self._text


def _asking(error: Exception) -> str:
    """The function of torch.nn that asked, if one did."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_FUNCTIONS) and not frame.name.startswith("_")
    ]
    return f"{frames[-1].name} of torch asks: {frames[-1].line}" if frames else ""
