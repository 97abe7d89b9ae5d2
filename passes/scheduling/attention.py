"""Tiles of attention, for every target: some query rows of one matrix against blocks of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from ..domain import Dim, Domain
from ..tiling import attention, contraction
from ..tiling.access import Nest
from ..tiling.registry import SINGLE, WHOLE, rule_of
from .common import ROW

START = 8  # a block costs as much as so many rows more, before it has any
SMALLEST = 1 << 20  # multiply-adds of a task that is worth dividing


@dataclass(frozen=True)
class Block:
    """The rows that a task may have, most first; keys of a step; elements of a key at once (0: all)."""

    rows: Sequence[int]
    keys: int
    step: int


def attention_of(domain: Domain) -> Nest | None:
    """The attention among a kernel's ops."""
    return next((nest for nest in domain.nests if rule_of(nest) is attention), None)


def choose_attention(domain: Domain, nest: Nest, tiles: dict[Dim, int], block: Block, tasks: int) -> None:
    """Fill in ``tiles``: the innermost dim of the rows is divided, for about ``tasks`` if there is work."""
    loops = domain.loops(nest)
    rows = [loops[loop] for loop in attention.rows_of(nest)]
    inner = row_dim(domain, nest)
    outer = [dim for dim in rows if dim != inner]
    for dim in outer:
        tiles[dim] = SINGLE if dim.extent != 1 else WHOLE
    keys = loops[nest.reductions[0]]
    matrices = prod(dim.extent or 1 for dim in outer)
    work = (keys.extent or ROW) * _widths(domain, nest)
    if inner is not None:
        tiles[inner] = _rows(inner.extent, block.rows, matrices, work, tasks)
    tiles[keys] = block.keys if keys.extent is None else _near(max(keys.extent, 1), block.keys)
    for reduced in _factors(domain):
        tiles[reduced] = block.step or reduced.extent or contraction.DEFAULT_STEP


def row_dim(domain: Domain, nest: Nest) -> Dim | None:
    """The dim of the rows that share keys and values; None if each has its own."""
    rows = [domain.loops(nest)[loop] for loop in attention.rows_of(nest)]
    return next((dim for dim in reversed(rows) if dim not in _of_values(domain, nest)), None)


def _of_values(domain: Domain, nest: Nest) -> set[Dim]:
    """The dims that values have: a task has the rows of one matrix of them."""
    values = nest.reads[1]
    assert values is not None
    return {domain.loops(nest)[loop] for index in values.indices for loop in index.loops}


def _rows(extent: int | None, sizes: Sequence[int], matrices: int, work: int, tasks: int) -> int:
    """Of the row counts that leave enough tasks, the one that wastes least at the end."""
    if extent is None:
        return sizes[0]
    few = [rows for rows in sizes if rows * work > SMALLEST and matrices * ceil(extent / rows) < tasks]
    allowed = [rows for rows in sizes if rows not in few] or sizes[-1:]
    best = min(allowed, key=lambda rows: ceil(extent / rows) * (rows + START))
    return WHOLE if extent <= best else best


def _near(extent: int, wanted: int) -> int:
    """Up to ``wanted`` elements: a divisor if one is close, so that no step is ragged, else even parts."""
    if extent <= wanted:
        return extent
    divisor = next((size for size in range(wanted, wanted // 2, -1) if extent % size == 0), None)
    return divisor or ceil(extent / ceil(extent / wanted))


def _factors(domain: Domain) -> list[Dim]:
    """The dim that the product of the scores adds up along, if that is in the kernel."""
    products = [nest for nest in domain.nests if rule_of(nest) is contraction]
    stepped = [(nest, contraction.stepped_loop(nest)) for nest in products]
    return [domain.loops(nest)[loop] for nest, loop in stepped if loop is not None]


def _widths(domain: Domain, nest: Nest) -> int:
    """The elements of a key and of a value."""
    own = attention.values_loop(nest)
    return sum(dim.extent or ROW for dim in (domain.loops(nest)[own], *_factors(domain)))
