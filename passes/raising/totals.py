"""Large reductions with few results become partial results, and a reduction of those.

::

    generic (i, j reduced) ins(%x : 4096x1024) -> tensor<f32>
  ->
    %p = generic (p | i, j reduced) ins(expand_shape %x : 64x64x1024) -> tensor<64xf32>
    generic (p reduced) ins(%p) -> tensor<f32>

    generic (j | i reduced) ins(%x : 20000x512) -> tensor<512xf32>
  ->
    %p = generic (p, j | i reduced) ins(expand_shape %x : 32x625x512) -> tensor<32x512xf32>
    generic (j | p reduced) ins(%p) -> tensor<512xf32>

Where no divisor makes parts of a fitting width, each part gets some of what is left over (`ragged`). A total
has few parts on a CPU, whatever its shape: each task of its reader adds them up, so that x / x.sum() is two
kernels. Of rows of unknown number, which are read again, they take blocks in turns (`turns`). A row of
64 elements or more is a part on a GPU, for its many processors, unless more than 1024 parts would be added up
by each block of a reader (of 4096 the model says 107 us on an A100, in three kernels, of 512 104 in two), and
where reductions come before or behind, as in a variance, whose tasks read their part a second time.

Each reduction of few results, split or not, is a decision with its numbers (`parts_saving`): what parts save
of the time that few tasks would take, less what it costs to write them and to add them up.

Legal for operations that may be done in any order: sums and products of floats are rounded in another one, as
eager's are; in which order depends on the shapes and the kind of machine alone. What reads the partial
results adds them up. A reduction whose rows are read again afterwards (softmax) stays whole as long as it has
several of them, a quarter of the machine's processors: then a task owns each row. Columns are split however
many they are: a sum of 20,000 numbers one after the other would be far less accurate than eager's, whereas
along rows each lane has a sum of its own.
"""

from __future__ import annotations

from mlir import ir

from ...dialects.decisions import Decision
from ..costs.machine import Machine
from ..structured import (
    ASSUMED,
    body_of,
    inputs_of,
    kinds_of,
    loop_extents,
    maps_of,
    structured_ops,
)
from .around import is_gathered, is_one_of_several, is_read_back, steps_of, waits_for_rows
from .bodies import is_contraction
from .divided import can_divide, divide_loop
from .part_widths import LONGEST, SHORTEST, ragged_parts, width_of_parts
from .partial import can_reorder, reduce_twice
from .parts_saving import PartsSaving
from .ragged import split_raggedly
from .turns import BLOCK, can_take_turns, take_turns

# Elements that one task reduces soon enough: a softmax of so many, not of twice as many, is done within what
# a processor of the CPU that stands for all has to itself (`Machine.small`).
SMALL = 1 << 14
PARTS = 64  # tasks that a large reduction of everything has, at least
MOST = 128  # parts of a total that few processors share, which the tasks of its readers add up
READ_BACK = 512  # the same on a GPU, where each block that goes through it all again adds them up
MORE_PARTS = 256  # the same for one with several results, each of whose tasks is to be
LARGE = 1 << 16  # larger than this
FEW = 4  # processors idle for each that has a row, so that reading rows once more costs less
ENOUGH_TASKS = "it has tasks enough"
ENOUGH = 2  # times as many parts are no reason for ragged ones
LANES = 64  # results that lie side by side and that one task makes


def split_totals(func: ir.Operation, machine: Machine) -> list[Decision]:
    """Split the large reductions of ``func`` that have few results; what was decided for ``machine``."""
    decisions = []
    for op in structured_ops(func):
        if "reduction" not in kinds_of(op) or not can_split(op):
            continue
        reason, saving = why_not_split(op, machine.processors), PartsSaving(op, _tasks(op), machine)
        again = not _is_total(op) and (is_read_back(op) or waits_for_rows(op))
        parts = _split(op, machine.processors) if reason is None else _wanted(op, machine.processors)
        if reason is None and not parts:
            reason = "nothing divides what it reduces into parts that are long enough"
            parts = _wanted(op, machine.processors)
        if reason != ENOUGH_TASKS and parts > 1:
            decisions.append(saving.decision(parts, reason or "", again=again))
    return decisions


def can_split(op: ir.Operation) -> bool:
    """Whether its order is free, it knows no numbers of loops, and it is no window or product of matrices."""
    if len(op.results) != 1 or not can_reorder(op):
        return False
    if any(inner.operation.name in ("linalg.index", "tensor.extract") for inner in body_of(op).operations):
        return False
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if any(not isinstance(expr, plain) for where in maps_of(op) for expr in where.results):
        return False
    return "parallel" not in kinds_of(op) or not is_contraction(op)


def why_not_split(op: ir.Operation, processors: int) -> str | None:
    """Why tasks have whole rows: they are soon done, or many enough, or read their rows again."""
    reduced, results = steps_of(op, "reduction"), steps_of(op, "parallel")
    if results == 1:
        return None if reduced > SMALL else f"one task reduces {reduced} elements soon enough"
    if are_columns(op) and reduced > LONGEST and results > 0:
        return None
    tasks = _tasks(op)
    if not 0 < tasks < PARTS:
        return ENOUGH_TASKS
    share = reduced * results // tasks
    if share <= LARGE:
        return f"{tasks} tasks reduce {share} elements each soon enough"
    if FEW * tasks <= processors and not is_gathered(op):
        return None
    if is_read_back(op) or waits_for_rows(op):
        return f"its rows are read more than once, by the {tasks} tasks that have them"
    return None


def _is_total(op: ir.Operation) -> bool:
    return steps_of(op, "parallel") == 1


def _reduced(op: ir.Operation) -> list[int]:
    return [loop for loop, kind in enumerate(kinds_of(op)) if kind == "reduction"]


def _tasks(op: ir.Operation) -> int:
    """How many tasks the reduction has as it is: one for each result, or for results side by side."""
    results = steps_of(op, "parallel")
    return -(-results // LANES) if are_columns(op) else results


def are_columns(op: ir.Operation) -> bool:
    """Whether results lie side by side in memory, as what they are reduced from does."""
    last = [where.results[-1] for where in maps_of(op)[: len(inputs_of(op))] if where.results]
    return any(
        kinds_of(op)[expr.position] == "parallel" for expr in last if isinstance(expr, ir.AffineDimExpr)
    )


def _parts_of_total(op: ir.Operation, processors: int) -> tuple[int, int | None]:
    """How many parts a total has at least, and at most (None: any number).

    Each task that goes through what was summed up once more adds the parts up itself.
    """
    if is_one_of_several(op):
        return PARTS, None
    if processors < PARTS:
        return PARTS, MOST
    return (READ_BACK, 2 * READ_BACK) if is_read_back(op) else (PARTS, None)


def _parts_of(op: ir.Operation, processors: int) -> tuple[int, int | None]:
    """How many parts each result has at least, and at most."""
    if _is_total(op):
        return _parts_of_total(op, processors)
    return -(-MORE_PARTS // max(_tasks(op), 1)), None


def _wanted(op: ir.Operation, processors: int) -> int:
    """How many parts would be made, if they are not shorter than it takes."""
    return min(_parts_of(op, processors)[0], steps_of(op, "reduction") // SHORTEST)


def _split(op: ir.Operation, processors: int) -> int:
    """Make some reduced loops parallel, one perhaps in part; a second op reduces what comes of them.

    How many parts each result has; 0 if nothing was done.
    """
    wanted, most = _parts_of(op, processors)
    in_turns = most == MOST and is_read_back(op)
    extents, loops = loop_extents(op), _reduced(op)
    inner = steps_of(op, "reduction")
    parts = 1
    kept: list[int] = []
    rest = None
    for loop in loops:
        extent = extents[loop] or ASSUMED
        inner //= max(extent, 1)
        least = -(-SHORTEST // max(inner, 1))
        divides, left = can_divide(op, loop), -(-wanted // parts)
        is_crowded = divides and most is not None and parts * extent > most
        is_open = extents[loop] is None and extents.count(None) == 1 and left > ENOUGH
        if in_turns and is_open and can_take_turns(op, loop):
            op = take_turns(op, loop, left, max(BLOCK // max(inner, 1), 1))
            kept.append(loop)
            parts *= left
            break
        if least == 1 and not is_crowded:
            kept.append(loop)
            parts *= extent
            if parts >= wanted:
                break
            continue
        width = width_of_parts(extent, least, left, most and most // parts) if divides else None
        if width is not None:
            op = divide_loop(op, loop, width)
            kept.append(loop)
            parts *= extent // width
        elif left > ENOUGH and divides and extents[loop] is not None:
            count, width = ragged_parts(extent, least, left, most and most // parts)
            if count > 1:
                op, rest = split_raggedly(op, loop, extent, count, width)
                kept.append(loop)
                parts *= count
        break
    if not kept:
        return 0
    reduce_twice(op, kept, rest=rest)
    return parts
