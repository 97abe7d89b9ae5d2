"""Operations: what stands inside of one, in order; what one has and calls."""

from __future__ import annotations

from itertools import chain, repeat

from mlir import ir


def nested_ops(parent: ir.Operation | ir.OpView | ir.Block) -> list[ir.Operation]:
    """All operations inside ``parent``, each before those inside of it.

    The list outlives what is erased, but not its elements: an op that goes takes those inside of it along.
    """
    if isinstance(parent, ir.Block):
        return [each for op in parent.operations for each in _walked(op.operation)]
    return _walked(parent.operation)[1:]


def _walked(op: ir.Operation) -> list[ir.Operation]:
    """``op`` and all operations inside: MLIR walks ten times as fast as blocks are iterated here."""
    found: list[ir.Operation] = []
    add, go_on = found.append, ir.WalkResult.ADVANCE
    op.walk(lambda each: add(each) or go_on, ir.WalkOrder.PRE_ORDER)
    return found


def ops_named(parent: ir.Operation | ir.OpView | ir.Block, *names: str) -> list[ir.Operation]:
    """The operations inside ``parent`` that have one of these names, in order, as `nested_ops`."""
    found, wanted = list[ir.Operation](), frozenset(names)
    add, go_on = found.append, ir.WalkResult.ADVANCE

    # Others are let go of at once: a fifth less time than by a list of all.
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in wanted:
            add(op)
        return go_on

    if isinstance(parent, ir.Block):
        for op in parent.operations:
            op.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        return found
    whole = parent.operation
    whole.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:] if whole.name in wanted else found


def plain_functions(module: ir.Operation | ir.OpView) -> list[ir.Operation]:
    """The functions of ``module`` with a body of one block."""
    functions = (op.operation for op in module.regions[0].blocks[0].operations)
    return [op for op in functions if op.name == "func.func" and len(op.regions[0].blocks) == 1]


def block_ops(parent: ir.Operation) -> list[ir.Operation]:
    """The operations in the first block of ``parent``'s one region, in order, its terminator too.

    Safe to erase from.
    """
    assert len(parent.regions) == 1, f"{parent.name} has {len(parent.regions)} regions"
    if len(parent.regions[0].blocks) != 1:
        return [op.operation for op in parent.regions[0].blocks[0].operations]
    found: list[ir.Operation] = []
    add, go_on = found.append, chain((ir.WalkResult.ADVANCE,), repeat(ir.WalkResult.SKIP)).__next__
    parent.walk(lambda each: add(each) or go_on(), ir.WalkOrder.PRE_ORDER)
    return found[1:]


def defining_op(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that makes ``value`` if it is called one of ``names`` (or whatever it is, without names)."""
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    return op if not names or op.name in names else None


def brought_before(value: ir.Value, op: ir.Operation) -> bool:
    """Whether ``value`` is there before ``op``, in whose block it is made; sizes are made earlier for it."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.is_before_in_block(op):
        return True
    maker = value.owner.operation
    if maker == op or not maker.name.startswith(("arith.", "tensor.dim")):
        return False
    if not all(brought_before(operand, op) for operand in maker.operands):
        return False
    maker.move_before(op)
    return True


def attributes_of(op: ir.Operation | ir.OpView) -> dict[str, ir.Attribute]:
    """The attributes of ``op`` by name, for another one like it."""
    return {name: op.attributes[name] for name in op.attributes}


def callee_of(call: ir.Operation | ir.OpView) -> str:
    """The name of the function that ``call`` calls."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
