"""``verify=True``: the first call of a compiled module beside eager and eager in float64.

Each element may be off from the float64 result by twice as much as eager is, or by a small
share of its own size or of the output's typical size, whichever is larger. Integers and bools
must be equal to eager's; NaN and infinities must be where eager has them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..errors import VerifyError
from .torch_inputs import describe

_SHARE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


class Verifier:
    """Takes what eager gives for some arguments, before a call; compares with what it returned."""

    def __init__(self, module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        positional: tuple[Any, ...]
        positional, by_name = pytree.tree_map(_as_tensor, (tuple(args), dict(kwargs)))
        self.eager = _leaves(module, positional, by_name)
        try:
            double_args, double_kwargs = pytree.tree_map(_to_double, (positional, by_name))
            self.exact = _leaves(copy.deepcopy(module).double(), double_args, double_kwargs)
        except (RuntimeError, TypeError):  # a module that insists on its dtype
            self.exact = self.eager

    def check(self, outputs: Any) -> None:
        """Raise `VerifyError` if ``outputs`` are not what eager returns."""
        ours = pytree.tree_leaves(outputs)
        if len(ours) != len(self.eager):
            raise VerifyError(f"verify: {len(ours)} outputs, eager has {len(self.eager)}")
        for number, (value, eager, exact) in enumerate(zip(ours, self.eager, self.exact, strict=True)):
            value = _as_tensor(value)
            if not isinstance(eager, torch.Tensor):
                if value != eager:
                    raise VerifyError(f"verify: output {number} is {value!r}, eager's is {eager!r}")
                continue
            _check_tensor(number, value.detach(), eager, exact)


def _check_tensor(number: int, value: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
    kinds = [describe(tensor.dtype, tensor.shape) for tensor in (value, eager)]
    if kinds[0] != kinds[1]:
        raise VerifyError(f"verify: output {number} is {kinds[0]}, eager's is {kinds[1]}")
    wrong = _wrong(value, eager, exact)
    count = int(wrong.sum())
    if not count:
        return
    place = tuple(wrong.nonzero()[0].tolist())
    reference = "" if exact is eager else f", in float64 {exact[place].item():.9g}"
    raise VerifyError(
        f"verify: output {number} ({kinds[0]}) differs from eager in {count} of {value.numel()} elements",
        details=f"at {list(place)}: compiled {value[place].item():.9g}, "
        f"eager {eager[place].item():.9g}{reference}",
        remedy="please report it, with the module; fallback: run the module in eager",
    )


def _wrong(value: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Which elements are not what they should be."""
    if not value.is_floating_point():
        return value != eager
    share = _SHARE[value.dtype]
    value, eager, exact = value.double(), eager.double(), exact.double()
    finite = eager.isfinite() & exact.isfinite()
    scale = exact[finite].square().mean().sqrt() if finite.any() else torch.tensor(0.0)
    allowed = torch.maximum(2 * (eager - exact).abs(), share * torch.maximum(exact.abs(), scale))
    special = ~finite & (value != eager) & ~(value.isnan() & eager.isnan())
    return special | (finite & ~((value - exact).abs() <= allowed))


def _leaves(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The outputs of a copy of ``module`` for copies of its arguments: either may be mutated."""
    with torch.no_grad():
        copies = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), (args, kwargs))
        return [
            leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
            for leaf in pytree.tree_leaves(copy.deepcopy(module)(*copies[0], **copies[1]))
        ]


def _as_tensor(value: Any) -> Any:
    return (
        torch.as_tensor(value.copy())
        if type(value).__module__ == "numpy" and hasattr(value, "dtype")
        else value
    )


def _to_double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
