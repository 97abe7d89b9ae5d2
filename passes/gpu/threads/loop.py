"""scf.for: a loop that carries each thread's registers; one of a few steps, like a window's, is written out.

Written out, positions are numbers, so that LLVM sees which elements are neighbours and loads them at once.
What is left of a dim of unknown length behind its whole steps is one step, or none: an scf.if, as LLVM and
ptxas would write out several steps of a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, prod

from mlir import ir

from ....dialects.layouts import WARP
from ...constants import integer_of
from ...operations import defining_op, nested_ops
from ..layouts.access import FEW_STEPS, access_of, bytes_of
from ..layouts.tiles import is_tile, sizes_of
from ..layouts.warpgroup import HELD, PRODUCT
from .builder import Number
from .emitter import Emitter
from .fragment import Fragment, positions_of
from .registry import rule

Positions = list[tuple[int, ...]] | None  # None for a scalar
WORD = 4  # bytes of a register
IN_FLIGHT = 64  # bytes a thread that are on their way, where none of the next step's are
_READ = "vector.transfer_read"
_ONCE = ("vector.contract", "vector.scan", PRODUCT, HELD, "mlopt.tma_load")  # in a loop that is not unrolled
_SLOW = "math."
# What may be written several times: its rules keep nothing by which they know what they have emitted.
_REPEATABLE = (
    *("arith.", "math.", "affine."),
    *(
        _READ,
        "vector.broadcast",
        "vector.shape_cast",
        "vector.transpose",
        "vector.step",
        "vector.deinterleave",
    ),
)


@rule("scf.for")
def emit_loop(em: Emitter, op: ir.Operation) -> None:
    """The loop over the scalars of all that is carried."""
    body = op.regions[0].blocks[0]
    numbers = [em.number(operand) for operand in list(op.operands)[:3]]
    places = [_positions(em, op, number) for number in range(len(op.results))]
    starts = _all_registers(em, list(op.operands)[3:], places)
    steps = _few_steps(op, numbers)
    if steps is not None:
        _write_out(em, op, steps, places, starts)
        return
    if _is_remainder(op) or _is_single_task(op, numbers):
        _bind(em, op, list(op.results), places, _emit_once(em, op, numbers, places, starts))
        return
    bounds = [em.build.number(number) for number in numbers]
    kinds = [value.type for value in starts]
    loop = ir.Operation.create("scf.for", kinds, [*bounds, *starts], _unrolled(em, op, numbers), regions=1)
    block = loop.regions[0].blocks.append(em.build.index, *kinds)
    em.set_scalar(body.arguments[0], block.arguments[0])
    _bind(em, op, list(body.arguments)[1:], places, list(block.arguments)[1:])
    *ops, end = (inner.operation for inner in body.operations)
    with ir.InsertionPoint(block), em.region(), em.shared.loop():
        em.emit(ops)
        ir.Operation.create("scf.yield", [], _all_registers(em, end.operands, places))
    _bind(em, op, list(op.results), places, list(loop.results))


def _is_remainder(op: ir.Operation) -> bool:
    """Whether a loop has what is left of a size behind its whole steps: it begins at their end."""
    first, size, step = list(op.operands)[:3]
    whole, length = defining_op(first, "affine.apply"), integer_of(step)
    if whole is None or length is None or list(whole.operands) != [size]:
        return False
    where = ir.AffineMapAttr(whole.attributes["map"]).value
    operand = ir.AffineDimExpr.get(0) if where.n_dims else ir.AffineSymbolExpr.get(0)
    return where.results[0] == ir.AffineExpr.get_floor_div(operand, length) * length


def _is_single_task(op: ir.Operation, bounds: Sequence[Number]) -> bool:
    """Whether a loop runs through a block's tasks, of which it has one, as in a persistent grid's twin."""
    return op.regions[0].blocks[0].operations[0].operation.name == "mlopt.task" and bounds[:2] == [0, 1]


def _emit_once(
    em: Emitter, op: ir.Operation, bounds: Sequence[Number], places: list[Positions], carried: list[ir.Value]
) -> list[ir.Value]:
    """The step of a loop that has one at most: the registers that it carries out."""
    first, end, _ = bounds
    body = op.regions[0].blocks[0]

    def step() -> list[ir.Value]:
        em.set_scalar(body.arguments[0], first)
        _bind(em, op, list(body.arguments)[1:], places, carried)
        *ops, last = (inner.operation for inner in body.operations)
        em.emit(ops)
        return _all_registers(em, last.operands, places)

    with em.shared.branch():
        kinds = [value.type for value in carried]
        return em.choose(em.build.less(first, end), kinds, step, lambda: carried)


def _unrolled(em: Emitter, op: ir.Operation, bounds: Sequence[Number]) -> dict[str, ir.Attribute]:
    """How many steps LLVM is to write out of a loop that multiplies, or that reads and does little else.

    Of copies by boxes none. Of products none: all sums would be made behind the last step, in the branch that
    stores them, while the factors of every step wait in registers (a product of 5x33x32 in f64: 128, and 896
    bytes spilled; now 74). Of scans none: a step waits for the one before, and holds its elements until then.
    Of reads so many that what is on its way fills half the registers, but for what totals take more than
    a step's reads: left to themselves LLVM and ptxas take fewer, or more, whose loads
    wait for a register that is free; none where one step does that. Of a loop of unknown length
    none, if a thread has four wide loads in a step: what is left over would be read piece by piece. Else as
    they choose.
    """
    body = [inner.operation for inner in op.regions[0].blocks[0].operations]
    accesses = [access_of(inner) for inner in body if inner.name == _READ]
    moved = sum(access.bytes for access in accesses if all(access.in_bounds))
    tiles = [each for each in op.results if is_tile(each)]
    carried = sum(prod(sizes_of(each)) * bytes_of(each.type.element_type) for each in tiles)
    steps = _known_steps(bounds)
    if any(inner.name in _ONCE for inner in body):
        wanted = "disable = true"
    elif not moved or any(inner.regions or inner.name.startswith(_SLOW) for inner in body):
        wanted = ""
    elif steps is None:
        wanted = "disable = true" if moved >= IN_FLIGHT * WARP * em.warps else ""
    else:
        half = em.registers * WORD * WARP * em.warps // 2 - max(carried - moved, 0)
        room = max(half // moved, 1)
        count = gcd(1 << (room.bit_length() - 1), len(steps))
        wanted = f"count = {count} : i32" if count > 1 else "disable = true" if room == 1 else ""
    text = f"#llvm.loop_annotation<unroll = <{wanted}>>"
    return {"llvm.loop_annotation": ir.Attribute.parse(text)} if wanted else {}


def _known_steps(bounds: Sequence[Number]) -> range | None:
    """The steps of a loop whose bounds are numbers."""
    first, end, step = bounds
    if isinstance(first, int) and isinstance(end, int) and isinstance(step, int):
        return range(first, end, step)
    return None


def _few_steps(op: ir.Operation, bounds: list[Number]) -> range | None:
    """The steps of a loop that is written out, or None."""
    steps = _known_steps(bounds)
    names = [inner.name for inner in nested_ops(op)]
    if (
        steps is None
        or len(steps) > FEW_STEPS
        or not all(name.startswith(_REPEATABLE) or name in (op.name, "scf.yield") for name in names)
    ):
        return None
    return steps


def _write_out(
    em: Emitter, op: ir.Operation, steps: range, places: list[Positions], carried: list[ir.Value]
) -> None:
    """The body, step by step."""
    body = op.regions[0].blocks[0]
    *ops, end = (inner.operation for inner in body.operations)
    for step in steps:
        em.set_scalar(body.arguments[0], step)
        _bind(em, op, list(body.arguments)[1:], places, carried)
        with em.written_out():
            em.emit(ops)
        carried = _all_registers(em, end.operands, places)
    _bind(em, op, list(op.results), places, carried)


def _positions(em: Emitter, op: ir.Operation, number: int) -> Positions:
    result = op.results[number]
    return positions_of(em.layout_of_result(op, number), result) if is_tile(result) else None


def _all_registers(em: Emitter, values: Iterable[ir.Value], places: Sequence[Positions]) -> list[ir.Value]:
    return [
        register
        for value, positions in zip(values, places, strict=True)
        for register in _registers(em, value, positions)
    ]


def _registers(em: Emitter, value: ir.Value, positions: Positions) -> list[ir.Value]:
    if positions is None:
        return [em.scalar(value)]
    fragment = em.fragment(value)
    return [fragment[position] for position in positions]


def _bind(
    em: Emitter, op: ir.Operation, values: list[ir.Value], places: list[Positions], registers: list[ir.Value]
) -> None:
    """Let values of the tile IR be the registers that carry them."""
    rest = iter(registers)
    for number, (value, positions) in enumerate(zip(values, places, strict=True)):
        if positions is None:
            em.set_scalar(value, next(rest))
        else:
            layout = em.layout_of_result(op, number)
            em.set_fragment(value, Fragment(layout, {position: next(rest) for position in positions}))
