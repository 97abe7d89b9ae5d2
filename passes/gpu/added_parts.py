"""Parts of a product that its last blocks can add up: which, in which steps, and whether that pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from mlir import ir

from ...dialects.attributes import BYTES, SCHEDULE
from ..costs.machine import Machine
from ..domain import Dim, Domain
from ..scheduling.block_times import IN_FLIGHT, LATENCY, ROUND_TRIPS
from ..tile import kernel_domain
from ..tiling import contraction
from ..tiling.access import Access, Nest, shape_of
from ..tiling.registry import rule_of


@dataclass(frozen=True)
class Parts:
    """Of a product that a kernel leaves and another one adds up: their number, and by the parts' other dims
    what a block of the product has of each, how long it is, and the dim of the sum's kernel.
    """

    number: int
    tiles: tuple[int, ...]
    extents: tuple[int, ...]
    dims: tuple[Dim | None, ...]


def can_join(first: ir.Operation, second: ir.Operation, place: int) -> Parts | str | None:
    """What the first kernel makes for argument ``place`` of the second one, if it is a product in parts.

    Or why its blocks cannot add them up.
    """
    if SCHEDULE.get(first) is None or SCHEDULE.get(second) is None:
        return None
    made, read = kernel_domain(first), kernel_domain(second)
    assert isinstance(made, Domain) and isinstance(read, Domain), "what has a schedule has a domain"
    if not any(rule_of(nest) is contraction for nest in made.nests) or len(made.results) != 1:
        return None
    argument = second.regions[0].blocks[0].arguments[place]
    accesses = [
        (nest, access) for nest in read.nests for access in nest.reads if access and access.value == argument
    ]
    if len(accesses) != 1:
        return None
    own = [_dim(read, *accesses[0], number) for number in range(len(shape_of(argument)))]
    reduced = [number for number, dim in enumerate(own) if dim is not None and dim.kind == "reduction"]
    tiles, extents = _blocks_of(made, first), tuple(argument.type.shape)
    if len(reduced) != 1 or tiles is None or tiles[reduced[0]] != 1:
        return None
    (across,) = reduced
    others = [number for number in range(len(own)) if number != across]
    beside = [own[number] for number in others]
    if any(dim is None and extents[number] != 1 for number, dim in zip(others, beside, strict=True)):
        return "its parts are not read in their places"
    free = {dim for dim in beside if dim is not None}
    if any(dim.whole and dim.extent != 1 for dim in free):
        return "what reads its sums needs those of other blocks"
    if any(dim not in free and dim != own[across] and dim.extent != 1 for dim in read.dims):
        return "what reads its sums runs along other dims, too"
    if len(free) != sum(dim is not None for dim in beside):
        return "its parts are read along a diagonal"
    return Parts(
        extents[across],
        tuple(tiles[number] for number in others),
        tuple(extents[number] for number in others),
        tuple(beside),
    )


def sum_tiles(parts: Parts, threads: int) -> tuple[int, ...]:
    """What is added up at once of a block's tile: as much of rows as threads can have in flight."""
    left = max(IN_FLIGHT * threads // parts.number, 1)
    found: list[int] = []
    for tile, extent in zip(reversed(parts.tiles), reversed(parts.extents), strict=True):
        size = min(tile, extent)
        while size > left and size % 2 == 0:
            size //= 2
        found.insert(0, size)
        left = max(left // size, 1)
    return tuple(found)


def should_join(
    parts: Parts, tiles: Sequence[int], second: ir.Operation, machine: Machine
) -> tuple[float, float]:
    """The seconds that the last blocks need for their sums, and a kernel of its own."""
    size = BYTES.get(second) or 0
    elements = prod(map(min, parts.tiles, parts.extents))
    steps = prod(
        ceil(min(tile, extent) / own)
        for tile, extent, own in zip(parts.tiles, parts.extents, tiles, strict=True)
    )
    own = size / prod(parts.extents) * elements
    last = (ROUND_TRIPS + steps) * machine.cache_latency + own / (
        machine.cache_bandwidth / machine.processors
    )
    rate = machine.cache_bandwidth if size < machine.cache / 2 else machine.bandwidth
    return last, machine.launch + LATENCY + size / rate


def _blocks_of(domain: Domain, kernel: ir.Operation) -> tuple[int, ...] | None:
    """What a block has of each dim of a kernel's one result; None where dims are not loops of their own."""
    (result,) = domain.results
    tiles = (SCHEDULE.get(kernel) or {})["tile"]
    found: list[int] = []
    for number, extent in enumerate(shape_of(result)):
        dim = domain.value_dims(result)[number]
        if extent is None or (dim is None and extent != 1):
            return None
        found.append(1 if dim is None else tiles[dim.id] or extent)
    return tuple(found)


def _dim(domain: Domain, nest: Nest, access: Access, number: int) -> Dim | None:
    """The dim that a dim of memory is read along, if that is all of it."""
    index = access.indices[number]
    plain = index.plain and index.start == 0 and index.stride == 1 and not index.padded
    return domain.loops(nest)[index.loops[0]] if plain else None
