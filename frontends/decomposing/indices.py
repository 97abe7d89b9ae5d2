"""Writes through indices, as reductions over comparisons.

torch-mlir lowers these to scalar loops (and writes where an index points without a look);
as ordinary reductions and gathers they fuse, run over threads, and check their indices. The
work grows with the product of both sizes: `should_compare` bounds it, beyond it the loops stay,
and get indices that were checked before; where nothing runs loops, indices are sorted (sorted_writes.py).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .registry import aten, compute_dtype, count, ours
from .sorted_writes import reduce_sorted, write_sorted
from .target import runs_loops

LIMIT = 1 << 26
# A GPU's blocks compare an index with their rows once for all that a row has, at least a wide access.
LISTED = 1 << 31
_ROW = 4
# Where loops run, they take a nanosecond for each element that is written, and the vectors of a
# comparison 0.02 to 0.3 for each pair. Few pairs for each place are as cheap as the copy of `x`.
_PAIRS_EACH = 16


def should_compare(rows: int, given: int, width: int = 1, *, added: bool = False) -> bool:
    """Whether to compare ``given`` indices with all ``rows``, for ``width`` elements each.

    ``added``: to add up rows of so many elements that all have one index.
    """
    if runs_loops():
        few = rows * given <= _PAIRS_EACH * (rows + given)
        return few and rows * given * width <= LIMIT
    return rows * given * width <= (LISTED if added and width >= _ROW else LIMIT)


def static(*shapes: Any) -> bool:
    """Whether all sizes of ``shapes`` are known."""
    return all(isinstance(size, int) for shape in shapes for size in shape)


def _checked(index: Tensor, size: int) -> Tensor:
    """``index`` counted from the front: a gather, so that a wrong index is an IndexError."""
    return torch.arange(size)[index]


def not_negative(index: Tensor, size: int) -> Tensor:
    """``index``, where -1 is an IndexError, too."""
    return torch.arange(size).index_select(0, index.reshape(count(index.shape))).reshape(index.shape)


def _hits(index: Tensor, rows: int) -> Tensor:
    """Which of ``rows`` each index names: [rows, indices]."""
    return _checked(index, rows) == torch.arange(rows).unsqueeze(1)


def _put_along(x: Tensor, dim: int, index: Tensor, values: Tensor, accumulate: bool) -> Any:
    """x[index[k]] = values[k] along a dim for a 1-D ``index``; of equal ones the last wins, or all add up."""
    if not static(x.shape, values.shape):
        return NotImplemented
    rows, given = x.shape[dim], index.shape[0]
    width = math.prod((*x.shape[:dim], *x.shape[dim + 1 :])) if accumulate else 1
    compare = should_compare(rows, given, width, added=accumulate)
    if compare and not accumulate:
        return _where_hit(x, dim, _hits(index, rows), values)  # nothing has to be moved
    if not compare and runs_loops():
        return NotImplemented
    moved, values = x.movedim(dim, 0), values.movedim(dim, 0)
    if compare:
        return _add_where_hit(moved, _hits(index, rows), values).movedim(0, dim)
    return _put_sorted(moved, _checked(index, rows), values, accumulate).movedim(0, dim)


def _add_where_hit(x: Tensor, hit: Tensor, values: Tensor) -> Tensor:
    """``values`` added up in those rows of ``x`` that an index hits."""
    zero = torch.zeros((), dtype=x.dtype)
    added = torch.where(hit.reshape(*hit.shape, *[1] * (x.dim() - 1)), values.unsqueeze(0), zero)
    return x + added.sum(1, dtype=x.dtype)


def _where_hit(x: Tensor, dim: int, hit: Tensor, values: Tensor) -> Tensor:
    """``values`` at those places along a dim of ``x`` that an index hits, the last one that does."""
    rows, given = hit.shape
    if given == 0 or x.numel() == 0:
        return x.clone()
    source = torch.where(hit, torch.arange(given), -1).amax(1)
    taken = values.index_select(dim, source.clamp(min=0))
    return torch.where((source >= 0).reshape(rows, *[1] * (x.dim() - dim - 1)), taken, x)


def _put_sorted(x: Tensor, index: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """Many into many, where nothing runs loops."""
    if not accumulate:
        return write_sorted(x, index, values)
    wide = compute_dtype(x.dtype)
    return reduce_sorted(x.to(wide), index, values.to(wide), "sum", 0).to(x.dtype)


@ours(aten.index.Tensor)
def _index(x: Tensor, indices: list[Tensor | None]) -> Any:
    """torch-mlir takes indices of int64 alone."""
    if not any(i is not None and i.dtype == torch.int32 for i in indices):
        return NotImplemented
    return aten.index(x, [i.long() if i is not None and i.dtype == torch.int32 else i for i in indices])


@ours(aten.index_put.default)
def _index_put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    """As reductions, or else torch-mlir's loops with indices that have been looked at."""
    out = _put(x, indices, values, accumulate)
    if out is not NotImplemented or any(i is not None and i.dtype == torch.bool for i in indices):
        return out
    if any(i is not None and 0 in i.shape for i in indices):
        return x.clone()
    checked = [i if i is None else _checked(i, x.shape[d]) for d, i in enumerate(indices)]
    wide = compute_dtype(x.dtype) if accumulate else x.dtype
    return aten._unsafe_index_put(x.to(wide), checked, values.to(wide), accumulate).to(x.dtype)


@ours(aten._unsafe_index_put.default)
def _put(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    """One index, or several for the leading dimensions; or a mask and one value."""
    used = [d for d, index in enumerate(indices) if index is not None]
    first = indices[used[0]]
    assert first is not None
    if first.dtype == torch.bool:
        if len(used) > 1 or used[0] != 0 or values.numel() != 1:
            return NotImplemented
        mask = first.reshape(*first.shape, *[1] * (x.dim() - first.dim()))
        value = values.reshape(()).to(x.dtype)
        return torch.where(mask, x + value if accumulate else value, x)
    leads = used == list(range(len(used)))
    if not leads and any(index is not None and index.dtype == torch.bool for index in indices):
        return NotImplemented
    if not static(x.shape):
        return NotImplemented if leads else _put_inside(x, used, indices, values, accumulate)
    if len(used) == 1:
        dim = used[0]
        shape = (*x.shape[:dim], *first.shape, *x.shape[dim + 1 :])
        after = math.prod(first.shape)
        spread = values.expand(shape).reshape(*x.shape[:dim], after, *x.shape[dim + 1 :])
        out = _put_along(x, dim, first.reshape(after), spread, accumulate)
        if out is not NotImplemented or leads:
            return out
    if not leads:
        return _put_inside(x, used, indices, values, accumulate)
    given = torch.broadcast_tensors(*[index for index in indices if index is not None])
    flat = torch.zeros((), dtype=torch.int64)
    for d, index in enumerate(given):
        flat = flat * x.shape[d] + _checked(index, x.shape[d])
    rest = x.shape[len(used) :]
    spread = values.expand(*given[0].shape, *rest).reshape(count(given[0].shape), *rest)
    rows = x.reshape(count(x.shape[: len(used)]), *rest)
    out = _put_along(rows, 0, flat.reshape(count(flat.shape)), spread, accumulate)
    return out if out is NotImplemented else out.reshape(x.shape)


def _put_inside(
    x: Tensor, used: list[int], indices: list[Tensor | None], values: Tensor, accumulate: bool
) -> Tensor:
    """What has an index to the front and back: torch-mlir's loops take leading indices only."""
    given = torch.broadcast_tensors(*[index for index in indices if index is not None])
    rest = [size for d, size in enumerate(x.shape) if d not in used]
    # What is indexed stands where the indices do, but in front where they are not side by side.
    at = used[0] if used[-1] - used[0] == len(used) - 1 else 0
    front, shape = list(range(len(used))), given[0].shape
    spread = values.expand(*rest[:at], *shape, *rest[at:])
    spread = spread.movedim(list(range(at, at + len(shape))), list(range(len(shape))))
    return aten.index_put(x.movedim(used, front), given, spread, accumulate).movedim(front, used)


@ours(aten.index_add.default)
def _index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    return _at_rows(x, dim, index, source if alpha == 1 else source * alpha, accumulate=True)


@ours(aten.index_copy.default)
def _index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _at_rows(x, dim, index, source, accumulate=False)


@ours(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def _index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Here eager does take negative indices."""
    if x.dim() == 0:
        return torch.index_fill(x.reshape(1), 0, index, value).reshape(())
    value = value.to(x.dtype) if isinstance(value, Tensor) else torch.full((), value, dtype=x.dtype)
    return aten.index_put(x, [None] * (dim % x.dim()) + [index], value)


def _at_rows(x: Tensor, dim: int, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """Unlike index_put, these take no negative index."""
    if x.dim() == 0:
        return _at_rows(x.reshape(1), 0, index, source.reshape(1), accumulate).reshape(())
    dim %= x.dim()
    index = index.reshape(1) if index.dim() == 0 else index
    places = [None] * dim + [not_negative(index, x.shape[dim])]
    return aten.index_put(x, places, source, accumulate)


@ours(aten.one_hot.default)
def _one_hot(index: Tensor, classes: int = -1) -> Any:
    if classes == -1:
        return NotImplemented
    if 0 not in index.shape:
        assert_async((index >= 0).all(), "Class values must be non-negative.")
        assert_async((index < classes).all(), "Class values must be smaller than num_classes.")
    return (index.unsqueeze(-1) == torch.arange(classes)).to(torch.int64)


@ours(aten.masked_scatter.default)
def _masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Any:
    """Each element of the mask takes the next one of ``source``."""
    x, mask = torch.broadcast_tensors(x, mask)
    if not static(x.shape, source.shape) or x.numel() == 0:
        return NotImplemented if x.numel() else x.clone()
    places = mask.reshape(x.numel()).cumsum(0)
    assert_async(places[-1] <= source.numel(), "Number of elements of source < number of ones in mask")
    if source.numel() == 0:
        return x.clone()
    taken = source.reshape(source.numel())[(places - 1).clamp(0, source.numel() - 1)]
    return torch.where(mask, taken.reshape(x.shape), x)


def assert_async(holds: Tensor, message: str) -> None:
    """A check when the program runs: RuntimeError with ``message`` unless the one element ``holds``."""
    aten._assert_async.msg(holds, message)
