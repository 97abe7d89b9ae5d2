"""Forward-mode AD, torch.func's transforms and tracing: what compiled code cannot take part in.

A tangent, a batch dimension or a tracer does not go through compiled code. It would be dropped, and
what comes out would be wrong without a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.autograd import forward_ad

from ..errors import InputError


def refuse_transforms(values: Iterable[Any]) -> None:
    """Raise InputError if one of ``values`` has a tangent or is inside a transform, or make_fx traces."""
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None:
        _refuse("make_fx traces this call")
    for value in values:
        if not isinstance(value, torch.Tensor):
            continue
        if torch._C._functorch.is_functorch_wrapped_tensor(value):
            _refuse("an input is inside a transform of torch.func (vmap, grad, jvp, …)")
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(value).tangent is not None:
            _refuse("an input has a tangent of forward-mode AD")


def _refuse(what: str) -> None:
    raise InputError(
        f"{what}, and compiled code does not support that",
        remedy="apply the transform to the original module, not to what mlopt.jit returned",
    )
