"""Variance, running sums, places of the largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .registry import aten, compute_dtype, count, ours
from .target import runs_loops

PART = 16  # places of a scan of runs, each of which adds up those before it for itself
SCANNED = 8  # and of one by loops: as many lanes as a register has
# Where rows are run through: the tasks that are wanted and the columns of one; the parts of a row, if it has
# so many: else two more launches take longer than its one task.
TASKS, COLUMNS, LONG, FEWEST = 256, 32, 4096, 8
_RUN_IN = (torch.float64, torch.float32, torch.int64)


@ours(aten.sum.default, aten.sum.dim_IntList)
def _sum(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    """The cast to the sum's dtype comes first: torch-mlir's own takes uint8 for int8."""
    result = _total_dtype(x, dtype)
    return NotImplemented if x.dtype == result else x.to(result).sum(*args, **kwargs, dtype=result)


@ours(aten.prod.default, aten.prod.dim_int)
def _prod(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    result = _total_dtype(x, dtype)
    wide = _product_dtype(result)
    if x.dtype == result == wide:
        return NotImplemented
    return x.to(result).to(wide).prod(*args, **kwargs, dtype=wide).to(result)


def _total_dtype(x: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    return dtype or (x.dtype if x.is_floating_point() else torch.int64)


def _product_dtype(dtype: torch.dtype) -> torch.dtype:
    """f64 for f32: however products are grouped, each rounding is one of the whole, as none of a sum is."""
    return torch.float64 if dtype == torch.float32 else dtype


@ours(aten.mean.default, aten.mean.dim)
def _mean(x: Tensor, *args: Any, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
    return NotImplemented if dtype in (None, x.dtype) else x.to(dtype).mean(*args, **kwargs)


@ours(aten.trace.default)
def _trace(x: Tensor) -> Tensor:
    on_diagonal = torch.arange(x.shape[0]).unsqueeze(1) == torch.arange(x.shape[1])
    return torch.where(on_diagonal, x, torch.zeros((), dtype=x.dtype)).sum()


@ours(aten.any.default, aten.any.dim, aten.any.dims)
def _any(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Of uint8 the result is uint8, which torch-mlir does not know."""
    return NotImplemented if x.dtype != torch.uint8 else (x != 0).any(*args, **kwargs).to(torch.uint8)


@ours(aten.all.default, aten.all.dim)
def _all(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return NotImplemented if x.dtype != torch.uint8 else (x != 0).all(*args, **kwargs).to(torch.uint8)


@ours(aten.all.dims)
def _all_dims(x: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """One dim after the other, from the last on; torch-mlir does not know several, or none, which is all."""
    dims = range(x.dim()) if not dim else [each % max(x.dim(), 1) for each in dim]
    holds = x != 0
    for each in sorted(dims, reverse=True):
        holds = holds.all(each, keepdim)
    return holds.to(torch.uint8) if x.dtype == torch.uint8 else holds


@ours(aten.max.default)
def _max_all(x: Tensor) -> Any:
    """torch-mlir crashes on 8-bit integers."""
    return x.reshape(-1).amax(0) if x.dtype in (torch.int8, torch.uint8) else NotImplemented


@ours(aten.min.default)
def _min_all(x: Tensor) -> Any:
    return x.reshape(-1).amin(0) if x.dtype in (torch.int8, torch.uint8) else NotImplemented


@ours(aten.var.correction)
def _var(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    """Two passes; torch-mlir's own goes through f64."""
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else [d % x.dim() for d in dim]
    y = x.to(compute_dtype(x.dtype))
    y = y - y.mean(dims, keepdim=True)
    count: Any = math.prod(x.shape[d] for d in dims)
    correction = 1 if correction is None else correction
    freedom: Any
    if isinstance(count, int):
        freedom = max(count - correction, 0)  # 0 / 0 or sum / 0, as eager has it
    else:  # the trace takes a dynamic size for 2 or more, which it need not be
        freedom = (torch.full((), count, dtype=torch.int64).to(y.dtype) - correction).clamp(min=0)
    return ((y * y).sum(dims, keepdim) / freedom).to(x.dtype)


@ours(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return torch.var(x, dim, correction=correction, keepdim=keepdim), x.mean(dim, keepdim)


@ours(aten.linalg_vector_norm.default)
def _vector_norm(
    x: Tensor,
    ord: float = 2,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """The root of the sum of squares, which torch-mlir's own computes by powf; of one element |x|."""
    result = dtype or x.dtype
    if ord != 2 or not result.is_floating_point:
        return NotImplemented
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else dim
    y = x.to(result).to(compute_dtype(result))
    if all(isinstance(x.shape[d], int) and x.shape[d] == 1 for d in dims):  # its square may overflow
        norm = y.abs().sum(dims, keepdim) if dims else y.abs()
    else:
        norm = torch.sqrt((y * y).sum(dims, keepdim))
    return norm.to(result)


@ours(aten.cumsum.default)
def _cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    result = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    if x.dtype == result and _is_run_through(x, dim):
        return NotImplemented
    sums = _scan(x.to(compute_dtype(result)), dim, _SUMS)
    if sums is NotImplemented:
        return sums
    return (sums + 0 if runs_loops() else sums).to(result)  # as what starts at 0: never -0


@ours(aten.cumprod.default)
def _cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    result = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = compute_dtype(_product_dtype(result))
    if x.dtype == result == wide and _is_run_through(x, dim):
        return NotImplemented
    factors = x.to(result).to(wide)
    products = _scan(factors, dim, _PRODUCTS)
    if products is NotImplemented:  # one after the other, in the same type
        products = aten.cumprod(factors, dim) if x.dtype != wide else NotImplemented
    return products if products is NotImplemented else products.to(result)


@ours(aten.logcumsumexp.default)
def _logcumsumexp(x: Tensor, dim: int) -> Any:
    """By logarithms all the way: the sum of exp(x) may be infinite or zero."""
    wide = compute_dtype(x.dtype)
    if x.dtype == wide and _is_run_through(x, dim):
        return NotImplemented
    sums = _scan(x.to(wide), dim, _LOGARITHMS)
    if sums is NotImplemented:  # one after the other (frontends/logarithms.py)
        sums = aten.logcumsumexp(x.to(wide), dim) if x.dtype != wide else NotImplemented
    return sums if sums is NotImplemented else sums.to(x.dtype)


@ours(aten.cummax.default)
def _cummax(x: Tensor, dim: int) -> Any:
    return _running(x, dim, torch.amax, torch.maximum, lowest=True)


@ours(aten.cummin.default)
def _cummin(x: Tensor, dim: int) -> Any:
    return _running(x, dim, torch.amin, torch.minimum, lowest=False)


def _running(x: Tensor, dim: int, total: Any, join: Any, *, lowest: bool) -> Any:
    """The extreme of all up to each place, and the last place that holds it; from a NaN on, a NaN's."""
    if x.dim() == 0 or 0 in x.shape:
        return x.clone(), torch.zeros(x.shape, dtype=torch.int64)
    keys = x if x.dtype.itemsize > 1 else x.to(torch.int32)
    limits = torch.iinfo(torch.int32 if keys.is_floating_point() else keys.dtype)
    neutral: float = limits.min if lowest else limits.max
    if keys.is_floating_point():
        neutral = -torch.inf if lowest else torch.inf
    values = _scan(keys, dim, _Scan(neutral, total, join))
    if values is NotImplemented:
        return values
    shape = [1] * x.dim()
    shape[dim] = size = x.shape[dim]
    places = torch.arange(size, dtype=torch.int32 if size < 2**31 else torch.int64).reshape(shape)
    hits = torch.where((keys == values) | (keys != keys), places, 0)
    return values.to(x.dtype), _scan(hits, dim, _Scan(0, torch.amax, torch.maximum)).to(torch.int64)


class _Scan(NamedTuple):
    """What is made of all that ends at a place: the neutral value, a reduction, and how two results join.

    ``run``: the op that is a kernel of its own where rows are run through.
    """

    neutral: float
    total: Callable[[Tensor, int], Tensor]
    join: Callable[[Tensor, Tensor], Tensor]
    run: Callable[[Tensor, int], Tensor] | None = None


_SUMS = _Scan(0, lambda x, dim: x.sum(dim, dtype=x.dtype), torch.add, torch.cumsum)
_PRODUCTS = _Scan(1, lambda x, dim: x.prod(dim, dtype=x.dtype), torch.mul, torch.cumprod)
_LOGARITHMS = _Scan(-torch.inf, torch.logsumexp, torch.logaddexp, torch.logcumsumexp)


def _scan(x: Tensor, dim: int, scan: _Scan) -> Any:
    """All that ends at each place along ``dim``, put together."""
    if x.dim() == 0 or 0 in x.shape:
        return x.clone()
    if scan.run is not None and not runs_loops():
        wide = x if x.dtype in _RUN_IN else x.to(torch.int64)
        return _run_through(wide, dim % x.dim(), scan).to(x.dtype)
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    return _scan_parts(x, dim % x.dim(), scan, exclusive=False)


def _is_run_through(x: Tensor, dim: int) -> bool:
    """Whether a scan of ``x`` is one kernel, whose tasks run through rows."""
    if runs_loops() or x.dtype not in _RUN_IN or x.dim() == 0 or 0 in x.shape:
        return False
    return _part_of_long(x, dim % x.dim()) is None


def _part_of_long(x: Tensor, dim: int) -> int | None:
    """The length of the parts of rows that are too few for all of a GPU, or None; of any length all are."""
    outer, size, inner = count(x.shape[:dim]), count(x.shape[dim : dim + 1]), count(x.shape[dim + 1 :])
    parts = min(TASKS // (outer * -(-inner // COLUMNS)), size // LONG) if outer > 0 and inner > 0 else 0
    if parts < FEWEST:
        return None
    part = -(-size // parts)
    return next((each for each in range(part, min(2 * part, size)) if size % each == 0), part)


def _run_through(x: Tensor, dim: int, scan: _Scan) -> Tensor:
    """Rows by one kernel; long ones, if they are few, in parts, which begin with what is before them."""
    assert scan.run is not None
    part = _part_of_long(x, dim)
    if part is None:
        return scan.run(x, dim)
    apart, size = _apart(x, dim, part, scan.neutral), x.shape[dim]
    totals = scan.total(apart, dim + 1)
    before = [*[0, 0] * (totals.dim() - dim - 1), 1, -1]  # the total of all parts is nobody's start
    starts = scan.run(aten.constant_pad_nd(totals, before, scan.neutral), dim)
    scanned = scan.join(starts.unsqueeze(dim + 1), scan.run(apart, dim + 1))
    return _together(scanned, dim, size)


def _apart(x: Tensor, dim: int, part: int, neutral: float) -> Tensor:
    """The parts of a dim, as a dim before their elements; the last one filled up with the neutral value."""
    size = x.shape[dim]
    parts = -(-size // part)
    if parts * part != size:
        rest = [0, 0] * (x.dim() - dim - 1)
        x = aten.constant_pad_nd(x, [*rest, 0, parts * part - size], neutral)
    return x.reshape(*x.shape[:dim], parts, part, *x.shape[dim + 1 :])


def _together(x: Tensor, dim: int, size: int) -> Tensor:
    """The ``size`` elements of a dim that was taken `_apart`."""
    parts, part = x.shape[dim : dim + 2]
    x = x.reshape(*x.shape[:dim], parts * part, *x.shape[dim + 2 :])
    return x if parts * part == size else x.narrow(dim, 0, size)


def _scan_parts(x: Tensor, dim: int, scan: _Scan, *, exclusive: bool) -> Tensor:
    """Parts of up to `SCANNED` elements, each of which has the total of those before from a scan of totals.

    Within a part each place adds up for itself: what is read again comes from registers or a near cache, and
    memory is read twice and written once, however long the rows are.
    """
    size = x.shape[dim]
    part = part_of(size, SCANNED)
    x = _apart(x, dim, part, scan.neutral)
    parts = x.shape[dim]
    places = torch.arange(part)
    mine = places.unsqueeze(1)
    counts = (places < mine if exclusive else places <= mine).reshape(part, part, *[1] * (x.dim() - dim - 2))
    scanned = scan.total(torch.where(counts, x.unsqueeze(dim + 1), scan.neutral), dim + 2)
    if parts > 1:
        before = _scan_parts(scan.total(x, dim + 1), dim, scan, exclusive=True)
        scanned = scan.join(scanned, before.unsqueeze(dim + 1))
    return _together(scanned, dim, size)


def part_of(size: int, most: int = PART) -> int:
    """All, or the largest divisor that is not much less than ``most``: without one rows are padded."""
    if size <= most:
        return size
    return next((part for part in range(most, most // 2, -1) if size % part == 0), most)


def _place(x: Tensor, best: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The first place along ``dim`` that holds ``best``, or NaN."""
    hit = x == best
    if x.is_floating_point():
        hit = hit | (x != x)
    shape = [1] * x.dim()
    shape[dim] = size = x.shape[dim]
    kind = torch.int32 if size < 2**31 else torch.int64  # half the registers, and twice the lanes
    return torch.where(hit, torch.arange(size, dtype=kind).reshape(shape), size).amin(dim, keepdim).long()


def _argbest(x: Tensor, dim: int | None, keepdim: bool, best: Any) -> Any:
    if x.dim() == 0 or not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    if dim is None:
        flat = x.reshape(-1)
        place = _place(flat, best(flat, 0, True), 0, False)
        return place.reshape([1] * x.dim()) if keepdim else place
    dim %= x.dim()
    return _place(x, best(x, dim, True), dim, keepdim)


@ours(aten.argmax.default)
def _argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The place of a NaN if there is one, which torch-mlir's own misses."""
    return _argbest(x, dim, keepdim, torch.amax)


@ours(aten.argmin.default)
def _argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _argbest(x, dim, keepdim, torch.amin)


@ours(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    place = _argbest(x, dim, keepdim, torch.amax)
    return place if place is NotImplemented else (x.amax(dim, keepdim), place)


@ours(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    place = _argbest(x, dim, keepdim, torch.amin)
    return place if place is NotImplemented else (x.amin(dim, keepdim), place)
