"""Boxes: what the engine that copies tensors (TMA) brings of a buffer to shared memory at once, or back.

A tensor map has a buffer's address, sizes and strides, and the sizes of the box that a copy moves, from any
place, with zeros where the buffer ends; what is stored ends there. A box's rows are those of the swizzle's
pattern that wgmma reads, of 128 bytes at most; of longer rows several boxes lie one behind the other.
(CUDA Driver API 13.0, "Tensor Map Object Management"; PTX ISA 9.0, "Tensors".)
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ...operations import defining_op, nested_ops
from .access import DYNAMIC, WIDE, Access, access_of
from .tiles import sizes_of
from .warpgroup import PATTERN, Factor, factor_of_ring, is_rounded

TILE, CUT = "mlopt.tma_tile", "cut"  # what is stored by boxes, and in which parts
_LOAD, _WRITE = "mlopt.tma_load", "vector.transfer_write"
MOST_SIZE = 1 << 30  # elements of a dim: positions, also those beyond its end, have 32 bits and a sign
_MOST_RANK = 5
_MOST_ROWS = 256


@dataclass(frozen=True)
class Box:
    """A part of the kernel's argument ``buffer``: elements of each of its dims, rows of ``span`` bytes.

    ``rounds``: f32 becomes the nearest TF32 on the way, ties to even.
    """

    buffer: int
    sizes: tuple[int, ...]
    span: int
    rounds: bool = False


def box_of(copy: ir.Operation) -> Box:
    """What a copy of a tile, or a write, moves at once, of which `box_problem` finds nothing wrong."""
    loads = copy.name != _WRITE
    access, factor = copied(copy) if loads else stored(copy)
    sizes = [1] * len(access.indices)
    for dim, memory in enumerate(access.dims):
        sizes[memory] = factor.sizes[dim]
    sizes[-1] = factor.span // factor.element_bytes
    if "both" in copy.attributes and pieces_of(factor) == 1:
        sizes[access.dims[factor.outer]] //= 2
    rounds = loads and is_rounded(copy.operands[1])
    return Box(ir.BlockArgument(access.buffer).arg_number, tuple(sizes), factor.span, rounds)


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


def stored(write: ir.Operation) -> tuple[Access, Factor]:
    """What a vector.transfer_write of rows and columns writes, and how its tile lies in shared memory.

    Or each part of it, as `cut_of` says.
    """
    access, (dim, parts) = access_of(write), cut_of(write)
    inner, outer = access.order()
    sizes = sizes_of(access.tile)
    sizes[dim] //= parts
    return access, Factor(tuple(sizes), access.element_bytes, outer, inner, inner)


def cut_of(write: ir.Operation) -> tuple[int, int]:
    """The dim along which a tile is stored by boxes part by part, and in how many."""
    tile = defining_op(write.operands[0], TILE)
    if tile is None or CUT not in tile.attributes:
        return 0, 1
    dim, parts = ir.DenseI64ArrayAttr(tile.attributes[CUT])
    return dim, parts


def box_problem(access: Access, factor: Factor, what: str = "a factor") -> str | None:
    """Why a tile of ``what`` cannot be moved by boxes, or None."""
    if not isinstance(access.buffer.owner, ir.Block):
        return f"{what} is in a view of a buffer"
    shape = list(ir.MemRefType(access.buffer.type).shape)
    if len(shape) > _MOST_RANK:
        return f"{what}'s buffer has {len(shape)} dims, a tensor map {_MOST_RANK} at most"
    if shape[-1] != DYNAMIC and shape[-1] * factor.element_bytes % WIDE:
        return f"rows of {what} have {shape[-1] * factor.element_bytes} bytes, no multiple of {WIDE}"
    wrong = next((size for size in shape if size != DYNAMIC and not 0 < size <= MOST_SIZE), None)
    if wrong is not None:
        return f"{what}'s buffer has a dim of {wrong} elements, a tensor map 1 to {MOST_SIZE}"
    if factor.sizes[factor.outer] > _MOST_ROWS:
        return f"a tile has {factor.sizes[factor.outer]} rows, a box {_MOST_ROWS} at most"
    return None


def boxes_of(forall: ir.Operation) -> list[Box]:
    """What a kernel copies and stores by boxes, each once."""
    ops = nested_ops(forall)
    loads = [op for op in ops if op.name == _LOAD]
    loads = [op for op in loads if "alone" in op.attributes] or loads  # the others are the twin's
    stores = [op for op in ops if op.name == _WRITE and defining_op(op.operands[0], TILE) is not None]
    return list(dict.fromkeys(map(box_of, (*loads, *stores))))
