"""Rows that a task runs through more than once: what it reads again of memory.

::

    %m = max of %x along j             pass 1 reads %x
    %s = sum of exp(%x - %m)           pass 2; of a GPU pass 1, too (mlopt-gpu-online-sums)
    %y = exp(%x - %m) / %s             pass 3

A reduction of a row has to be done before what needs its result begins, and what is made element by element,
or up to an element, is made again in each pass. The rule: if a processor keeps the row from one pass to the
next, it comes from memory once, else in each pass. `Machine.kept` is what it keeps: the cache of a CPU's
core, which has one row at a time; of a GPU the part of the L2 cache that comes to each of the rows that
multiprocessors have at once.
Registers and shared memory (mlopt-gpu-chunk-rows, mlopt-gpu-keep-rows) hold less than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..domain import Dim, Domain
from ..operations import nested_ops
from ..raising.bodies import is_contraction
from ..structured import ATTENTION, SCAN
from ..tiling.access import Access, Nest
from .count import bytes_of_element, read_bytes
from .machine import Machine

_LINE = 64  # bytes that are read at least of a row of memory, where a task's rows are its columns


def bytes_again(domain: Domain, machine: Machine, unknown: int = 1) -> int:
    """The bytes that a kernel reads from memory again, beside the first time; dynamic sizes as ``unknown``.

    0 for products, attention and windows: their tiles are the schedule's.
    """
    if domain.stages or any(nest.op.name == ATTENTION or is_contraction(nest.op) for nest in domain.nests):
        return 0
    rows = {domain.loops(nest)[loop] for nest in domain.nests for loop in nest.reductions}
    rows |= {dim for dim in domain.dims if dim.whole}
    free = (dim for dim in domain.dims if dim.kind == "parallel" and not dim.whole)
    kept = machine.kept(prod(_extent(dim, unknown) for dim in free))
    if prod(_extent(dim, unknown) for dim in rows) * _LINE <= kept:
        return 0
    passes: dict[Nest, int] = {}
    found: dict[object, tuple[set[int], Nest, Access]] = {}
    for root in domain.nests:
        if not _is_total(root) and not any(write.value in domain.results for write in root.writes):
            continue
        inside, before = _needed(domain, root)
        number = max((passes[nest] for nest in before), default=0) + 1
        if machine.chips and _is_online(root, inside, before):
            number -= 1
        passes[root] = number
        for nest in inside:
            for access in _inputs(domain, nest):
                if rows & {*_dims(domain, nest, access)}:
                    found.setdefault(access.value, (set(), nest, access))[0].add(number)
    again = [(len(numbers) - 1, nest, access) for numbers, nest, access in found.values() if len(numbers) > 1]
    if sum(_row_bytes(domain, nest, access, rows, unknown) for _, nest, access in again) <= kept:
        return 0
    return sum(times * read_bytes(nest, access, unknown) for times, nest, access in again)


def _needed(domain: Domain, root: Nest) -> tuple[list[Nest], list[Nest]]:
    """``root`` and what is made element by element for it, in the same pass; the reductions before that."""
    inside: list[Nest] = [root]
    before: list[Nest] = []
    for nest in inside:  # grows
        for access in nest.reads:
            made = None if access is None else domain.writer(access.value)
            if made is None or made[0] in (*inside, *before):
                continue
            (before if _is_total(made[0]) else inside).append(made[0])
    return inside, before


def _is_total(nest: Nest) -> bool:
    """Whether what is made needs all of a row: a scan's elements need those before them alone."""
    return bool(nest.reductions) and nest.op.name != SCAN


def _is_online(root: Nest, inside: list[Nest], before: list[Nest]) -> bool:
    """Whether ``root`` sums exponentials relative to maxima, with which it is computed together."""
    names = {op.name for nest in inside for op in nested_ops(nest.op)}
    maxima = bool(before) and all(_combines(nest, "arith.maximumf") for nest in before)
    return maxima and "math.exp" in names and _combines(root, "arith.addf")


def _combines(nest: Nest, name: str) -> bool:
    return bool(nest.reductions) and any(op.name == name for op in nested_ops(nest.op))


def _inputs(domain: Domain, nest: Nest) -> Iterator[Access]:
    for access in nest.reads:
        if access is not None and domain.writer(access.value) is None:
            yield access


def _dims(domain: Domain, nest: Nest, access: Access) -> list[Dim]:
    return [domain.loops(nest)[loop] for index in access.indices for loop in index.loops]


def _row_bytes(domain: Domain, nest: Nest, access: Access, rows: set[Dim], unknown: int) -> int:
    """What a task has of a tensor from one pass to the next: a row, or whole lines of columns."""
    dims = _dims(domain, nest, access)
    element = bytes_of_element(access.value)
    beside = 1 if dims[-1] in rows else max(_LINE // element, 1)
    return prod(_extent(dim, unknown) for dim in dims if dim in rows) * beside * element


def _extent(dim: Dim, unknown: int) -> int:
    return unknown if dim.extent is None else dim.extent
