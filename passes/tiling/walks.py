"""Rows of unknown length: one task runs along a row in steps, again for whatever needs all of it before.

The softmax of a row is the model: a loop for its maximum, one for the sum, one that writes the results. What
a loop needs of the whole row is made before it (`Emitter.ahead`). The steps that lie within the row come
first, then what is left of it, in one step that reaches beyond::

    scf.for %k = %c0 to %whole step %c32 { … in_bounds = [true] … }
    scf.for %k = %whole to %n step %c32 { … in_bounds = [false] … }

So it is with columns, of which a task has as many side by side as make its reads long: x / x.sum(0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from ..structured import SCAN
from .stages import bits_of

if TYPE_CHECKING:
    from mlir import ir

    from ..domain import Dim, Domain
    from .access import Nest
    from .emitter import Emitter

# Of 64, more is computed beyond the end of short rows: softmax of 17 elements 57 ns a row, of 32 36.
STEP = 32


def loops_problem(domain: Domain) -> str | None:
    """Why the loops over dims of unknown length would do dear work again, or None.

    In (x / x.sum(1)).sum(0) of unknown rows and columns each step along a row of totals runs down all rows,
    and would sum each of them again.
    """
    if all(dim.extent is not None for dim in domain.dims):
        return None
    seen = set()
    waiting: list[tuple[Nest, frozenset[Dim]]] = [(nest, frozenset()) for nest in domain.nests]
    while waiting:
        nest, around = waiting.pop()
        dims = around | _stepped(domain, nest)
        if (nest, around) in seen:
            continue
        seen.add((nest, around))
        for access in nest.reads:
            made = None if access is None else domain.writer(access.value)
            if access is None or made is None:
                continue
            own = dims & {dim for dim in domain.value_dims(access.value) if dim is not None}
            if own and own != dims and made[0].reductions:
                return "a reduction would be made again in each step along a dim, whose length is not known"
            waiting.append((made[0], dims if own else frozenset()))
    return None


def parts_problem(domain: Domain, nest: Nest) -> str | None:
    """Why what ``nest`` reads cannot be made around its loops over what it reduces, or None.

    Before them all is made what has none of their dims (`Emitter.ahead`). In the argmax of e / e.sum(0), e
    made here too, over rows and columns, each step is at one row, and the sum at a column needs all of them.
    """
    stepped = {domain.loops(nest)[loop] for loop in nest.reductions}
    stepped = {dim for dim in stepped if dim.extent != 1}
    waiting, seen = [nest], {nest}
    while len(stepped) > 1 and waiting:
        for access in waiting.pop().reads:
            made = None if access is None else domain.writer(access.value)
            if access is None or made is None or made[0] in seen:
                continue
            if not stepped & set(domain.value_dims(access.value)):
                continue
            if stepped & {domain.loops(made[0])[loop] for loop in made[0].reductions}:
                return "a reduction would be made in steps along some of what it reduces"
            seen.add(made[0])
            waiting.append(made[0])
    return None


def _stepped(domain: Domain, nest: Nest) -> set[Dim]:
    """The dims of unknown length along which a task makes one step after the other for ``nest``."""
    loops = domain.loops(nest)
    reduced = {loops[loop] for loop in nest.reductions}
    return {dim for dim in loops if dim.extent is None and (dim.walked or dim in reduced)}


def walk_problem(domain: Domain) -> str | None:
    """Why a task cannot run along the domain's rows of unknown length, or None."""
    for nest in domain.nests:
        inner = nest.body.operations if nest.body and any(dim.walked for dim in domain.loops(nest)) else ()
        if any(op.operation.name == "cf.assert" for op in inner):
            return "a check would be made again in each step along a row, whose length is not known"
    if columns_of(domain):
        return None
    for dims in _in_memory(domain):
        first = next((place for place, dim in enumerate(dims) if dim.walked), len(dims))
        if not all(dim.whole for dim in dims[first:]):
            return "a task would have short pieces of rows, whose number is not known"
    return None


def scans_problem(domain: Domain) -> str | None:
    """Why steps along rows of unknown length cannot carry the totals of scans, or None."""
    walked = [dim for dim in domain.dims if dim.walked]
    for nest in domain.nests:
        if any(domain.loops(nest)[loop] in walked for loop in nest.reductions):
            read = [access.value for access in nest.reads if access is not None]
            if nest.op.name == SCAN and len(walked) > 1:
                return "a scan would begin again in each step along another dim, whose length is not known"
            if nest.op.name != SCAN and scans_along(domain, read, walked):
                return "what is reduced would be scanned in steps that carry no totals"
    return None


def scans_along(domain: Domain, values: Sequence[ir.Value], dims: Collection[Dim]) -> list[Nest]:
    """The scans along some of ``dims`` that values are made of, in the domain's order."""
    waiting = list(values)
    seen: set[Nest] = set()
    while waiting:
        made = domain.writer(waiting.pop())
        if made is not None and made[0] not in seen:
            seen.add(made[0])
            waiting += [access.value for access in made[0].reads if access is not None]
    scans = [nest for nest in domain.nests if nest in seen and nest.op.name == SCAN]
    return [nest for nest in scans if {domain.loops(nest)[loop] for loop in nest.reductions} & {*dims}]


def columns_of(domain: Domain) -> list[Dim]:
    """The dims along which columns of unknown length lie side by side; none if memory runs along columns."""
    if not any(dim.walked for dim in domain.dims):
        return []
    found: list[Dim] = []
    for dims in _in_memory(domain):
        if not any(dim.walked for dim in dims):
            continue
        last = max(place for place, dim in enumerate(dims) if dim.walked)
        beside = dims[last + 1 :]
        if not beside or any(dim.whole for dim in beside):
            return []
        found += [dim for dim in beside if dim not in found]
    return found


def kept_bytes(domain: Domain, tiles: Mapping[Dim, int]) -> int:
    """The bytes of a task's scratch that what its steps down columns share takes, at most."""
    made = [write.value for nest in domain.nests for write in nest.writes if nest.reductions]
    made += made  # an accumulator, and the total
    for nest in domain.nests:
        made += [value for value in _before(domain, nest, _stepped(domain, nest)) if value not in made]
    total = 0
    for value in made:
        sizes = [tiles[dim] or dim.extent or STEP for dim in domain.value_dims(value) if dim is not None]
        total += prod(sizes) * max(bits_of(value.type.element_type) // 8, 4)
    return total


def _before(domain: Domain, nest: Nest, dims: set[Dim]) -> list[ir.Value]:
    """What `Emitter.ahead` makes for ``nest`` before a loop over ``dims``."""
    found: list[ir.Value] = []
    waiting, seen = [nest], set()
    while dims and waiting:
        for access in waiting.pop().reads:
            made = None if access is None else domain.writer(access.value)
            if access is None or made is None or access.value in seen:
                continue
            seen.add(access.value)
            if dims & set(domain.value_dims(access.value)):
                waiting.append(made[0])
            else:
                found.append(access.value)
    return found


def steps_of(emitter: Emitter, dims: Sequence[Dim]) -> dict[Dim, int]:
    """The elements in a step along each dim: as scheduled, else `STEP` along the innermost unknown one."""
    unknown = [dim for dim in dims if dim.extent is None]
    return {dim: emitter.tiles[dim.id] or (STEP if dim in unknown[-1:] else 1) for dim in dims}


def runs_along_memory(domain: Domain, dim: Dim) -> bool:
    """Whether a tensor that comes from outside, or leaves, is contiguous along a dim."""
    return any(dims and dims[-1] == dim for dims in _in_memory(domain))


def _in_memory(domain: Domain) -> Iterator[list[Dim]]:
    """The dims of each tensor that is read or written, but for those of one element."""
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            if access is None or (access.value not in domain.results and domain.writer(access.value)):
                continue
            dims = [loops[loop] for index in access.indices for loop in index.loops]
            yield [dim for dim in dims if dim.extent != 1]
