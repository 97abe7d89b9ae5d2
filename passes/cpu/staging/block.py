"""Rewriting a task: tiles are written where they are made, and read where they were used."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir
from mlir.dialects import scf

from ...operations import nested_ops
from ..strips.fragment import is_vector
from .choice import is_staged, ops_from_read, order_of, rows_factor
from .memory import Buffer, allocate


def stage_block(block: ir.Block) -> None:
    """Stage the tiles of a task."""
    for op in nested_ops(block):
        if op.name == "vector.contract" and (factor := rows_factor(op)) is not None:
            _stage_read(block, factor)
    for op in [op.operation for op in block.operations]:
        if op.name == "scf.for" and any(is_vector(value) for value in op.results):
            _carry_in_memory(block, op)
    made = (op.results[0] for op in nested_ops(block) if len(op.results) == 1)
    stage_values(block, filter(is_staged, made))


def stage_values(block: ir.Block, values: Iterable[ir.Value]) -> None:
    """Stage some tiles of a task, each before the next one is looked at."""
    free: list[tuple[Buffer, ir.Value]] = []
    for value in values:
        _stage(block, value, free)


def _stage(block: ir.Block, value: ir.Value, staged: list[tuple[Buffer, ir.Value]]) -> None:
    """Write ``value`` where it is made; its readers read the memory."""
    op = value.owner.operation
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    order = tuple(order_of(value))
    buffer = _take(value, order, staged) or allocate(block, value, order)
    with ir.InsertionPoint.after(op), op.location:
        write = buffer.write(value)
    with ir.InsertionPoint.after(write), op.location:
        again = buffer.read()
    for owner, number in uses:
        owner.operands[number] = again
    staged.append((buffer, again))


def _take(value: ir.Value, order: tuple[int, ...], staged: list[tuple[Buffer, ir.Value]]) -> Buffer | None:
    """The memory of an older tile of the same shape in the same block that nobody needs after ``value``."""
    owner = value.owner.operation
    later: set[ir.Operation] = set()
    found = False
    for op in owner.block.operations:
        if found:
            later.add(op.operation)
        found = found or op.operation == owner
    for place, (buffer, held) in enumerate(staged):
        if (buffer.tile, buffer.order) != (value.type, order) or held.owner.operation.block != owner.block:
            continue
        if not _is_needed(held, owner, later):
            del staged[place]
            return buffer
    return None


def _is_needed(held: ir.Value, owner: ir.Operation, later: set[ir.Operation]) -> bool:
    """Whether something in ``later`` comes of ``held``, but for what ``owner`` makes of it.

    What is made of a tile is emitted where it is written, which may be after other ops.
    """
    pending, seen = [held], {held}
    while pending:
        for use in pending.pop().uses:
            op = _in_block(use.owner.operation, owner.block)
            if op == owner:
                continue
            if op in later:
                return True
            pending += [result for result in op.results if result not in seen]
            seen |= set(op.results)
    return False


def _in_block(op: ir.Operation, block: ir.Block) -> ir.Operation:
    """The op of ``block`` that is ``op`` or has it inside."""
    while op.block != block:
        op = op.parent.operation
    return op


def _stage_read(block: ir.Block, value: ir.Value) -> None:
    """Turn a factor so that its lanes are contiguous; before the loop, if it is the same in each step."""
    read, *others = ops_from_read(value)
    loop = read.parent.operation
    if loop.name == "scf.for" and not any(_made_in(operand, loop) for operand in read.operands):
        for op in (read, *others):
            op.move_before(loop)
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    buffer = allocate(block, value, order_of(value))
    last = value.owner.operation
    with ir.InsertionPoint.after(last), last.location:
        write = buffer.write(value)
    for owner, number in uses:
        place = ir.InsertionPoint.after(write) if owner.block == write.block else ir.InsertionPoint(owner)
        with place, owner.location:
            owner.operands[number] = buffer.read()


def _made_in(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value comes from inside of a loop."""
    if isinstance(value.owner, ir.Block):
        return bool(value.owner.owner.operation == loop)
    parent = value.owner.operation.parent
    return bool(parent is not None and parent.operation == loop)


def _carry_in_memory(block: ir.Block, loop: ir.Operation) -> None:
    """A loop that carries tiles becomes one that keeps them in memory."""
    starts, body = list(loop.operands)[3:], loop.regions[0].blocks[0]
    carried = list(body.arguments)[1:]
    end = body.operations[len(body.operations) - 1].operation
    buffers = [allocate(block, start, range(len(start.type.shape))) for start in starts]
    with ir.InsertionPoint(loop), loop.location:
        for buffer, start in zip(buffers, starts, strict=True):
            buffer.write(start)
    with ir.InsertionPoint.at_block_begin(body), loop.location:
        for buffer, argument in zip(buffers, carried, strict=True):
            argument.replace_all_uses_with(buffer.read())
    with ir.InsertionPoint(end), loop.location:
        for buffer, value in zip(buffers, end.operands, strict=True):
            buffer.write(value)
    with ir.InsertionPoint.after(loop), loop.location:
        for buffer, result in zip(buffers, loop.results, strict=True):
            result.replace_all_uses_with(buffer.read())
    with ir.InsertionPoint(loop), loop.location:
        again = scf.ForOp(*list(loop.operands)[:3], [])
    body.arguments[0].replace_all_uses_with(again.induction_variable)
    with ir.InsertionPoint(again.body), loop.location:
        last = scf.YieldOp([]).operation
    for op in list(body.operations)[:-1]:
        op.operation.move_before(last)
    loop.erase()
