"""A module run in float64 throughout: what it makes for itself included.

``module.double()`` and float64 arguments are not enough where ``forward`` makes a tensor (torch.zeros) or
casts one to float32: torch refuses most ops of two dtypes. A dispatch mode sees each op, and with ``lift``

- a lower float among its tensors (a constant that is no buffer) is cast to float64,
- a lower float that it is asked to cast to is float64,
- a lower float that it returns (torch.zeros, torch.full) is cast to float64: with the value that eager's has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

_LOWER = (torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


class InFloat64(torch.nn.Module):
    """``module``, which is of float64; with ``lift`` all else is, too.

    TypeError where an op reads the bits of a float, and where one writes to a tensor of a lower float (its
    cast copy would be written to).
    """

    def __init__(self, module: torch.nn.Module, lift: bool) -> None:
        super().__init__()
        self.module, self.lift = module, lift

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with _Lift() if self.lift else _NoBits():
            outputs = self.module(*args, **kwargs)
        return pytree.tree_map(_lifted, outputs) if self.lift else outputs


class _NoBits(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.ops.aten.view.dtype and (args[0].is_floating_point() or args[1].is_floating_point):
            raise TypeError("it looks at the bits of a float")
        return self.call(func, args, dict(kwargs or {}))

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return func(*args, **kwargs)


class _Lift(_NoBits):
    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        if func._schema.is_mutable and any(map(_is_lower, leaves)):
            raise TypeError(f"{func} writes, and not all of its tensors are float64")
        if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            args, kwargs = pytree.tree_map(_lifted, (args, kwargs))
        return pytree.tree_map_only(torch.Tensor, _lifted, func(*args, **kwargs))


def _is_lower(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in _LOWER


def _lifted(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return torch.float64 if value in _LOWER else value
    return value.double() if _is_lower(value) else value
