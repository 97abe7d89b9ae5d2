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

from mlir import ir

from ....dialects.layouts import LANE_BITS, Axis, Layout, Position
from ...base import PassError
from ...operations import defining_op
from .access import access_of
from .dims import Dims
from .instructions import COLUMNS, ROWS, instruction_of, makes_factor, warp_grid
from .roles import Roles, Side, bits_of, loop_size, roles_of
from .spread import Spread
from .tiles import contract_loops

HALF = 8  # rows between the two that a lane has


class TensorProduct:
    """The layouts that a product on tensor cores wants."""

    def cuts(self, op: ir.Operation) -> Sequence[int]:
        """None: dims of the factors do not run along with those of the result."""
        del op
        return ()

    def place(self, op: ir.Operation, dims: Dims, spread: Spread) -> None:
        """Spread the result's classes, where no other product has yet: its rows are then this one's, too."""
        roles = _roles(op)
        classes: dict[int, int] = {
            loop: each
            for loop, each in zip(contract_loops(op)[2], dims.of(op.results[0]), strict=True)
            if each is not None
        }
        sides = roles.rows, roles.columns
        mine = [classes[loop] for side in sides for loop in side.loops]
        free = [
            bit
            for bit in range(LANE_BITS, len(spread.bits))
            if all(spread.is_free(bit, each) for each in mine)
        ]
        to_place = [
            bool(side.loops) and not any(classes[loop] in spread.placed for loop in side.loops)
            for side in sides
        ]
        high, wide = (
            -(-side.size // length) if is_new else 1
            for side, length, is_new in zip(sides, (ROWS, COLUMNS), to_place, strict=True)
        )
        pairs = [not makes_factor(op) and lies_in_pairs(op, number) for number in (0, 1)]
        if pairs[1]:
            wide = -(-wide // 2)
        below = 1 << len(free) if makes_factor(op) else warp_grid(high, wide, 1 << len(free))
        down = below.bit_length() - 1
        if to_place[0]:
            lanes, own = (_ROW_PAIRS, [(2, 1)]) if pairs[0] else (ROW_LANES, [(2, HALF)])
            _put(spread, roles.rows, classes, lanes, free[:down], (-(-high // below), ROWS), own)
        if to_place[1]:
            lanes, own = (_COLUMN_PAIRS, [(2, 2), (2, 1)]) if pairs[1] else (COLUMN_LANES, [(2, 1)])
            blocks = -(-wide * below >> len(free)), COLUMNS << pairs[1]
            _put(spread, roles.columns, classes, lanes, free[down:], blocks, own)

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
        for number, loops, side in ((0, left, roles.rows), (1, right, roles.columns)):
            bits, registers = _shared(op, layout, result, side, number)
            halves = [each for each in registers if each in ((2, HALF), (2, 1)) and number == 0]
            beside = [(2, 1)] if number == 1 and (2, 1) in registers else []
            registers = [each for each in registers if each not in beside]
            even = not beside and any(each[0] % 2 == 0 for each in registers)
            pairs = [(2, COLUMNS)] if number == 1 and even else []
            if pairs:
                registers = [(each[0] // 2, 2 * each[1]) for each in registers]
            axes: list[tuple[int | None, int, int]] = []
            for own, others in (
                ([each for each in registers if each not in halves], [deep[0]]),
                (pairs, [deep[1]]),
                ([*halves, *beside], [(roles.depth, packed, 1)]),
            ):
                axes += [axis for each in own for axis in side.axes(*each)] + others
            lanes: dict[int | None, dict[int, int]] = {roles.depth: {0: packed, 1: 2 * packed}}
            for loop in side.loops:
                lanes[loop] = {bit: side.offsets(step)[loop] for bit, step in bits.items()}
            wanted[number] = _layout(loops, lanes, axes, len(layout.bits))
        return wanted


ROW_LANES = {2: 1, 3: 2, 4: 4}
COLUMN_LANES = {0: 2, 1: 4}
_ROW_PAIRS, _COLUMN_PAIRS = (
    {bit: 2 * step for bit, step in each.items()} for each in (ROW_LANES, COLUMN_LANES)
)


def half_of(layout: Layout, rows: Side, result: Sequence[int]) -> int:
    """The rows between the two that a lane has in an instruction, for a result of this layout."""
    return 1 if rows.loops and _along(layout.bits[2], rows, result) == _ROW_PAIRS[2] else HALF


def beside_of(layout: Layout, columns: Side, result: Sequence[int]) -> int:
    """The columns between the two that a lane has in an instruction."""
    return 2 if columns.loops and _along(layout.bits[0], columns, result) == _COLUMN_PAIRS[0] else 1


def _along(step: Position, side: Side, result: Sequence[int]) -> int:
    """How far a step goes along the rows, or columns, of a result with these loops."""
    return side.place([step[result.index(loop)] for loop in side.loops])


def lies_in_pairs(op: ir.Operation, number: int) -> bool:
    """Whether a factor has bytes, and lies along its rows, or columns, in whole instructions."""
    instruction, roles = instruction_of(op), _roles(op)
    side = (roles.rows, roles.columns)[number]
    value = op.operands[number]
    while (turned := defining_op(value, "mlopt.convert_layout")) is not None:
        value = turned.operands[0]
    read = defining_op(value, "vector.transfer_read")
    if instruction is None or instruction.element_bytes != 1 or len(side.loops) != 1 or read is None:
        return False
    access, loops = access_of(read), contract_loops(op)[number]
    whole = loop_size(op, roles.depth) % instruction.depth == 0 and side.size % (2 * COLUMNS) == 0
    return whole and access.contiguous() == loops.index(side.loops[0])


def _put(
    spread: Spread,
    side: Side,
    classes: Mapping[int, int],
    lanes: Mapping[int, int],
    warps: Sequence[int],
    blocks: tuple[int, int],
    own: Sequence[tuple[int, int]],
) -> None:
    """Place a side's classes: so many ``blocks`` of a size for each warp, and its registers of a lane.

    Warps beyond have copies: there is nothing for them to load.
    """
    count, size = blocks
    parts = -(-side.size // (count * size))
    bits = {bit: count * size << number for number, bit in enumerate(warps) if parts > 1 << number}
    axes = [axis for each in ([blocks, *own] if count > 1 else own) for axis in side.axes(*each)]
    for loop in side.loops:
        places = {bit: side.offsets(step)[loop] for bit, step in {**lanes, **bits}.items()}
        steps = {bit: step for bit, step in places.items() if step}
        spread.put(classes[loop], steps, [(extent, step) for each, extent, step in axes if each == loop])


def _roles(op: ir.Operation) -> Roles:
    roles = roles_of(op)
    assert isinstance(roles, Roles), "mlopt-gpu-tensor-cores has asked"
    return roles


def _shared(
    op: ir.Operation, layout: Layout, result: Sequence[int], side: Side, number: int
) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """How a factor is divided along what it shares with the result: a lane has a column of eight."""
    if not side.loops:
        return {}, []
    steps = {bit: _along(step, side, result) for bit, step in enumerate(layout.bits)}
    bits = {bit: step for bit, step in steps.items() if step}
    lanes = {bit: step for bit, step in bits.items() if bit < LANE_BITS}
    if lanes not in ((COLUMN_LANES, _COLUMN_PAIRS) if number else (ROW_LANES, _ROW_PAIRS)):
        raise PassError(op, "assign-layouts: another product has this one's rows for its columns")
    axes = [(axis.extent, _along(axis.step, side, result)) for axis in layout.registers]
    registers = [axis for axis in axes if axis[1]]
    if len(side.loops) > 1:
        registers = [part for axis in registers for part in bits_of(*axis)]
    if number == 0:
        return bits, registers
    warps = {bit: step for bit, step in bits.items() if bit >= LANE_BITS}
    in_pairs = lanes == _COLUMN_PAIRS
    skipped = beside_of(layout, side, result)
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
