"""What is before and behind a reduction: who goes through what was reduced once more, what waits for what."""

from __future__ import annotations

import math

from mlir import ir

from ..operations import defining_op
from ..structured import ASSUMED, inputs_of, kinds_of, loop_extents
from .reshape import RESHAPES


def steps_of(op: ir.Operation, kind: str) -> int:
    """How many steps the loops of a kind have."""
    extents = zip(loop_extents(op), kinds_of(op), strict=True)
    return math.prod(ASSUMED if extent is None else extent for extent, each in extents if each == kind)


def is_read_back(op: ir.Operation) -> bool:
    """Whether something has to wait for the result to go through what was reduced once more."""
    results = steps_of(op, "parallel")
    return any(
        reader.name == "linalg.generic" and steps_of(reader, "parallel") > results
        for reader in _readers_after(op)
    )


def is_gathered(op: ir.Operation) -> bool:
    """Whether single elements of what becomes of the rows are read: a row's own task makes only those."""
    return any(reader.name == "tensor.extract" and reader.operands[1:] for reader in _readers_after(op))


def _readers_after(op: ir.Operation) -> list[ir.Operation]:
    """What reads the result, and what comes of it."""
    pending, found = [op.results[0]], dict[ir.Operation, None]()
    while pending:
        for use in pending.pop().uses:
            reader = use.owner.operation
            if reader not in found:
                found[reader] = None
                if reader.name in ("linalg.generic", *RESHAPES):
                    pending += reader.results
    return list(found)


def waits_for_rows(op: ir.Operation) -> bool:
    """Whether what is reduced was made with the result of another reduction."""
    pending = inputs_of(op)
    seen: set[ir.Operation] = set()
    while pending:
        maker = defining_op(pending.pop(), "linalg.generic", *RESHAPES)
        if maker is None or maker in seen:
            continue
        seen.add(maker)
        if reduces(maker):
            return True
        pending += maker.operands
    return False


def is_one_of_several(op: ir.Operation) -> bool:
    """Whether a reduction of what ``op`` reduces, perhaps ``op``, has others before or behind it.

    Short parts, and rows, are read from a cache the second time, by a task that has them for both.
    """
    readers = (use.owner.operation for value in inputs_of(op) for use in value.uses)
    alike = [op, *(each for each in readers if reduces(each))]
    return any(waits_for_rows(each) or any(map(reduces, _readers_after(each))) for each in alike)


def reduces(op: ir.Operation) -> bool:
    """Whether ``op`` is a generic with a reduced loop."""
    return op.name == "linalg.generic" and "reduction" in kinds_of(op)
