"""A module run with products of f32 as tensor cores make them where torch lets them: TF32.

What torch's own setting does on a GPU, on any device: both factors of a product are rounded to so many
bits before they are multiplied. Products are matrix products, and convolutions whose window is one place,
which are compiled as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

TF32_BITS = 11  # of the fraction, with the one before the point
_ATEN = torch.ops.aten
_FACTORS = {  # the operands that are multiplied
    _ATEN.mm: (0, 1),
    _ATEN.bmm: (0, 1),
    _ATEN.mv: (0, 1),
    _ATEN.dot: (0, 1),
    _ATEN.addmm: (1, 2),
    _ATEN.addmv: (1, 2),
    _ATEN.addr: (1, 2),
    _ATEN.addbmm: (1, 2),
    _ATEN.baddbmm: (1, 2),
    _ATEN.convolution: (0, 1),
}


class RoundedProducts(TorchDispatchMode):
    """Rounds f32 factors of products to ``bits``; other dtypes stay."""

    def __init__(self, bits: int = TF32_BITS) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bits = bits

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        places = _FACTORS.get(func.overloadpacket, ())
        if func.overloadpacket is _ATEN.convolution and any(size != 1 for size in args[1].shape[2:]):
            places = ()
        factors = (self._rounded(arg) if place in places else arg for place, arg in enumerate(args))
        return func(*factors, **(kwargs or {}))

    def _rounded(self, factor: torch.Tensor) -> torch.Tensor:
        if factor.dtype != torch.float32:
            return factor
        fraction, exponent = torch.frexp(factor.double())
        return torch.ldexp((fraction * 2**self.bits).round(), exponent - self.bits).to(factor.dtype)
