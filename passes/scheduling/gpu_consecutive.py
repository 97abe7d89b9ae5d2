"""Kernels whose results lie one behind the other, while rows of what they read begin anywhere.

So a slice x[:, 1:] of rows of 512: of its rows of 511 few begin where a wide access may, and none of those
that it reads. In tiles each element would be an access; as tasks of one element they are given to threads in
groups, by mlopt-gpu-single-elements.
"""

from __future__ import annotations

from math import prod

from mlir import ir

from ..costs.wide_rows import has_both_rows
from ..domain import Dim, Domain
from ..gpu.layouts.consecutive import gap_of, is_worth_shifting
from ..operations import nested_ops
from ..tiling import elementwise, slices
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import rule_of
from .gpu_threads import WIDE, is_dear
from .gpu_tiles import bytes_of, in_memory

_Place = dict[Dim | None, int]  # factors of dims, and a number by None; none is zero
_PLACED = ("tensor.extract", "cf.assert")  # what tells where to read, or is told


def begins_anywhere(domain: Domain) -> bool:
    """Whether neighbours are read along the rows of what is written, some not where accesses begin."""
    dims = [dim for dim in domain.dims if dim.extent != 1]
    if not dims or not all(dim.extent and dim.kind == "parallel" and not dim.whole for dim in dims):
        return False
    if not all(map(_is_straight, domain.nests)) or is_dear(domain):
        return False
    accesses = [(_place(domain, nest, access), access) for nest, access in in_memory(domain)]
    each = WIDE // max(bytes_of(access) for _, access in accesses)
    row = _row(dims)
    places = [_beyond(place, row) for place, _ in accesses if place is not None]
    if len(places) < len(accesses) or any(dims[-1] in place for place in places):
        return False
    padded = any(index.padded for _, access in accesses for index in access.indices)
    whole = all(
        _is_written(nest, access) or _has_both_rows(dims, place, access, each)
        for (nest, access), place in zip(in_memory(domain), places, strict=True)
    )
    if not is_worth_shifting(each, dims[-1].extent or 0, padded=padded, whole=whole):
        return False
    return any(number % each for place in places for number in place.values())


def _is_written(nest: Nest, access: Access) -> bool:
    return any(access is one for one in nest.writes)


def _has_both_rows(dims: list[Dim], beyond: _Place, access: Access, each: int) -> bool:
    """`has_both_rows` of what is read so far ``beyond`` its task."""
    *outer, inner = dims
    gap = gap_of([beyond.get(dim, 0) for dim in outer], [dim.extent or 0 for dim in outer])
    last = access.indices[-1]
    begins = last.start if last.padded and isinstance(last.start, int) else None
    if begins is None and any(index.padded for index in access.indices):
        return False
    sizes = [size or 0 for size in shape_of(access.value)]
    return has_both_rows(sizes, gap, begins, each, inner.extent or 0)


def _is_straight(nest: Nest) -> bool:
    """Whether an op is made element by element, at places that its loops say."""
    body = nested_ops(nest.body) if nest.body is not None else ()
    if rule_of(nest) not in (elementwise, slices) or nest.onto is not None:
        return False
    return not any(op.name in _PLACED for op in body)


def _row(dims: list[Dim]) -> _Place:
    """Where a result is, of contiguous memory."""
    return {dim: prod(other.extent or 0 for other in dims[at + 1 :]) for at, dim in enumerate(dims)}


def _beyond(place: _Place, row: _Place) -> _Place:
    both = {dim: place.get(dim, 0) - row.get(dim, 0) for dim in {**place, **row}}
    return {dim: number for dim, number in both.items() if number}


def _place(domain: Domain, nest: Nest, access: Access) -> _Place | None:
    """Where an element is, from its buffer's beginning; None if that is no sum."""
    loops, sizes = domain.loops(nest), shape_of(access.value)
    if None in sizes or not access.indices:
        return None
    found: _Place = {}
    for at, index in enumerate(access.indices):
        if index.rest is not None or isinstance(index.start, ir.Value):
            return None
        stride = prod(size or 0 for size in sizes[at + 1 :])
        found[None] = found.get(None, 0) + index.start * stride
        for loop in index.loops:
            if loops[loop].extent != 1:
                found[loops[loop]] = found.get(loops[loop], 0) + index.stride * stride
    return found
