"""The grid of a scf.forall: its bounds as values, and its body in plain loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, func, scf

from ...dialects.attributes import BACKWARD
from ..operations import ops_named
from ..subsets import mixed
from .loops import Bound, as_value, empty_loop


@dataclass(frozen=True)
class Grid:
    """A scf.forall and its bounds, each a number or an index value."""

    loop: scf.ForallOp
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]
    step: tuple[Bound, ...]

    @staticmethod
    def of(loop: scf.ForallOp) -> Grid:
        """Read the bounds of ``loop``."""
        return Grid(
            loop,
            tuple(mixed(ir.DenseI64ArrayAttr(loop.staticLowerBound), loop.dynamicLowerBound)),
            tuple(mixed(ir.DenseI64ArrayAttr(loop.staticUpperBound), loop.dynamicUpperBound)),
            tuple(mixed(ir.DenseI64ArrayAttr(loop.staticStep), loop.dynamicStep)),
        )

    @property
    def static_tasks(self) -> int | None:
        """The number of tasks, or None if it depends on sizes."""
        count = 1
        for lower, upper, step in zip(self.lower, self.upper, self.step, strict=True):
            if not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
                return None
            count *= max(0, -(-(upper - lower) // step))
        return count

    @property
    def dynamic_extents(self) -> list[ir.Value]:
        """The upper bounds that are known at run time only."""
        return [bound for bound in self.upper if not isinstance(bound, int)]

    def trip_counts(self) -> list[ir.Value]:
        """The iterations of each dim, as values at the current insertion point."""
        return [_trips(*bounds) for bounds in zip(self.lower, self.upper, self.step, strict=True)]

    def task_count(self) -> ir.Value:
        """All tasks, as a value at the current insertion point."""
        if self.static_tasks is not None:
            return as_value(self.static_tasks)
        count = as_value(1)
        for trips in self.trip_counts():
            count = arith.muli(count, trips)
        return count


def lower_to_nest(grid: Grid) -> None:
    """Replace the scf.forall by a nest of scf.for; a dim of one iteration gets none."""
    place = ir.InsertionPoint(grid.loop)
    ivs: list[ir.Value] = []
    for lower, upper, step in zip(grid.lower, grid.upper, grid.step, strict=True):
        with place, grid.loop.location:
            bounds = [as_value(bound) for bound in (lower, upper, step)]
            if _is_single(lower, upper, step):
                ivs.append(bounds[0])
                continue
            loop = empty_loop(*bounds)
        ivs.append(loop.induction_variable)
        place = ir.InsertionPoint.at_block_terminator(loop.body)
    move_body(grid, ivs, place)
    grid.loop.operation.erase()


def task_loop(grid: Grid, low: ir.Value, high: ir.Value, trips: Sequence[ir.Value]) -> None:
    """Loops over the task numbers [low, high) with the body, at the current insertion point.

    The last dim of the grid runs fastest, in a loop of its own: the places in the others take divisions,
    which are as dear as a small task, and a loop of small tasks can have lanes. ``grid`` and ``trips`` hold
    values that are visible here.
    """
    run = BACKWARD.get(grid.loop)
    bounds = zip(grid.lower, grid.upper, grid.step, strict=True)
    wide = [dim for dim, each in enumerate(bounds) if not _is_single(*each)]
    if run is not None:
        loop = _backward(low, high, run)
        numbers = _numbers(loop, loop.induction_variable, trips, wide)
    elif len(wide) < 2:
        loop = empty_loop(low, high, 1)
        numbers = dict.fromkeys(wide, loop.induction_variable)
    else:
        rows, loop = _by_rows(low, high, trips[wide[-1]])
        numbers = _numbers(rows, rows.induction_variable, trips, wide[:-1])
        numbers[wide[-1]] = loop.induction_variable
    place = ir.InsertionPoint.at_block_terminator(loop.body)
    with place, grid.loop.location:
        ivs = [_position(grid, dim, numbers.get(dim)) for dim in range(len(trips))]
    move_body(grid, ivs, place)


def _by_rows(low: ir.Value, high: ir.Value, row: ir.Value) -> tuple[scf.ForOp, scf.ForOp]:
    """Loops over the rows of ``row`` numbers in [low, high), and over the places of each that lie there."""
    size = arith.maxui(row, as_value(1))  # a row of none has no tasks, but the division is made
    rows = empty_loop(arith.divui(low, size), arith.ceildivui(high, size), 1)
    with ir.InsertionPoint.at_block_terminator(rows.body):
        start = arith.muli(rows.induction_variable, row)
        first = arith.maxsi(arith.subi(low, start), as_value(0))
        loop = empty_loop(first, arith.minsi(arith.subi(high, start), row), 1)
    return rows, loop


def _numbers(
    loop: scf.ForOp, task: ir.Value, trips: Sequence[ir.Value], dims: Sequence[int]
) -> dict[int, ir.Value]:
    """Which iteration of each of ``dims`` a ``task`` is, at the start of a loop over tasks."""
    numbers: dict[int, ir.Value] = {}
    with ir.InsertionPoint.at_block_begin(loop.body):
        for dim in reversed(dims):
            last = dim == dims[0]
            numbers[dim] = task if last else arith.remui(task, trips[dim])
            task = task if last else arith.divui(task, trips[dim])
    return numbers


def _position(grid: Grid, dim: int, number: ir.Value | None) -> ir.Value:
    """Where an iteration of a dim is; None: the only one."""
    lower = as_value(grid.lower[dim])
    return lower if number is None else arith.addi(lower, arith.muli(number, as_value(grid.step[dim])))


def _backward(low: ir.Value, high: ir.Value, run: int) -> scf.ForOp:
    """The loop over the last ``run`` numbers of [low, high), in one that goes on to those before them."""
    size = as_value(run)
    runs = empty_loop(0, arith.ceildivui(arith.subi(high, low), size), 1)
    with ir.InsertionPoint.at_block_terminator(runs.body):
        end = arith.subi(high, arith.muli(runs.induction_variable, size))
        return empty_loop(arith.maxsi(low, arith.subi(end, size)), end, 1)


def move_body(grid: Grid, ivs: Sequence[ir.Value], place: ir.InsertionPoint) -> None:
    """Move the ops of the scf.forall to ``place``, with ``ivs`` for its induction variables."""
    for old, new in zip(grid.loop.induction_variables, ivs, strict=True):
        old.replace_all_uses_with(new)
    for op in list(grid.loop.body.operations)[:-1]:
        op.operation.move_before(place.ref_operation)


def hoist_scratch(function: func.FuncOp) -> None:
    """Move scratch buffers of fixed size to the start of the function: one each, not one an iteration."""
    for alloca in ops_named(function, "memref.alloca"):
        if not len(alloca.operands):
            alloca.move_before(function.entry_block.operations[0])


def _is_single(lower: Bound, upper: Bound, step: Bound) -> bool:
    if not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
        return False
    return lower < upper <= lower + step


def _trips(lower: Bound, upper: Bound, step: Bound) -> ir.Value:
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int):
        return as_value(max(0, -(-(upper - lower) // step)))
    span = arith.subi(as_value(upper), as_value(lower))
    return arith.ceildivsi(span, as_value(step))
