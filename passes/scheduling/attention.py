"""Tiles of attention, for every target: some query rows of one matrix against blocks of its keys."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from ..domain import Dim, Domain
from ..tiling import attention, contraction
from ..tiling.access import Nest
from ..tiling.registry import SINGLE, WHOLE, rule_of


@dataclass(frozen=True)
class Block:
    """The rows and keys of a step, the elements of a key at once (0: all), and the fewest rows of a task."""

    rows: int
    keys: int
    step: int
    fewest_rows: int


def attention_of(domain: Domain) -> Nest | None:
    """The attention among a kernel's ops."""
    return next((nest for nest in domain.nests if rule_of(nest) is attention), None)


def choose_attention(domain: Domain, nest: Nest, tiles: dict[Dim, int], block: Block, tasks: int) -> None:
    """Fill in ``tiles``: the innermost dim of the rows is divided, until there are ``tasks``."""
    loops = domain.loops(nest)
    *outer, inner = (loops[loop] for loop in attention.rows_of(nest))
    for dim in outer:
        tiles[dim] = SINGLE if dim.extent != 1 else WHOLE
    rows = block.rows
    matrices = prod(dim.extent or 1 for dim in outer)
    while (
        inner.extent is not None and rows > block.fewest_rows and matrices * ceil(inner.extent / rows) < tasks
    ):
        rows //= 2
    tiles[inner] = WHOLE if inner.extent is not None and inner.extent <= rows else rows
    keys = loops[nest.reductions[0]]
    tiles[keys] = block.keys if keys.extent is None else min(block.keys, max(keys.extent, 1))
    for other in domain.nests:
        if rule_of(other) is contraction:
            stepped = contraction.stepped_loop(other)
            assert stepped is not None
            reduced = domain.loops(other)[stepped]
            tiles[reduced] = block.step or reduced.extent or contraction.DEFAULT_STEP
