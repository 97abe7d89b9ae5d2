"""Products of warpgroups: which of them wgmma makes, and who has what of the result.

Four warps multiply 64 rows of one factor with up to 256 columns of the other, both in shared memory. What a
warp gets are its 16 rows, as of an mma.sync beside the other::

    128x256 of f32, two warpgroups   reg 2:(8,0) 32:(0,8) 2:(0,1)   lane 4:(0,2) 8:(1,0)
                                     warp 4:(16,0) 2:(64,0)

So what mma.sync makes of the same tile, as of a last, ragged step, is divided alike. A row of a factor in
shared memory is one of a swizzle's pattern, of 32, 64 or 128 bytes (`Factor.span`); what is longer lies in
pieces of 128, one behind the other. Its rows run along the depth, or, of elements of 16 bits, along the
result's rows or columns. Of f32 the bits beyond TF32's are not read: what comes there has been rounded.
(PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions", "Shared Memory Matrix Layout".)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import LANE_BITS, WARP, Layout
from ...base import PassError
from ...operations import defining_op
from .access import access_of, bytes_of
from .dims import Dims
from .instructions import FLOATS8, TF32, instruction_of
from .instructions import ROWS as WARP_ROWS
from .mma import COLUMN_LANES, HALF, ROW_LANES
from .roles import Roles, loop_size, roles_of
from .spread import Spread
from .tiles import contract_loops, sizes_of

PRODUCT, HELD = "mlopt.warpgroup_mma", "mlopt.warpgroup_mma_held"
WARPS = 4  # of a warpgroup
ROWS = WARPS * WARP_ROWS
MOST_COLUMNS = 256
DEPTH_BYTES = 32  # of a row of a factor, that an instruction multiplies
FLOAT8_DEPTH = 128  # that is summed with some 14 bits, before a sum of f32 takes it
PATTERN = 8  # rows of a swizzle's pattern
PATTERN_BYTES = 1024  # of the widest one: where tiles begin
_SPANS = (32, 64, 128)  # bytes of a row of the swizzle's pattern; longer rows are whole ones of the last
TURNABLE = 2  # bytes of elements whose rows may run along the result's
_TEXT = re.compile(rf"m{ROWS}n(\d+)k(\d+)\.(\w+)")


def words_for(warps: int) -> str:
    """So many warps, counted in warpgroups."""
    groups = warps // WARPS
    return f"{groups} warpgroup{'s' if groups > 1 else ''}"


def can_swizzle(length: int) -> bool:
    """Whether rows of so many bytes are whole ones of a pattern of the swizzle."""
    return length in _SPANS or length % _SPANS[-1] == 0


@dataclass(frozen=True)
class Warpgroup:
    """A wgmma: its columns and its depth, and the factors' type as PTX calls it."""

    columns: int
    depth: int
    kind: str

    @property
    def apart(self) -> bool:
        """Whether each step's product is a sum of its own, which threads add up."""
        return self.kind in FLOATS8

    def __str__(self) -> str:
        return f"m{ROWS}n{self.columns}k{self.depth}.{self.kind}"


def warpgroup_of(contract: ir.Operation) -> Warpgroup | None:
    """The wgmma that a product is marked with, if it is one."""
    found = _TEXT.fullmatch(MMA.get(contract) or "")
    return None if found is None else Warpgroup(int(found[1]), int(found[2]), found[3])


@dataclass(frozen=True)
class Factor:
    """A factor's tile as wgmma reads it: ``own`` is the dim of the result's rows or columns, or None.

    ``depth``: the dim that is summed over; ``inner``: the one of the two that runs along memory.
    """

    sizes: tuple[int, ...]
    element_bytes: int
    own: int
    depth: int
    inner: int

    @property
    def turned(self) -> bool:
        """Whether its rows run along those of the result, or its columns."""
        return self.inner != self.depth

    @property
    def outer(self) -> int:
        """The dim along which rows lie one behind the other."""
        return self.own if self.inner == self.depth else self.depth

    @property
    def span(self) -> int:
        """The bytes of a row of the swizzle's pattern."""
        return min(self.sizes[self.inner] * self.element_bytes, _SPANS[-1])

    @property
    def bytes(self) -> int:
        """What it takes in shared memory."""
        return self.sizes[self.own] * self.sizes[self.depth] * self.element_bytes


def read_of(factor: ir.Value) -> ir.Operation | None:
    """What reads a factor from memory, of 8-bit floats their bits; None if it is computed."""
    bits = defining_op(factor, "arith.bitcast")
    return defining_op(factor if bits is None else bits.operands[0], "vector.transfer_read")


def factor_of(contract: ir.Operation, number: int) -> Factor | str:
    """A factor of a product that is read from memory, or why wgmma cannot read it."""
    roles, value = roles_of(contract), contract.operands[number]
    assert isinstance(roles, Roles), "mlopt-gpu-tensor-cores has asked"
    read = read_of(value)
    if read is None:
        return "a factor is not what is read, but computed of it"
    loops = contract_loops(contract)[number]
    side = roles.columns if number else roles.rows
    if not side.loops or roles.depth is None:
        return "a factor has a single row"
    if len(side.loops) > 1:
        return "rows run along several dims"
    inner = access_of(read).contiguous()
    dims = loops.index(side.loops[0]), loops.index(roles.depth)
    size = bytes_of(ir.VectorType(value.type).element_type)
    if inner not in dims:
        return "neighbours in memory are not neighbours of a factor"
    if inner == dims[0] and size != TURNABLE:
        return "rows of a factor whose elements have not two bytes must run along the depth"
    found = Factor(tuple(sizes_of(value)), size, *dims, inner)
    length = found.sizes[inner] * size
    if not can_swizzle(length):
        return f"rows of a factor have {length} bytes, not 32, 64 or a multiple of 128"
    if found.sizes[found.outer] % PATTERN:
        return f"a factor has {found.sizes[found.outer]} rows in shared memory, no multiple of {PATTERN}"
    return found


def slots_of(product: ir.Operation) -> dict[int, tuple[ir.Value, ir.Value]]:
    """The ring and the slot of each factor of a product of warpgroups, by its number: of those in rings."""
    if product.name == HELD:
        _, ring, slot, _ = product.operands
        return {1: (ring, slot)}
    left, first, right, second, _ = product.operands
    return {0: (left, first), 1: (right, second)}


def factor_in(product: ir.Operation, number: int) -> Factor:
    """A factor of a product of warpgroups, as its ring has it."""
    own, depth, inner = ir.DenseI64ArrayAttr(product.attributes[("left", "right")[number]])
    ring = ir.MemRefType(slots_of(product)[number][0].type)
    _, *sizes = ring.shape
    return Factor(tuple(sizes), bytes_of(ring.element_type), own, depth, inner)


def factor_of_ring(ring: ir.Value) -> Factor:
    """What products of warpgroups read of a ring."""
    product = _reader_of(ring)
    (number,) = (number for number, (other, _) in slots_of(product).items() if other == ring)
    return factor_in(product, number)


def is_rounded(ring: ir.Value) -> bool:
    """Whether what is copied to a ring becomes the nearest TF32: products would cut its other bits off."""
    return kind_of(_reader_of(ring)) == TF32


def kind_of(product: ir.Operation) -> str:
    """The factors' type of a product of warpgroups, as PTX calls it."""
    return ir.StringAttr(product.attributes["instruction"]).value.rpartition(".")[2]


def _reader_of(ring: ir.Value) -> ir.Operation:
    """A product of warpgroups that reads a ring: all that do read it alike."""
    return next(use.owner.operation for use in ring.uses if use.owner.name in (PRODUCT, HELD))


def warpgroup_for(contract: ir.Operation, warps: int, read: Sequence[int] = (0, 1)) -> Warpgroup | str:
    """The wgmma for a product on tensor cores, in a block of so many warps, or why there is none.

    ``read``: the numbers of the factors that are in shared memory; another one is in registers.
    """
    instruction, roles = instruction_of(contract), roles_of(contract)
    if instruction is None or not isinstance(roles, Roles):
        return "it is not for tensor cores"
    rows, columns, depth = roles.rows.size, roles.columns.size, loop_size(contract, roles.depth)
    groups = warps // WARPS
    if not groups:
        return f"a block has {warps} warps, a warpgroup {WARPS}"
    if rows % ROWS or rows & (rows - 1):
        return f"its {rows} rows are not {ROWS} for each warpgroup, or a power of two of them"
    beside = groups // min(groups, rows // ROWS)
    each = columns // beside
    unit = 16 if instruction.kind == "s8" else 8
    if columns % beside or each % unit or each > MOST_COLUMNS:
        return f"{beside} warpgroups cannot share its {columns} columns, a multiple of {unit} up to 256 each"
    if depth % instruction.depth:
        return f"its depth of {depth} is no multiple of the instruction's {instruction.depth}"
    if instruction.kind in FLOATS8 and depth > FLOAT8_DEPTH:
        return f"its depth of {depth} is more than what may be summed with few bits, {FLOAT8_DEPTH}"
    for number in read:
        factor = factor_of(contract, number)
        if isinstance(factor, str):
            return factor
        if number and beside > 1 and factor.turned and each * factor.element_bytes % _SPANS[-1]:
            return f"a warpgroup's {each} columns are no whole rows of shared memory"
    return Warpgroup(each, instruction.depth, instruction.kind)


class WarpgroupProduct:
    """The layouts of products of warpgroups."""

    def cuts(self, op: ir.Operation) -> Sequence[int]:
        """None: dims of the factors do not run along with those of the result."""
        del op
        return ()

    def place(self, op: ir.Operation, dims: Dims, spread: Spread) -> None:
        """Spread the result's classes: warpgroups below each other first, each with its rows together."""
        roles, wanted = roles_of(op), warpgroup_of(op)
        assert isinstance(roles, Roles) and wanted is not None, "mlopt-gpu-warpgroup-products has asked"
        classes = dict(zip(contract_loops(op)[2], dims.of(op.results[0]), strict=True))
        rows, columns = (classes[side.loops[0]] for side in (roles.rows, roles.columns))
        assert rows is not None and columns is not None, "both have more than one element"
        beside = spread.extents[columns] // wanted.columns
        first = LANE_BITS + WARPS.bit_length() - 1
        last = len(spread.bits) - beside.bit_length() + 1
        blocks = spread.extents[rows] // (ROWS << (last - first))
        if rows not in spread.placed:
            bits = {LANE_BITS: WARP_ROWS, LANE_BITS + 1: 2 * WARP_ROWS}
            bits |= {bit: blocks * ROWS << number for number, bit in enumerate(range(first, last))}
            axes = [(blocks, ROWS), (2, HALF)] if blocks > 1 else [(2, HALF)]
            spread.put(rows, {**ROW_LANES, **bits}, axes)
        if columns not in spread.placed:
            bits = {bit: wanted.columns << number for number, bit in enumerate(range(last, len(spread.bits)))}
            spread.put(columns, {**COLUMN_LANES, **bits}, [(wanted.columns // 8, 8), (2, 1)])

    def wants(self, op: ir.Operation, layout: Layout) -> Mapping[int, Layout]:
        """Nothing: factors are in shared memory. The result must be divided as the instruction does."""
        roles = roles_of(op)
        assert isinstance(roles, Roles), "mlopt-gpu-tensor-cores has asked"
        rows = contract_loops(op)[2].index(roles.rows.loops[0]) if roles.rows.loops else 0
        steps = [step[rows] for step in layout.bits[LANE_BITS : LANE_BITS + 2]]
        if layout.threads < WARPS * WARP or steps != [WARP_ROWS, 2 * WARP_ROWS]:
            raise PassError(op, "assign-layouts: another product has given warps other rows than wgmma does")
        return {}


RULE = WarpgroupProduct()
