"""What the tiles of a GPU kernel hold: elements, bytes, blocks, and the dims that lie beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, prod

from mlir import ir

from ..domain import Dim, Domain
from ..powers import power_below
from ..tiling import reduction, scan
from ..tiling.access import Access, Nest
from ..tiling.registry import WHOLE, rule_of, stepped_dims
from .common import ROW

ROW_ELEMENTS = 1024  # at least, of a block that reduces rows


def largest_tile(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The elements of the largest tile."""
    most = 1
    for nest in domain.nests:
        loops = [loop for loop in range(len(nest.kinds)) if is_in_tile(nest, loop)]
        most = max(most, elements_of(domain, nest, loops, tiles))
    return most


def elements_of(domain: Domain, nest: Nest, loops: Iterable[int], tiles: dict[Dim, int]) -> int:
    """The elements of a tile that these loops run through."""
    dims = {domain.loops(nest)[loop] for loop in loops}
    return prod(tiles[dim] or dim.extent or 1 for dim in dims)


def is_in_tile(nest: Nest, loop: int) -> bool:
    """Whether the loop is in the nest's tiles, and not an scf.for around them."""
    return nest.kinds[loop] == "parallel" or rule_of(nest) in (reduction, scan)


def beside_each(domain: Domain) -> dict[Dim, set[Dim]]:
    """For each dim those that a tile has beside it: two reductions, one after the other, share none."""
    found: dict[Dim, set[Dim]] = {dim: set() for dim in domain.dims}
    for nest in domain.nests:
        loops = domain.loops(nest)
        together = {loops[loop] for loop in range(len(nest.kinds)) if is_in_tile(nest, loop)}
        for dim in together:
            found[dim] |= together - {dim}
    return found


def reduced_in_tiles(domain: Domain) -> set[Dim]:
    """The reduced dims that no task owns: their rule can step through them, as far at a time as we like."""
    reduced = {
        domain.loops(nest)[loop]
        for nest in domain.nests
        if rule_of(nest) is reduction
        for loop in nest.reductions
        if domain.loops(nest)[loop].kind == "reduction"
    }
    return reduced - stepped_dims(domain)


def blocks_of(domain: Domain, tiles: dict[Dim, int]) -> int:
    """The blocks of a launch; a dim of unknown size counts as `ROW` elements."""
    return prod(
        ceil((dim.extent or ROW) / (tiles.get(dim, WHOLE) or dim.extent or 1))
        for dim in domain.dims
        if dim.kind == "parallel" and dim.extent != 0
    )


def part_of(extent: int | None, wanted: int) -> int:
    """All, if that is at most ``wanted``; else the power of two up to it."""
    return WHOLE if extent is not None and extent <= wanted else power_below(wanted)


def widest_bytes(domain: Domain, along: Dim | None = None) -> int:
    """The size of the widest element that the kernel reads or writes, along a dim if one is given."""
    sizes = [1]
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in (*nest.reads, *nest.writes):
            if access is None:
                continue
            if along is not None and not any(
                loops[loop] is along for index in access.indices for loop in index.loops
            ):
                continue
            sizes.append(bytes_of(access))
    return max(sizes)


def inputs_of(domain: Domain) -> list[tuple[Nest, Access]]:
    """What the kernel reads of other tensors, each place once: two halves of a tensor are two loads."""
    found: dict[tuple[object, ...], tuple[Nest, Access]] = {}
    for nest in domain.nests:
        loops = domain.loops(nest)
        for access in nest.reads:
            if access is not None and domain.writer(access.value) is None:
                where = [
                    (tuple(loops[loop] for loop in index.loops), index.rest, index.start, index.stride)
                    for index in access.indices
                ]
                found.setdefault((access.value, *where), (nest, access))
    return list(found.values())


def in_memory(domain: Domain) -> list[tuple[Nest, Access]]:
    """What the kernel loads and stores."""
    written = [
        (nest, access) for nest in domain.nests for access in nest.writes if leaves(domain, access.value)
    ]
    return [*inputs_of(domain), *written]


def bytes_in_memory(domain: Domain) -> int:
    """The size of the widest element that the kernel loads or stores."""
    return max((bytes_of(access) for _, access in in_memory(domain)), default=1)


def leaves(domain: Domain, value: ir.Value) -> bool:
    """Whether what is outside of the kernel's loops uses a value."""
    return any(use.owner.operation not in domain.ops for use in value.uses)


def bytes_of(access: Access) -> int:
    """The bytes of an element."""
    kind = getattr(access.value.type, "element_type", None)
    return max(getattr(kind, "width", 64) // 8, 1) if kind is not None else 1
