"""Rings: a loop's tiles in shared memory, of several steps at once, copied there ahead of their use."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import affine

from ..constants import index_constant, integer_of, is_zero, scalar_constant
from ..moving.gathered import clone
from ..operations import block_ops, defining_op, nested_ops
from .buffers import buffer_of, written_by
from .layouts.access import access_of

SPACE = "#gpu.address_space<workgroup>"


def make_ring(tile: ir.Operation, stages: int) -> ir.Value:
    """Room for so many tiles like the result of ``tile``."""
    kind = ir.VectorType(tile.results[0].type)
    space = ir.Attribute.parse(SPACE)
    ring = ir.MemRefType.get([stages, *kind.shape], kind.element_type, memory_space=space)
    return ir.Operation.create("mlopt.shared_ring", [ring]).results[0]


def copy_problem(loop: ir.Operation, read: ir.Operation) -> str | None:
    """Why what a loop reads cannot be copied ahead, or None."""
    if buffer_of(read.operands[0]) in written_by(nested_ops(loop)):
        return "the loop may write to what is copied ahead"
    if not is_zero(scalar_constant(read.operands[len(access_of(read).indices) + 1])):
        return "a factor is padded with something else than zeros"
    if position_ops(loop, read) is None:
        return "a factor's position depends on what the loop computes"
    return None


def position_ops(loop: ir.Operation, read: ir.Operation) -> list[ir.Operation] | None:
    """The ops of the loop's body that the read's position is computed by, in their order."""
    body = loop.regions[0].blocks[0]
    needed: list[ir.Operation] = []
    waiting = list(read.operands)
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, ir.Block):
            if value.owner == body and value != body.arguments[0]:
                return None
            continue
        op = value.owner.operation
        if op.block != body or op in needed:
            continue
        if not op.name.startswith(("affine.", "arith.")):
            return None
        needed.append(op)
        waiting += op.operands
    return [op for op in block_ops(loop) if op in needed]


def copy_step(loop: ir.Operation, read: ir.Operation, ring: ir.Value, slot: ir.Value, at: ir.Value) -> None:
    """Copy what the loop reads at its step ``at`` to a slot of the ring, if it has that step."""
    tile = read_at(loop, read, {loop.regions[0].blocks[0].arguments[0]: at})
    create("mlopt.async_copy", [tile, ring, slot, at, loop.operands[1]])


def read_alike(read: ir.Operation, other: ir.Operation) -> bool:
    """Whether two loops read the same at the same position; one may know more of where its buffer ends."""
    return _is_alike(read.results[0], other.results[0], read.block, other.block)


def _is_alike(value: ir.Value, other: ir.Value, body: ir.Block, others: ir.Block) -> bool:
    """Whether what one loop makes in its body is what another one makes in its own."""
    if value == other or (value == body.arguments[0] and other == others.arguments[0]):
        return True
    one, known = defining_op(value), defining_op(other)
    if one is None or known is None or one.name != known.name or (one.block, known.block) != (body, others):
        return False
    if _attributes(one) != _attributes(known):
        return False
    pairs = zip(one.operands, known.operands, strict=True)
    return all(_is_alike(*pair, body, others) for pair in pairs)


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes if name != "in_bounds"}


def read_at(loop: ir.Operation, read: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """What the loop reads, at the insertion point, by ``known`` values instead of the loop's."""
    for op in (*(position_ops(loop, read) or ()), read):
        if op.results[0] not in known:
            clone(op, known)
    return known[read.results[0]]


def create(name: str, operands: Sequence[ir.Value] = (), **numbers: int) -> None:
    """An op of the mlopt dialect without results; attributes are numbers."""
    kind = ir.IntegerType.get_signless(64)
    attributes = {key: ir.IntegerAttr.get(kind, number) for key, number in numbers.items()}
    ir.Operation.create(name, [], list(operands), attributes)


def slot_of(
    at: ir.Value, first: ir.Value, step: int, ahead: int, stages: int, before: ir.Value | None = None
) -> ir.Value:
    """The slot of the step that is ``ahead`` of the one at ``at``, which so many steps came ``before``.

    Those before are of other tasks of the block, none if they are not given.
    """
    return _turn_of(at, first, (step, 1), ahead, stages, before)


def round_of(
    at: ir.Value, first: ir.Value, step: int, stages: int, more: int = 0, before: ir.Value | None = None
) -> ir.Value:
    """Whether the step at ``at`` comes after an even (0) or an odd (1) number of rounds through all slots.

    Counted with so many ``more``, and with the steps ``before``, as `slot_of` has them.
    """
    return _turn_of(at, first, (step, stages), more, 2, before)


def _turn_of(
    at: ir.Value, first: ir.Value, each: tuple[int, int], ahead: int, count: int, before: ir.Value | None
) -> ir.Value:
    """Which of ``count`` that take turns it is at ``at``, ``ahead`` of it.

    ``each``: how many positions a step is, and how many steps a turn.
    """
    number, (step, steps) = integer_of(first), each
    operands = [at, *([first] if number is None else []), *([] if before is None else [before])]
    begin = ir.AffineDimExpr.get(1) if number is None else ir.AffineConstantExpr.get(number)
    passed = ir.AffineDimExpr.get(0) - begin
    if before is None:
        turn = ir.AffineExpr.get_floor_div(passed, step * steps)
    else:
        done = ir.AffineExpr.get_floor_div(passed, step) + ir.AffineDimExpr.get(len(operands) - 1)
        turn = ir.AffineExpr.get_floor_div(done, steps)
    where = ir.AffineMap.get(len(operands), 0, [ir.AffineExpr.get_mod(turn + ahead, count)])
    return affine.AffineApplyOp(where, operands).result


def at_later(at: ir.Value, more: int) -> ir.Value:
    """The position ``more`` behind another one."""
    number = integer_of(at)
    if number is not None:
        return index_constant(number + more)
    return affine.AffineApplyOp(ir.AffineMap.get(1, 0, [ir.AffineDimExpr.get(0) + more]), [at]).result
