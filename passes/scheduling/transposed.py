"""Tiles of kernels that read along one dim and write along another, on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..domain import Dim, Domain
from ..tiling.access import Access, Nest
from ..tiling.stages import bits_of

LINE = 512  # bits of a cache line
LARGE = 1 << 24  # bytes of a result that no cache holds beside what it is made from
SIDE = 64  # of a square, each side's cache lines of which are used whole


def transposed_sides(domain: Domain, inner: set[Dim], budget: int) -> dict[Dim, int]:
    """How much of each of ``inner``, the dims along which tensors are contiguous, a tile of ``budget`` has.

    A square; of what comes from memory, a cache line of what is written by as much of the rows that are read
    as there is room for. Memory hands out 2 KB of a row faster than 256 bytes of each of 64, whose lines push
    each other out of the caches where rows are apart by a power of two. Not where something is read along
    what is written, too, nor where caches hold all: those of 4 MB took up to 1.2 of their time.

    On a Zen 4, of the time of squares: 4096^2 0.53 on one thread and 0.45 on two, 2000x2100 0.4, 4001x3001
    0.7, 4096^2 in bf16 0.7, 32 images of 3x224x224 with channels last 0.5, and back.
    """
    if len(inner) < 2:
        return {}
    made = [each for each in map(domain.writer, domain.results) if each is not None]
    written = inner.intersection(*(_innermost(domain, *each) for each in made))
    read = inner.intersection(dim for each in _reads(domain) for dim in _innermost(domain, *each))
    if len(inner) > 2 or len(written) != 1 or written & read or not _is_large(domain):
        return dict.fromkeys(inner, SIDE)
    (short,), (long,) = written, inner - written
    line = LINE // min(bits_of(value.type.element_type) for value in domain.results)
    budget = max(budget, SIDE * SIDE)
    most = budget // min(short.extent or line, line) // line * line
    length = min(long.extent or most, most)
    return {short: max(budget // length // line * line, line), long: length}


def _is_large(domain: Domain) -> bool:
    elements = prod(dim.extent or 1 for dim in domain.dims)
    return any(elements * bits_of(value.type.element_type) >= 8 * LARGE for value in domain.results)


def _reads(domain: Domain) -> Iterator[tuple[Nest, Access]]:
    """What comes from memory in rows."""
    for nest in domain.nests:
        for access in nest.reads:
            if access is not None and len(access.indices) > 1 and domain.writer(access.value) is None:
                yield nest, access


def _innermost(domain: Domain, nest: Nest, access: Access) -> list[Dim]:
    """The dim along which an access is contiguous, if there is one."""
    loops = domain.loops(nest)
    return [loops[loop] for index in access.indices for loop in index.loops if loops[loop].extent != 1][-1:]
