"""Running sums, products, maxima and minima.

On GPUs a scan is one kernel whose tasks run through rows, or one for each part of few long ones. On CPUs it
is a loop over strips of registers (`passes/cpu/strips/scan.py`) where the length of rows is known, else one
over elements (`frontends/scans.py`). Running extremes are put together of reductions over parts on GPUs, and
refused along rows of unknown length.

``mlopt::running_max`` and ``mlopt::running_min`` are values alone, for which aten has no op: scans of CPUs
(`frontends/running.py`). NaN stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .reductions import product_dtype
from .registry import aten, compute_dtype, count, ours
from .target import runs_loops

PART = 16  # places of a scan of runs, each of which adds up those before it for itself
SCANNED = 8  # and of a scan that is put together
# Where rows are run through: the tasks that are wanted and the columns of one; the parts of a row, if it has
# so many: else two more launches take longer than its one task.
TASKS, COLUMNS, LONG, FEWEST = 256, 32, 4096, 8
_RUN_IN = (torch.float64, torch.float32, torch.int64)
# Integers, and floats, on CPUs: as in eager, which rounds each total once.
_ADDED_IN = (torch.int64, torch.float64)

_library = torch.library.Library("mlopt", "FRAGMENT")  # it is undefined when it is collected
for _name, _running_of in (("running_max", torch.cummax), ("running_min", torch.cummin)):
    _library.define(f"{_name}(Tensor x, int dim) -> Tensor")
    _library.impl(_name, lambda x, dim: torch.empty_like(x), "Meta")  # noqa: ARG005 (as the schema names it)
    _library.impl(_name, lambda x, dim, of=_running_of: of(x, dim).values, "CPU")
running_max, running_min = torch.ops.mlopt.running_max.default, torch.ops.mlopt.running_min.default


def kind_of(op: Any, dtype: torch.dtype) -> str:
    """How a scan combines elements for a running extreme, as arith names it."""
    name = "max" if op is running_max else "min"
    return f"{name}imumf" if dtype.is_floating_point else f"{name}si"


@ours(aten.cumsum.default)
def _cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    result = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    if x.dtype == result and _is_run_through(x, dim):
        return NotImplemented
    sums = _scan(x.to(result).to(compute_dtype(result)), dim, _SUMS)
    return sums if sums is NotImplemented else sums.to(result)


@ours(aten.cumprod.default)
def _cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    result = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = compute_dtype(product_dtype(result))
    is_plain = x.dtype == result == wide
    if is_plain and _is_run_through(x, dim):  # torch-mlir knows it without a dtype alone
        return NotImplemented if dtype is None else aten.cumprod(x, dim)
    factors = x.to(result).to(wide)
    products = _scan(factors, dim, _PRODUCTS)
    if products is NotImplemented:  # one after the other, in the same type
        products = NotImplemented if is_plain and dtype is None else aten.cumprod(factors, dim)
    return products if products is NotImplemented else products.to(result)


@ours(aten.logcumsumexp.default)
def _logcumsumexp(x: Tensor, dim: int) -> Any:
    """By logarithms all the way: the sum of exp(x) may be infinite or zero."""
    wide = compute_dtype(x.dtype)
    if x.dtype == wide and _is_run_through(x, dim):
        return NotImplemented
    sums = _scan(x.to(wide), dim, _LOGARITHMS)
    if sums is NotImplemented:  # one after the other (frontends/running.py)
        sums = aten.logcumsumexp(x.to(wide), dim) if x.dtype != wide else NotImplemented
    return sums if sums is NotImplemented else sums.to(x.dtype)


@ours(aten.cummax.default)
def _cummax(x: Tensor, dim: int) -> Any:
    return _running(x, dim, _MAXIMA)


@ours(aten.cummin.default)
def _cummin(x: Tensor, dim: int) -> Any:
    return _running(x, dim, _MINIMA)


def _running(x: Tensor, dim: int, scan: _Scan) -> Any:
    """The extreme of all up to each place, and the last place that holds it; from a NaN on, a NaN's."""
    if x.dim() == 0 or 0 in x.shape:
        return x.clone(), torch.zeros(x.shape, dtype=torch.int64)
    rows, along = _rows_of(x, dim)
    if rows is not x:
        found = _running(rows, along, scan)
        return found if found is NotImplemented else tuple(each.reshape(x.shape) for each in found)
    keys = x if x.dtype.itemsize > 1 else x.to(torch.int32)
    if runs_loops():
        keys = keys.to(compute_dtype(keys.dtype))  # exact, and once for both scans
    if not keys.is_floating_point():
        limits = torch.iinfo(keys.dtype)
        scan = scan._replace(neutral=limits.min if scan.neutral < 0 else limits.max)
    values = _scan(keys, dim, scan)
    if values is NotImplemented:
        return values
    shape = [1] * x.dim()
    shape[dim] = size = x.shape[dim]
    places = torch.arange(size, dtype=torch.int32 if size < 2**31 else torch.int64).reshape(shape)
    hits = torch.where((keys == values) | (keys != keys), places, 0)
    return values.to(x.dtype), _scan(hits, dim, _MAXIMA._replace(neutral=0)).to(torch.int64)


class _Scan(NamedTuple):
    """What is made of all that ends at a place: the neutral value, a reduction, and how two results join.

    ``strips``: the op that CPUs have; ``run``: one that is a kernel of its own where rows are run through.
    """

    neutral: float
    total: Callable[[Tensor, int], Tensor]
    join: Callable[[Tensor, Tensor], Tensor]
    strips: Callable[[Tensor, int], Tensor]
    run: Callable[[Tensor, int], Tensor] | None = None


_SUMS = _Scan(0, lambda x, dim: x.sum(dim, dtype=x.dtype), torch.add, torch.cumsum, torch.cumsum)
_PRODUCTS = _Scan(1, lambda x, dim: x.prod(dim, dtype=x.dtype), torch.mul, torch.cumprod, torch.cumprod)
_MAXIMA = _Scan(-torch.inf, torch.amax, torch.maximum, running_max)
_MINIMA = _Scan(torch.inf, torch.amin, torch.minimum, running_min)
_LOGARITHMS = _Scan(-torch.inf, torch.logsumexp, torch.logaddexp, torch.logcumsumexp, torch.logcumsumexp)


def _scan(x: Tensor, dim: int, scan: _Scan) -> Any:
    """All that ends at each place along ``dim``, put together."""
    if x.dim() == 0 or 0 in x.shape:
        return x.clone()
    if scan.run is not None and not runs_loops():
        wide = x if x.dtype in _RUN_IN else x.to(torch.int64)
        return _run_through(wide, dim % x.dim(), scan).to(x.dtype)
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    if runs_loops():
        rows, along = _rows_of(x, dim)
        if scan.run is not None:
            rows = rows.to(_ADDED_IN[x.is_floating_point()])
        return scan.strips(rows, along).to(x.dtype).reshape(x.shape)
    return _scan_parts(x, dim % x.dim(), scan, exclusive=False)


def _is_run_through(x: Tensor, dim: int) -> bool:
    """Whether a scan of ``x`` is one kernel, whose tasks run through rows."""
    if x.dtype not in _RUN_IN or x.dim() == 0 or 0 in x.shape:
        return False
    if runs_loops():
        return isinstance(x.shape[dim], int) and x.dtype in _ADDED_IN and _rows_of(x, dim)[0] is x
    return _part_of_long(x, dim % x.dim()) is None


def _rows_of(x: Tensor, dim: int) -> tuple[Tensor, int]:
    """``x`` and ``dim``, on CPUs without dims of one element beside it: so element-wise kernels have them."""
    dim %= x.dim()
    kept = [at for at, size in enumerate(x.shape) if at == dim or not isinstance(size, int) or size != 1]
    if not runs_loops() or len(kept) == x.dim():
        return x, dim
    return x.reshape([x.shape[at] for at in kept]), kept.index(dim)


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

    Within a part each place adds up for itself: memory is read twice and written once, however long rows are.
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
