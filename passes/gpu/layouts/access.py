"""Where a transfer's elements lie in memory, and how wide its accesses may be.

Kernel arguments are contiguous buffers that begin at a multiple of 16 bytes; the unaligned twin of a
kernel makes no use of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from mlir import ir

from ....dialects.attributes import LAYOUT
from ....dialects.layouts import Layout
from ...constants import integer_of
from ...divisors import divisor
from .tiles import sizes_of

WIDE = 16  # bytes of the widest access
HALVES = "vector.deinterleave"
COPIES = ("mlopt.async_copy", "mlopt.tma_load")
FEW_STEPS = 4  # of a loop that is written out, so that LLVM sees which elements are neighbours
DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Access:
    """One vector.transfer_read or transfer_write.

    ``step``: of how many neighbours in memory the tile has one; two where every other element is kept.
    """

    op: ir.Operation
    tile: ir.Value
    buffer: ir.Value
    indices: tuple[ir.Value, ...]
    dims: tuple[int, ...]  # the buffer's dim of each dim of the tile
    in_bounds: tuple[bool, ...]
    step: int = 1

    @property
    def element_bytes(self) -> int:
        """The size of an element in memory."""
        return bytes_of(ir.MemRefType(self.buffer.type).element_type)

    @property
    def padding(self) -> ir.Attribute:
        """What is read where there is no memory."""
        return self.op.operands[len(self.indices) + 1].owner.attributes["value"]

    @property
    def bytes(self) -> int:
        """What the tile moves."""
        return self.element_bytes * prod(sizes_of(self.tile))

    @property
    def strides(self) -> tuple[int | None, ...]:
        """The stride of each dim of the buffer, in elements; None if it is not known."""
        shape = list(ir.MemRefType(self.buffer.type).shape)
        return tuple(
            None if DYNAMIC in shape[dim + 1 :] else prod(shape[dim + 1 :]) for dim in range(len(shape))
        )

    def order(self) -> list[int]:
        """The tile's dims of more than one element, innermost in memory first."""
        wide = [dim for dim, size in enumerate(sizes_of(self.tile)) if size != 1]
        return sorted(wide, key=lambda dim: -self.dims[dim])

    def contiguous(self) -> int | None:
        """The tile's dim that runs along neighbours in memory."""
        order = self.order()
        if not order or self.dims[order[0]] != len(self.indices) - 1 or self.step != 1:
            return None
        return order[0]

    def width(self) -> int:
        """The most elements that may be accessed at once, from any multiple of their number on.

        Holds if the innermost size is a multiple, too, where `rests_on_size` says so.
        """
        inner = self.contiguous()
        if inner is None:
            return 1
        known = wide = WIDE // self.element_bytes
        spanned = {self.dims[dim] for dim in self.order()}
        shape = list(ir.MemRefType(self.buffer.type).shape)
        for dim, index in enumerate(self.indices):
            starts = divisor(index)
            if dim == self.dims[inner]:
                known = gcd(known, starts)
                continue
            # Of a dynamic size nothing is known, but that the innermost one is a multiple.
            sizes = [wide if dim == len(shape) - 1 else 1 for dim, size in enumerate(shape)]
            stride = prod(
                own if size == DYNAMIC else size
                for own, size in zip(sizes[dim + 1 :], shape[dim + 1 :], strict=True)
            )
            known = gcd(known, stride * (1 if dim in spanned else starts))
        return known

    def rows(self) -> int:
        """How many of the tile's rows, one behind the other in memory, may be accessed at once, if short.

        From any multiple of their number on, and whole; of rows that an access does not hold it is one.
        """
        order, kind = self.order(), ir.MemRefType(self.buffer.type)
        if not (kind.has_static_shape and all(self.in_bounds)):
            return 1
        if self.contiguous() is None or len(order) < 2:
            return 1
        *others, row = kind.shape
        sizes, wide = sizes_of(self.tile), WIDE // self.element_bytes
        if sizes[order[0]] != row or self.dims[order[1]] != len(others) - 1 or wide % row:
            return 1
        known = gcd(wide // row, sizes[order[1]])
        spanned = {self.dims[dim] for dim in order[2:]}
        for dim, index in enumerate(self.indices[:-1]):
            known = gcd(known, prod(others[dim + 1 :]) * (1 if dim in spanned else divisor(index)))
        return known

    def rows_in(self, layout: Layout) -> int:
        """How many rows a thread accesses at once."""
        rows = self.rows()
        whole = rows > 1 and layout.run(self.order()[0]) == sizes_of(self.tile)[self.order()[0]]
        return gcd(rows, layout.run(self.order()[1])) if whole else 1

    def window(self) -> int:
        """How many neighbours of each element loops read, all of those that lie before the next one; else 1.

        So the columns of windows that do not overlap: a loop runs along the buffer's innermost dim, the tile
        along the next one, and both make whole accesses of 16 bytes.
        """
        order, kind, loop = self.order(), ir.MemRefType(self.buffer.type), self.op.parent.operation
        if loop.name != "scf.for" or not kind.has_static_shape:
            return 1
        if not order or self.dims[order[0]] != kind.rank - 2 or self.indices[-1] != _variable(loop):
            return 1
        if not all(self.in_bounds):
            return 1
        *_, columns, size = kind.shape
        bounds, wide = [integer_of(bound) for bound in list(loop.operands)[:3]], WIDE // self.element_bytes
        if bounds != [0, size, 1] or size > FEW_STEPS or wide % size:
            return 1
        starts = (columns * size, sizes_of(self.tile)[order[0]] * size, divisor(self.indices[-2]) * size)
        return size if all(start % wide == 0 for start in starts) else 1

    def beside(self, layout: Layout) -> int:
        """The neighbours in memory that a thread loads of windows that lie side by side; else 1."""
        window = self.window()
        return window * layout.run(self.order()[0]) if window > 1 else 1

    @property
    def rests_on_size(self) -> bool:
        """Whether `width` takes the buffer's innermost size for a multiple, which is not known before."""
        shape = list(ir.MemRefType(self.buffer.type).shape)
        return len(shape) > 1 and shape[-1] == DYNAMIC

    def address(self, position: Sequence[int]) -> int:
        """Where a position of the tile lies after its first, in bytes; unknown strides are taken for odd."""
        strides = [1025 if stride is None else stride for stride in self.strides]
        strides[-1:] = [self.step]
        steps = (at * strides[dim] for at, dim in zip(position, self.dims, strict=True))
        return self.element_bytes * sum(steps)


def access_of(op: ir.Operation) -> Access:
    """The access of a transfer, or of the vector.deinterleave that takes every other element of one."""
    if op.name == HALVES:
        return replace(access_of(op.operands[0].owner.operation), tile=op.results[0], step=2)
    reads = op.name == "vector.transfer_read"
    tile = op.results[0] if reads else op.operands[0]
    buffer = op.operands[0 if reads else 1]
    first = 1 if reads else 2
    rank = ir.MemRefType(buffer.type).rank
    where = ir.AffineMapAttr(op.attributes["permutation_map"]).value
    return Access(
        op,
        tile,
        buffer,
        tuple(op.operands[first + dim] for dim in range(rank)),
        tuple(ir.AffineDimExpr(expr).position for expr in where.results),
        tuple(ir.BoolAttr(flag).value for flag in ir.ArrayAttr(op.attributes["in_bounds"])),
    )


def _variable(loop: ir.Operation) -> ir.Value:
    return loop.regions[0].blocks[0].arguments[0]


def is_halved(op: ir.Operation) -> bool:
    """Whether of what ``op`` reads only every other element is wanted, so that the others are not loaded."""
    if op.name != "vector.transfer_read":
        return False
    return {use.owner.operation.name for use in op.results[0].uses} == {HALVES}


def is_copied(op: ir.Operation) -> bool:
    """Whether what ``op`` reads goes to shared memory by itself, so that no thread holds it."""
    return any(use.owner.name in COPIES for use in op.results[0].uses)


def words_of(tile: ir.Value) -> int:
    """The registers of a thread that a result with a layout fills, of 4 bytes."""
    result = ir.OpResult(tile)
    text = (LAYOUT.get(result.owner) or ())[result.result_number]
    return len(Layout.parse(text).register_positions) * bytes_of(ir.VectorType(tile.type).element_type) // 4


def bytes_of(element: ir.Type) -> int:
    """The size of a scalar in memory or in a register."""
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
