"""Products on tensor cores: the fragments that mma.sync wants, of both factors and of the result.

A warp multiplies 16 rows of one factor with 8 columns of the other. In the result a group of four lanes has
a row, each lane two neighbours; a register of a factor holds as many neighbours along the reduced dim as
there are in 4 bytes. Warps form a rectangle over the tile, each with a part as square as possible.

    128x128 of f32  reg 4:(16,0) 2:(8,0) 8:(0,8) 2:(0,1)   lane 4:(0,2) 8:(1,0)  warp 2:(64,0) 2:(0,64)
    128x16 of bf16  reg 4:(16,0) 2:(8,0) 2:(0,8) 2:(0,1)   lane 4:(0,2) 8:(1,0)  warp 2:(64,0) 2:(0,0)

Bytes that do not lie along the depth in memory are turned in pairs of rows, or of columns (`matrices`): the
rows of a lane are neighbours then, and so are the columns of two instructions.

    128x128 of i32  reg 4:(16,0) 2:(1,0) 4:(0,16) 4:(0,1)   lane 4:(0,4) 8:(2,0)  warp 2:(64,0) 2:(0,64)

(PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16" and its neighbours.) The factors come through an
mlopt.convert_layout each; the result's classes are placed before others, and what is done to it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from mlir import ir

from ....dialects.attributes import MMA
from ....dialects.layouts import LANE_BITS, Axis, Layout
from ...base import PassError
from ...operations import defining_op
from .access import access_of
from .dims import Dims
from .spread import Spread
from .tiles import ELEMENTWISE, contract_loops, sizes_of

ROWS, COLUMNS = 16, 8
HALF = 8  # rows between the two that a lane has
REGISTER = 4  # bytes
TF32 = "tf32"


@dataclass(frozen=True)
class Instruction:
    """An mma.sync of 16 rows by 8 columns: its factors' type as PTX and LLVM call it, and their size."""

    kind: str
    element_bytes: int

    @property
    def packed(self) -> int:
        """The elements of a factor in a register."""
        return REGISTER // self.element_bytes

    @property
    def depth(self) -> int:
        """The length that is summed over."""
        return 2 * 4 * self.packed

    def __str__(self) -> str:
        return f"m{ROWS}n{COLUMNS}k{self.depth}.{self.kind}"


# By the types of the factors and of the accumulator. ("Multiply-and-Accumulate Instruction: mma", sm_80.)
_INSTRUCTIONS = {
    ("bf16", "f32"): Instruction("bf16", 2),
    ("f16", "f32"): Instruction("f16", 2),
    ("i8", "i32"): Instruction("s8", 1),
    ("f32", "f32"): Instruction(TF32, 4),
}


def instruction_for(factor: ir.Type, total: ir.Type, tf32: bool = False) -> Instruction | None:
    """The instruction for factors and an accumulator of these types, if there is one.

    ``tf32``: whether factors of f32 may be rounded to 11 bits of their 24.
    """
    found = _INSTRUCTIONS.get((str(factor), str(total)))
    return found if found is None or tf32 or found.kind != TF32 else None


def instruction_of(contract: ir.Operation) -> Instruction | None:
    """The instruction that mlopt-gpu-tensor-cores has chosen for a product; PassError if nobody knows it."""
    if MMA.name not in contract.attributes:
        return None
    found = next((each for each in _INSTRUCTIONS.values() if str(each) == MMA.get(contract)), None)
    if found is None:
        known = ", ".join(map(str, _INSTRUCTIONS.values()))
        raise PassError(contract, f"mlopt.mma is {MMA.get(contract)!r}; known are {known}")
    return found


@dataclass(frozen=True)
class Roles:
    """The loop of a product that runs along its rows, its columns, its sums; None if it has one element."""

    rows: int | None
    columns: int | None
    depth: int | None


def roles_of(contract: ir.Operation) -> Roles | str:
    """Which loop has which role, or why there is none for some."""
    left, right, result = contract_loops(contract)
    sizes = {
        loop: size
        for loops, operand in zip((left, right), contract.operands, strict=False)
        for loop, size in zip(loops, sizes_of(operand), strict=True)
    }
    wide = [loop for loop in sizes if sizes[loop] != 1]
    rows = [loop for loop in wide if loop in left and loop not in right]
    columns = [loop for loop in wide if loop in right and loop not in left]
    depth = [loop for loop in wide if loop not in result]
    shared = [loop for loop in wide if loop in left and loop in right and loop in result]
    if shared or max(map(len, (rows, columns, depth))) > 1:
        return "a factor has several dims that the other one lacks, or both share one with the result"
    return Roles(*(next(iter(each), None) for each in (rows, columns, depth)))


@cache
def warp_grid(rows: int, columns: int, warps: int) -> int:
    """How many of the warps stand below each other, the others beside, over so many blocks of an instruction.

    Both factors are read least where a warp's part is square; warps that have nothing are worst.
    """

    def read(below: int) -> tuple[int, int]:
        high, wide = -(-rows // below), -(-columns * below // warps)
        return high * wide, high * ROWS + wide * COLUMNS

    return min((1 << bit for bit in range(warps.bit_length())), key=read)


def makes_factor(op: ir.Operation) -> bool:
    """Whether another product on tensor cores has this one's result, or what is made of it, for its rows.

    A warp with whole rows of both has the second one's factor in its registers already.
    """
    pending, seen = list(op.results), set(op.results)
    while pending:
        for use in pending.pop().uses:
            reader = use.owner.operation
            if MMA.name in reader.attributes and use.operand_number == 0:
                return True
            further = [reader.parent.results[use.operand_number]] if reader.name == "scf.yield" else []
            if reader.name.startswith(ELEMENTWISE):
                further = list(reader.results)
            pending += [value for value in further if value not in seen]
            seen.update(further)
    return False


class TensorProduct:
    """The layouts that a product on tensor cores wants."""

    def cuts(self, op: ir.Operation) -> Sequence[int]:
        """None: dims of the factors do not run along with those of the result."""
        del op
        return ()

    def place(self, op: ir.Operation, dims: Dims, spread: Spread) -> None:
        """Spread the result's classes, where no other product has yet: its rows are then this one's, too."""
        roles = _roles(op)
        classes = dict(zip(contract_loops(op)[2], dims.of(op.results[0]), strict=True))
        rows = classes.get(roles.rows) if roles.rows is not None else None
        columns = classes.get(roles.columns) if roles.columns is not None else None
        mine = [each for each in (rows, columns) if each is not None]
        free = [
            bit
            for bit in range(LANE_BITS, len(spread.bits))
            if all(spread.is_free(bit, each) for each in mine)
        ]
        high = 1 if rows is None or rows in spread.placed else -(-spread.extents[rows] // ROWS)
        wide = 1 if columns is None or columns in spread.placed else -(-spread.extents[columns] // COLUMNS)
        pairs = [not makes_factor(op) and lies_in_pairs(op, number) for number in (0, 1)]
        if pairs[1]:
            wide = -(-wide // 2)
        below = 1 << len(free) if makes_factor(op) else warp_grid(high, wide, 1 << len(free))
        down = below.bit_length() - 1
        if rows is not None and rows not in spread.placed:
            lanes, own = (_ROW_PAIRS, [(2, 1)]) if pairs[0] else (ROW_LANES, [(2, HALF)])
            _put(spread, rows, lanes, free[:down], -(-high // below), ROWS, own)
        if columns is not None and columns not in spread.placed:
            lanes, own = (_COLUMN_PAIRS, [(2, 2), (2, 1)]) if pairs[1] else (COLUMN_LANES, [(2, 1)])
            each = -(-wide * below >> len(free))
            _put(spread, columns, lanes, free[down:], each, COLUMNS << pairs[1], own)

    def wants(self, op: ir.Operation, layout: Layout) -> dict[int, Layout]:
        """The layouts of both factors, for a result that is divided by ``layout``.

        Registers are numbered as the instruction takes them, so that what ldmatrix loads is in its order.
        """
        instruction, roles = instruction_of(op), _roles(op)
        assert instruction is not None
        left, right, result = contract_loops(op)
        depth = max((loop_size(op, roles.depth) - 1) // instruction.depth + 1, 1)
        half, packed = 4 * instruction.packed, instruction.packed
        deep = [(roles.depth, depth, instruction.depth), (roles.depth, 2, half)]
        wanted = {}
        for number, loops, own in ((0, left, roles.rows), (1, right, roles.columns)):
            bits, registers = _shared(op, layout, None if own is None else result.index(own), number)
            halves = [each for each in registers if each in ((2, HALF), (2, 1)) and number == 0]
            beside = [(2, 1)] if number == 1 and (2, 1) in registers else []
            registers = [each for each in registers if each not in beside]
            even = not beside and any(each[0] % 2 == 0 for each in registers)
            pairs = [(2, COLUMNS)] if number == 1 and even else []
            if pairs:
                registers = [(each[0] // 2, 2 * each[1]) for each in registers]
            axes = [(own, *each) for each in registers if each not in halves]
            axes += [deep[0], *((own, *each) for each in pairs), deep[1]]
            axes += [*((own, *each) for each in (*halves, *beside)), (roles.depth, packed, 1)]
            lanes = {roles.depth: {0: packed, 1: 2 * packed}, own: bits}
            wanted[number] = _layout(loops, lanes, axes, len(layout.bits))
        return wanted


ROW_LANES = {2: 1, 3: 2, 4: 4}
COLUMN_LANES = {0: 2, 1: 4}
_ROW_PAIRS, _COLUMN_PAIRS = (
    {bit: 2 * step for bit, step in each.items()} for each in (ROW_LANES, COLUMN_LANES)
)


def half_of(layout: Layout, rows: int | None) -> int:
    """The rows between the two that a lane has in an instruction, for a result of this layout."""
    return 1 if rows is not None and layout.bits[2][rows] == _ROW_PAIRS[2] else HALF


def beside_of(layout: Layout, columns: int | None) -> int:
    """The columns between the two that a lane has in an instruction."""
    return 2 if columns is not None and layout.bits[0][columns] == _COLUMN_PAIRS[0] else 1


def lies_in_pairs(op: ir.Operation, number: int) -> bool:
    """Whether a factor has bytes, and lies along its rows, or columns, in whole instructions."""
    instruction, roles = instruction_of(op), _roles(op)
    own = (roles.rows, roles.columns)[number]
    value = op.operands[number]
    while (turned := defining_op(value, "mlopt.convert_layout")) is not None:
        value = turned.operands[0]
    read = defining_op(value, "vector.transfer_read")
    if instruction is None or instruction.element_bytes != 1 or own is None or read is None:
        return False
    access, loops = access_of(read), contract_loops(op)[number]
    whole = loop_size(op, roles.depth) % instruction.depth == 0 and loop_size(op, own) % (2 * COLUMNS) == 0
    return whole and access.contiguous() == loops.index(own)


def _put(
    spread: Spread,
    each: int,
    lanes: Mapping[int, int],
    warps: Sequence[int],
    blocks: int,
    size: int,
    own: Sequence[tuple[int, int]],
) -> None:
    """Place a class: ``blocks`` of a ``size`` for each warp, and its registers of a lane.

    Warps beyond have copies: there is nothing for them to load.
    """
    parts = -(-spread.extents[each] // (blocks * size))
    bits = {bit: blocks * size << number for number, bit in enumerate(warps) if parts > 1 << number}
    spread.put(each, {**lanes, **bits}, [(blocks, size), *own] if blocks > 1 else own)


def _roles(op: ir.Operation) -> Roles:
    roles = roles_of(op)
    assert isinstance(roles, Roles), "mlopt-gpu-tensor-cores has asked"
    return roles


def loop_size(op: ir.Operation, loop: int | None) -> int:
    """The size of a loop of a product."""
    for loops, operand in zip(contract_loops(op), op.operands, strict=True):
        if loop in loops:
            return sizes_of(operand)[loops.index(loop)]
    return 1


def _shared(
    op: ir.Operation, layout: Layout, dim: int | None, number: int
) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """How a factor is divided along the dim that it shares with the result: a lane has a column of eight."""
    if dim is None:
        return {}, []
    bits = {bit: step[dim] for bit, step in enumerate(layout.bits) if step[dim]}
    lanes = {bit: step for bit, step in bits.items() if bit < LANE_BITS}
    if lanes not in ((COLUMN_LANES, _COLUMN_PAIRS) if number else (ROW_LANES, _ROW_PAIRS)):
        raise PassError(op, "assign-layouts: another product has this one's rows for its columns")
    registers = [(axis.extent, axis.step[dim]) for axis in layout.registers if axis.step[dim]]
    if number == 0:
        return bits, registers
    warps = {bit: step for bit, step in bits.items() if bit >= LANE_BITS}
    in_pairs = lanes == _COLUMN_PAIRS
    skipped = beside_of(layout, dim)
    return {**(_ROW_PAIRS if in_pairs else ROW_LANES), **warps}, [
        each for each in registers if each[1] != skipped
    ]


def _layout(
    loops: Sequence[int],
    lanes: Mapping[int | None, Mapping[int, int]],
    axes: Sequence[tuple[int | None, int, int]],
    bits: int,
) -> Layout:
    """The layout of a tile with these loops: the steps of bits, and registers (loop, extent, step)."""
    registers = [
        Axis(extent, tuple(step if each == loop else 0 for each in loops))
        for loop, extent, step in axes
        if loop in loops and extent > 1
    ]
    steps = [tuple(lanes.get(loop, {}).get(bit, 0) for loop in loops) for bit in range(bits)]
    return Layout(len(loops), tuple(registers), tuple(steps))


RULE = TensorProduct()
