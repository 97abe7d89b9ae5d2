"""The sectors of memory that a kernel's tasks of one element name: what it needs, however it loads them."""

from __future__ import annotations

from math import prod

import numpy as np
from mlir import ir

from ...dialects.context import make_context
from ...passes.gpu.grids import grids_of
from ...passes.gpu.layouts.access import access_of
from ...passes.gpu.layouts.linear import Linear, linear_of
from ...passes.gpu.layouts.tiles import sizes_of
from ...passes.gpu.threads.grid import Loops
from ...passes.operations import ops_named
from .places import SECTOR

_ACCESSES = ("vector.transfer_read", "vector.transfer_write")


def named_sectors(layouts: str, kernel: str) -> int:
    """Bytes of the sectors that the elements of ``kernel`` lie in, those that are read and those written.

    ``layouts`` is the program's IR in tiles. 0 if tasks have tiles of more than an element, or places that
    are no sums of where tasks are.
    """
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(layouts)
        found: dict[tuple[str, ir.Value], set[int]] = {}
        for forall in grids_of(module.operation):
            if ir.StringAttr(forall.parent.attributes["sym_name"]).value != kernel:
                continue
            for op in ops_named(forall.regions[0].blocks[0], *_ACCESSES):
                sectors = _sectors(forall, op)
                if sectors is None:
                    return 0
                found.setdefault((op.name, access_of(op).buffer), set()).update(sectors)
        return SECTOR * sum(map(len, found.values()))


def _sectors(forall: ir.Operation, op: ir.Operation) -> list[int] | None:
    """The numbers of those that all tasks' elements lie in, in the buffer of a transfer."""
    access, loops = access_of(op), Loops.of(forall)
    places, counts = list(forall.regions[0].blocks[0].arguments)[: loops.rank], loops.static_counts()
    place = Linear()
    for index, stride in zip(access.indices, access.strides, strict=True):
        if stride is None:
            return None
        place = place.plus(linear_of(index), stride)
    if prod(sizes_of(access.tile)) != 1 or not all(access.in_bounds) or not place.terms.keys() <= {*places}:
        return None
    found = np.array([place.constant])
    for each, count, step in zip(places, counts, loops.steps, strict=True):
        if count is None:
            return None
        further = np.arange(count) * step * place.terms.get(each, 0)
        found = np.unique(np.add.outer(found, further) if further.any() else found)
    numbers: list[int] = np.unique(found * access.element_bytes // SECTOR).tolist()
    return numbers
