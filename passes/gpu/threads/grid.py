"""The tasks of a kernel's scf.forall, which the blocks of a launch run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir

from ....dialects.attributes import SCHEDULE
from ...base import PassError
from .builder import Builder, Number

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Loops:
    """From 0 to ``bounds`` (numbers, or values of the kernel function) in ``steps``.

    ``group``: two loops whose tasks come in bands, and the tasks of the first one in a band.
    """

    bounds: tuple[int | ir.Value, ...]
    steps: tuple[int, ...]
    group: tuple[int, int, int] | None = None

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(self.steps)

    @classmethod
    def of(cls, forall: ir.Operation) -> Loops:
        """The loops of an scf.forall; they begin at 0 and have constant steps (mlopt-verify)."""
        lower, upper, steps = (
            list(ir.DenseI64ArrayAttr(forall.attributes[name]))
            for name in ("staticLowerBound", "staticUpperBound", "staticStep")
        )
        if any(lower) or DYNAMIC in steps:
            raise PassError(forall, "distribute: a kernel's scf.forall begins at 0 and has constant steps")
        dynamic = iter(forall.operands)
        bounds = tuple(next(dynamic) if size == DYNAMIC else size for size in upper)
        group = (SCHEDULE.get(forall) or {}).get("group")
        return cls(bounds, tuple(steps), None if group is None else (group[0], group[1], group[2]))

    def count(self, build: Builder, loop: int, number: Callable[[ir.Value], Number]) -> Number:
        """The tasks along a loop; ``number`` says what a value of the kernel function is."""
        bound, step = self.bounds[loop], self.steps[loop]
        size = bound if isinstance(bound, int) else number(bound)
        return build.div(build.add(size, step - 1), step)

    def places(self, build: Builder, number: Number, counts: Sequence[Number]) -> list[Number]:
        """Where in each loop, of ``counts`` tasks, the one of this number is; the last loop runs fastest."""
        found: dict[int, Number] = {}
        loops = list(range(self.rank))
        if self.group is not None:
            slow, fast, band = self.group
            loops = [loop for loop in loops if loop < slow]
            tasks = build.mul(counts[slow], counts[fast])
            first = build.rem(number, tasks) if slow else number
            number = build.div(number, tasks) if slow else number
            found |= dict(
                zip((slow, fast), _in_band(build, first, counts[slow], counts[fast], band), strict=True)
            )
        for loop in reversed(loops):
            place = build.rem(number, counts[loop]) if loop else number
            number = build.div(number, counts[loop]) if loop else number
            found[loop] = place
        return [0 if count == 1 else found[loop] for loop, count in enumerate(counts)]

    def static_counts(self) -> list[int | None]:
        """The tasks along each loop, where that is known."""
        return [
            -(-bound // step) if isinstance(bound, int) else None
            for bound, step in zip(self.bounds, self.steps, strict=True)
        ]

    def static_count(self) -> int | None:
        """All tasks, if that is known."""
        total = 1
        for count in self.static_counts():
            if count is None:
                return None
            total *= count
        return total


def _in_band(
    build: Builder, number: Number, rows: Number, columns: Number, band: int
) -> tuple[Number, Number]:
    """The row and the column of a task, if ``band`` rows come first, column by column, then the next ones."""
    whole = build.mul(columns, band)
    above = build.mul(build.div(number, whole), band)
    inside = build.rem(number, whole)
    is_even = isinstance(rows, int) and rows % band == 0
    high = band if is_even else build.least(build.sub(rows, above), band)
    return build.add(above, build.rem(inside, high)), build.div(inside, high)
