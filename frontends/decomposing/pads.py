"""Padding: negative amounts are slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch.fx.experimental.symbolic_shapes import guard_or_false

from .registry import aten, ours
from .target import runs_loops

FEW = 8  # elements of a border that a GPU may read with what is between: as passes/moving/wraps.py has it
# torch's, of any number of dims.
_GATHERED = get_decompositions([aten.reflection_pad2d.default, aten.replication_pad2d.default])


@ours(aten.constant_pad_nd.default)
def _constant_pad(x: Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """Cut what is negative, then pad with the rest."""
    negative = [_is_negative(amount) for amount in pad]
    if not any(negative):
        return NotImplemented
    cuts = [-amount if cut else 0 for amount, cut in zip(pad, negative, strict=True)]
    for place in range(len(pad) // 2):
        dim = x.dim() - 1 - place
        before, after = cuts[2 * place : 2 * place + 2]
        x = x.narrow(dim, before, x.shape[dim] - before - after)
    left = [0 if cut else amount for amount, cut in zip(pad, negative, strict=True)]
    return aten.constant_pad_nd(x, left, value) if any(map(_is_some, left)) else x.clone()


def _is_negative(amount: Any) -> bool:
    """Of a symbolic amount, as it is in this call: a guard compiles anew for the other sign.

    Where no guard can be added any more, the program checks the sign when it runs (mlopt-check-sizes).
    """
    return amount < 0 if isinstance(amount, int) else bool(guard_or_false(amount < 0))


def _is_some(amount: Any) -> bool:
    return not isinstance(amount, int) or amount != 0


@ours(aten._pad_circular.default)
def _circular_pad(x: Tensor, pad: Sequence[int]) -> Any:
    """What comes before is the end of what is left of ``x``, and the other way round."""
    if not all(isinstance(amount, int) for amount in pad):
        return NotImplemented

    def border(x: Tensor, dim: int, amount: int, before: bool) -> list[Tensor]:
        return [x.narrow(dim, x.shape[dim] - amount if before else 0, amount)]

    return _with_borders(x, pad, border)


@ours(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)
def _reflection_pad(x: Tensor, pad: Sequence[int]) -> Any:
    """What is next to an edge, in turned order."""
    if not _should_join(x, pad):
        known = all(isinstance(number, int) for number in (*x.shape[x.dim() - len(pad) // 2 :], *pad))
        return _GATHERED[aten.reflection_pad2d.default](x, pad) if known else _reflected(x, pad)

    def border(x: Tensor, dim: int, amount: int, before: bool) -> list[Tensor]:
        first = 1 if before else x.shape[dim] - 1 - amount
        if amount > FEW or not _is_known(x):  # columns of tensors of any size are copied one by one
            return [x.narrow(dim, first, amount).flip(dim)]
        return [x.narrow(dim, first + place, 1) for place in reversed(range(amount))]

    return _with_borders(x, pad, border)


def _reflected(x: Tensor, pad: Sequence[Any]) -> Tensor:
    """Gathered dim by dim, for sizes that are not known: of n elements place p is n - 1 - ||p| - (n - 1)|."""
    for place in range(len(pad) // 2):
        dim = x.dim() - 1 - place
        before, after = pad[2 * place : 2 * place + 2]
        if not _is_some(before) and not _is_some(after):
            continue
        last = x.shape[dim] - 1
        places = torch.arange(last + 1 + before + after, device=x.device) - before
        from_last = (places.abs() - last).abs()
        x = torch.index_select(x, dim, from_last.neg() + last)
    return x


@ours(aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default)
def _replication_pad(x: Tensor, pad: Sequence[int]) -> Any:
    """The edges, as often as there is padding."""
    if not _should_join(x, pad):
        return _GATHERED[aten.replication_pad2d.default](x, pad)

    def border(x: Tensor, dim: int, amount: int, before: bool) -> list[Tensor]:
        edge = x.narrow(dim, 0 if before else x.shape[dim] - 1, 1)
        if runs_loops():
            return [edge.expand([*x.shape[:dim], amount, *x.shape[dim + 1 :]])]
        return [edge] * amount

    return _with_borders(x, pad, border)


def _should_join(x: Tensor, pad: Sequence[Any]) -> bool:
    """Whether to join the padding and what it is around, and not to gather each element, as torch does.

    Parts are copied in vectors: a border of one around 256 images of 56x56 takes an AVX2 core 0.28 ms, and
    not 4.4. For a GPU few elements become one read with what they are around, if all sizes are known
    (`moving/wraps.py`).
    """
    if not all(isinstance(amount, int) and amount >= 0 for amount in pad):
        return False
    if runs_loops():
        return True
    return max(pad) <= FEW and _is_known(x)


def _is_known(x: Tensor) -> bool:
    return all(isinstance(size, int) for size in x.shape)


def _with_borders(
    x: Tensor, pad: Sequence[int], border: Callable[[Tensor, int, int, bool], list[Tensor]]
) -> Tensor:
    """``x`` between its borders, dim by dim; negative amounts are cut off first.

    ``border``: so much of what comes before or after all along a dim, in parts. On the CPU rows are put
    between theirs first: then both times an image is copied as it lies (8x64 of 56x56 in f32, reflected, take
    three quarters of the time). A GPU has one kernel, from the last dim on (`moving/wraps.py`).
    """
    places = range(len(pad) // 2)
    for place in reversed(places) if runs_loops() else places:
        dim = x.dim() - 1 - place
        before, after = pad[2 * place : 2 * place + 2]
        size = x.shape[dim] + min(before, 0) + min(after, 0)
        x = x.narrow(dim, max(-before, 0), size)
        start = border(x, dim, before, True) if before > 0 else []
        end = border(x, dim, after, False) if after > 0 else []
        x = torch.cat([*start, x, *end], dim)
    return x
