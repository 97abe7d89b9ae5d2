"""`mlopt-join-searches`: gathers at positions that other gathers found become one op with what is between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from mlir import ir

from .base import Pass
from .moving.gathered import clone
from .operations import defining_op, nested_ops
from .structured import body_of, inits_of, inputs_of, kinds_of, make_generic, maps_of
from .tiling.analysis import loop_of


@dataclass(frozen=True)
class JoinSearches(Pass):
    """Let the element-wise ops from a gather to gathers whose positions depend on it be one op.

    ::

        %a = generic ins(%i) { tensor.extract %t[%i] }
        %b = generic ins(%a, %i) { … }
        %c = generic ins(%b) { tensor.extract %t[%b] }
      ->
        %c = generic ins(%i) { %a = tensor.extract %t[%i]; %b = …; tensor.extract %t[%b] }

    Legal where all run through the same elements, each reads the others at its own, and who else reads their
    results comes after the last one. Such gathers are single elements for each task in any case: fusion would
    join them pair by pair. A merge's binary search, 20 ops a step, becomes one op: compiling linalg of a sort
    of 8x4096 takes less than 2.7 s of a core's time, not 8.7.
    """

    name: ClassVar[str] = "mlopt-join-searches"

    def run(self, op: ir.Operation) -> None:
        """Join them in each function."""
        for function in [each.operation for each in op.regions[0].blocks[0].operations]:
            if function.name == "func.func" and function.regions[0].blocks:
                for search in _searches(function):
                    _join(search)


def _searches(function: ir.Operation) -> list[list[ir.Operation]]:
    """The ops that can be joined, each list in order."""
    order = {op.operation: number for number, op in enumerate(function.regions[0].blocks[0].operations)}
    ops = [op for op in order if _can_join(op)]
    makers = {op: _makers(op) for op in ops}
    found: set[ir.Operation] = set()  # after a gather
    for op in ops:
        if any(maker in found or _gathers(maker) for maker in makers[op]):
            found.add(op)
    positions: set[ir.Operation] = set()  # before a gather
    for op in reversed(ops):
        if op in positions or _gathers(op):
            positions.update(makers[op])
    of: dict[ir.Operation, list[ir.Operation]] = {}
    for op in ops:
        # At least two of: after a gather, one itself, before one.
        if (op in found) + _gathers(op) + (op in positions) > 1:
            before = {id(of[maker]): of[maker] for maker in makers[op] if maker in of}
            joined = [*chain.from_iterable(before.values()), op]
            of.update(dict.fromkeys(joined, joined))
    searches = {id(each): sorted(each, key=order.__getitem__) for each in of.values()}.values()
    return [each for each in searches if len(each) > 1 and _stand_together(each, order)]


def _can_join(op: ir.Operation) -> bool:
    """Whether ``op`` makes each element of one tensor from what it reads for it."""
    if op.name != "linalg.generic" or len(op.results) != 1 or "reduction" in kinds_of(op):
        return False
    body = body_of(op)
    if list(body.arguments[len(op.operands) - 1].uses) or any(
        each.operation.regions for each in body.operations
    ):
        return False
    maps = maps_of(op)
    return maps[-1] == ir.AffineMap.get_identity(maps[-1].n_dims, op.context)


def _gathers(op: ir.Operation) -> bool:
    """Whether it reads a tensor at a position that it is given."""
    extracts = [each for each in nested_ops(body_of(op)) if each.name == "tensor.extract"]
    return any(loop_of(position) is None for each in extracts for position in list(each.operands)[1:])


def _makers(op: ir.Operation) -> list[ir.Operation]:
    """The ops that make what ``op`` reads at its own element."""
    found = []
    for value, where in _reads(op):
        maker = defining_op(value, "linalg.generic")
        if maker is not None and where == maps_of(op)[-1] and _can_join(maker):
            found.append(maker)
    return found


def _reads(op: ir.Operation) -> list[tuple[ir.Value, ir.AffineMap]]:
    """The inputs of ``op``, each with where it is read."""
    return list(zip(inputs_of(op), maps_of(op), strict=False))


def _stand_together(ops: list[ir.Operation], order: dict[ir.Operation, int]) -> bool:
    """Whether they read each other at their own elements only, and all other readers come after the last."""
    last, own = order[ops[-1]], set(ops)
    if any(
        defining_op(value) in own and where != maps_of(op)[-1] for op in ops for value, where in _reads(op)
    ):
        return False
    readers = {use.owner.operation for op in ops for use in op.results[0].uses} - own
    return bool(readers) and all(order[_outermost(reader, order)] > last for reader in readers)


def _outermost(op: ir.Operation, order: dict[ir.Operation, int]) -> ir.Operation:
    while op not in order:
        op = op.parent.operation
    return op


def _join(ops: list[ir.Operation]) -> None:
    """One op in the place of the last of ``ops``, with the results that others read."""
    last, own = ops[-1], set(ops)
    kept = [op for op in ops if any(use.owner.operation not in own for use in op.results[0].uses)]
    reads = {read: None for op in ops for read in _reads(op) if defining_op(read[0]) not in own}
    maps = [*(where for _, where in reads), *(maps_of(op)[-1] for op in kept)]
    inits = [init for op in kept for init in inits_of(op)]
    new = make_generic(
        [value for value, _ in reads],
        inits,
        maps,
        kinds_of(last),
        "search",
        location=last.location,
        at=ir.InsertionPoint(last),
    )
    given = dict(zip(reads, body_of(new).arguments, strict=False))
    made: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(body_of(new)), last.location:
        for op in ops:
            known = {
                argument: made[read[0]] if read[0] in made else given[read]
                for argument, read in zip(body_of(op).arguments, _reads(op), strict=False)
            }
            *inner, end = [each.operation for each in body_of(op).operations]
            for each in inner:
                clone(each, known)
            made[op.results[0]] = known.get(end.operands[0], end.operands[0])
        ir.Operation.create("linalg.yield", operands=[made[op.results[0]] for op in kept])
    for op, value in zip(kept, new.results, strict=True):
        op.results[0].replace_all_uses_with(value)
    for op in reversed(ops):
        op.erase()
