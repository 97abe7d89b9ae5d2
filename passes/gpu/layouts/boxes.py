"""Boxes: what the engine that copies tensors (TMA) brings of a buffer to shared memory at once.

A tensor map has a buffer's address, sizes and strides, and the sizes of the box that a copy moves, from any
place, with zeros where the buffer ends. A box's rows are those of the swizzle's pattern that wgmma reads, of
128 bytes at most; of longer rows several boxes lie one behind the other.
(CUDA Driver API 13.0, "Tensor Map Object Management"; PTX ISA 9.0, "Tensors".)
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ...operations import nested_ops
from .access import DYNAMIC, WIDE, Access, access_of
from .warpgroup import PATTERN, Factor, factor_of_ring

MOST_SIZE = 1 << 30  # elements of a dim: positions, also those beyond its end, have 32 bits and a sign
_MOST_RANK = 5
_MOST_ROWS = 256


@dataclass(frozen=True)
class Box:
    """A part of the kernel's argument ``buffer``: elements of each of its dims, rows of ``span`` bytes."""

    buffer: int
    sizes: tuple[int, ...]
    span: int


def box_of(copy: ir.Operation) -> Box:
    """What a copy of a tile moves at once, of which `box_problem` finds nothing wrong."""
    access, factor = copied(copy)
    sizes = [1] * len(access.indices)
    for dim, memory in enumerate(access.dims):
        sizes[memory] = factor.sizes[dim]
    sizes[-1] = factor.span // factor.element_bytes
    if "both" in copy.attributes and pieces_of(factor) == 1:
        sizes[access.dims[factor.outer]] //= 2
    return Box(ir.BlockArgument(access.buffer).arg_number, tuple(sizes), factor.span)


def pieces_of(factor: Factor) -> int:
    """The boxes that a factor's tile is copied by, one behind the other: those of long rows."""
    return factor.sizes[factor.inner] * factor.element_bytes // factor.span


def halves_of(factor: Factor) -> int | None:
    """The dim of which each of two blocks copies half: whole boxes, or rows of one; None if it cannot."""
    if pieces_of(factor) > 1:
        return factor.inner if pieces_of(factor) % 2 == 0 else None
    return factor.outer if factor.sizes[factor.outer] % (2 * PATTERN) == 0 else None


def copied(copy: ir.Operation) -> tuple[Access, Factor]:
    """What a copy to a ring reads, and how warpgroups read it there."""
    return access_of(copy.operands[0].owner.operation), factor_of_ring(copy.operands[1])


def box_problem(copy: ir.Operation) -> str | None:
    """Why a tile cannot be copied by boxes, or None."""
    access, factor = copied(copy)
    if not isinstance(access.buffer.owner, ir.Block):
        return "a factor is in a view of a buffer"
    shape = list(ir.MemRefType(access.buffer.type).shape)
    if len(shape) > _MOST_RANK:
        return f"a factor's buffer has {len(shape)} dims, a tensor map {_MOST_RANK} at most"
    if shape[-1] != DYNAMIC and shape[-1] * factor.element_bytes % WIDE:
        return f"rows of a factor have {shape[-1] * factor.element_bytes} bytes, no multiple of {WIDE}"
    wrong = next((size for size in shape if size != DYNAMIC and not 0 < size <= MOST_SIZE), None)
    if wrong is not None:
        return f"a factor's buffer has a dim of {wrong} elements, a tensor map 1 to {MOST_SIZE}"
    if factor.sizes[factor.outer] > _MOST_ROWS:
        return f"a tile has {factor.sizes[factor.outer]} rows, a box {_MOST_ROWS} at most"
    return None


def boxes_of(forall: ir.Operation) -> list[Box]:
    """What a kernel copies by boxes, each once."""
    loads = [op for op in nested_ops(forall) if op.name == "mlopt.tma_load"]
    loads = [op for op in loads if "alone" in op.attributes] or loads  # the others are the twin's
    return list(dict.fromkeys(map(box_of, loads)))
