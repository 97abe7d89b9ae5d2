"""How many neighbouring tasks of one element a thread should have, so that its accesses are wide."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from ..threads.grid import Loops
from ..turns.reads import depends_on
from .access import WIDE, access_of, bytes_of
from .linear import Linear, linear_of
from .warps import FILLING

_TRANSFERS = ("vector.transfer_read", "vector.transfer_write")


def neighbours_each(forall: ir.Operation, threads: int) -> int:
    """The neighbours along the last loop that ``threads`` threads should have each; 0 if it is no gain.

    As many as make the widest access 16 bytes, of those to known places. All threads must have as many; and
    where loads wait for others, which say where, there must be blocks for all multiprocessors. One, if there
    are no more, and it writes neighbours itself, as of a stack along the last dim.
    """
    loops = Loops.of(forall)
    total, last = loops.static_count(), loops.static_counts()[-1]
    work = [op.operation for op in list(forall.regions[0].blocks[0].operations)[:-1]]
    if not total or last is None or loops.steps[-1] != 1:
        return 0
    if any(op.regions or op.name == "memref.store" for op in work):
        return 0
    found = _places(work)
    if found is None:
        return 0
    along = forall.regions[0].blocks[0].arguments[loops.rank - 1]
    changing = depends_on(forall, loops.rank - 1) - {along}
    written = {access_of(op).buffer for op in work if op.name == "vector.transfer_write"}
    loaded = {op.results[0] for op in work if op.name == "memref.load"}
    steps, reached = [], dict[ir.Value, int]()
    for buffer, places in found.items():
        if buffer not in written and all(_is_anywhere(place, changing, loaded) for place in places):
            continue
        step = _step(places, along, changing)
        if step is None:
            return 0
        reached[buffer] = step
        steps.append((bytes_of(ir.MemRefType(buffer.type).element_type), step, places))
    widths = [size * abs(step) for size, step, _ in steps if step]
    each = WIDE // max(widths, default=WIDE)
    if len(steps) < len(found) and total < FILLING * threads * each:
        return 0
    if any(WIDE % width for width in widths):
        return 0
    has_own = any(abs(step) > 1 and buffer in written for buffer, step in reached.items())
    for count in (each, 1) if has_own else (each,):
        whole = last % count == 0 and total % (threads * count) == 0
        if whole and (count > 1 or has_own) and _are_aligned(steps, along, count):
            return count
    return 0


def _places(work: Sequence[ir.Operation]) -> dict[ir.Value, list[Linear]] | None:
    """Where in each buffer a task's accesses are; None if that is not known, or some are guarded."""
    found: dict[ir.Value, list[Linear]] = {}
    for op in work:
        if op.name in _TRANSFERS:
            access = access_of(op)
            if not all(access.in_bounds):
                return None
            buffer, indices = access.buffer, access.indices
        elif op.name == "memref.load":
            buffer, *rest = op.operands
            indices = tuple(rest)
        else:
            continue
        kind = ir.MemRefType(buffer.type)
        if not kind.has_static_shape or not isinstance(buffer.owner, ir.Block):
            return None
        place = Linear()
        for index, size in zip(indices, kind.shape, strict=True):
            place = Linear().plus(place, size).plus(linear_of(index))
        found.setdefault(buffer, []).append(place)
    return found


def _step(places: Sequence[Linear], along: ir.Value, changing: set[ir.Value]) -> int | None:
    """How far a task's places in a buffer are from its neighbour's; None unless all tasks' make one run."""
    first = places[0]
    if any(value in changing for value in first.terms) or any(one.terms != first.terms for one in places):
        return None
    step = first.terms.get(along, 0)
    constants = sorted({place.constant for place in places})
    run = list(range(constants[0], constants[0] + abs(step)))
    return step if not step or (constants == run and len(places) == len(run)) else None


def _is_anywhere(place: Linear, changing: set[ir.Value], loaded: set[ir.Value]) -> bool:
    """Whether a task reads where it has loaded to read: nothing is known of its neighbours' places."""
    return any(value in changing and _comes_from(value, loaded) for value in place.terms)


def _comes_from(value: ir.Value, loaded: set[ir.Value]) -> bool:
    """Whether a position is computed from one of ``loaded``."""
    if value in loaded or isinstance(value.owner, ir.Block):
        return value in loaded
    return any(_comes_from(operand, loaded) for operand in value.owner.operands)


def _are_aligned(steps: Sequence[tuple[int, int, Sequence[Linear]]], along: ir.Value, each: int) -> bool:
    return all(_is_aligned(places, along, size, each) for size, _, places in steps)


def _is_aligned(places: Sequence[Linear], along: ir.Value, size: int, each: int) -> bool:
    """Whether the places of ``each`` tasks in a buffer begin where an access that wide may."""
    terms = dict(places[0].terms)
    step = terms.pop(along, 0)
    width = min(WIDE // size, abs(step) * each)
    first = min(place.constant for place in places) + min(step * (each - 1), 0)
    return not step or all(number % width == 0 for number in (first, *terms.values()))
