"""How often each op of a kernel computes the same again, and how many tasks the kernel leaves.

A task computes all that its tiles of the results need. An op without one of the kernel's parallel dims is
computed once for each part of that dim::

    %e = exp(%v[n])               again for each row m that it is broadcast to
    %r = %x[m, n] + %e[n]

    %s = %x[m, k] * 0.125         again for each strip of columns n that the registers hold
    %y = sum over k of %s[m, k] * %w[k, n]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from ..domain import Dim, Domain
from ..raising.bodies import is_contraction
from ..structured import ASSUMED
from ..tiling.access import Nest

MANY = 1 << 30  # stands for an extent that is not known
REGISTERS = (
    2  # rows or vectors of a product that share a factor: fewer than there are, as it is made by scalars
)


def tasks_of(domain: Domain) -> int:
    """How many tasks there can be at most."""
    return prod(MANY if dim.extent is None else dim.extent for dim in _split(domain))


def repeats(domain: Domain, tasks: int) -> Iterator[tuple[Nest, int]]:
    """Each nest with how often its work is done, if the kernel is split into about ``tasks``."""
    split = _split(domain)
    product = next((nest for nest in domain.nests if is_contraction(nest.op)), None)
    factors = set() if product is None else _before(domain, product)
    for nest in domain.nests:
        dims = domain.loops(nest)
        missing = [dim for dim in split if dim not in dims]
        if not missing:
            yield nest, 1
        elif nest in factors:
            yield nest, prod(ceil(_size(dim) / REGISTERS) for dim in missing)
        elif not any(dim.extent != 1 for dim in dims) or nest.reductions:
            # One value, or rows of a total: each task computes it, and no strip of a task does it again.
            yield nest, min(prod(_size(dim) for dim in missing), tasks)
        else:
            last = max(dim.id for dim in dims if dim.extent != 1)
            yield nest, prod(_size(dim) for dim in missing if dim.id < last)


def _split(domain: Domain) -> list[Dim]:
    """The dims that tasks can share between them."""
    return [dim for dim in domain.dims if dim.kind == "parallel" and not dim.whole and dim.extent != 1]


def _size(dim: Dim) -> int:
    return ASSUMED if dim.extent is None else dim.extent


def _before(domain: Domain, product: Nest) -> set[Nest]:
    """The nests that make what ``product`` reads, directly or not."""
    found: set[Nest] = set()
    todo = [product]
    while todo:
        for access in todo.pop().reads:
            made = None if access is None else domain.writer(access.value)
            if made is not None and made[0] not in found:
                found.add(made[0])
                todo.append(made[0])
    return found
