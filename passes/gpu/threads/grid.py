"""The tasks of a kernel's scf.forall, which the blocks of a launch run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir

from ...base import PassError
from .builder import Builder, Number

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Loops:
    """From 0 to ``bounds`` (numbers, or values of the kernel function) in ``steps``."""

    bounds: tuple[int | ir.Value, ...]
    steps: tuple[int, ...]

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
        return cls(tuple(next(dynamic) if size == DYNAMIC else size for size in upper), tuple(steps))

    def count(self, build: Builder, loop: int, number: Callable[[ir.Value], Number]) -> Number:
        """The tasks along a loop; ``number`` says what a value of the kernel function is."""
        bound, step = self.bounds[loop], self.steps[loop]
        size = bound if isinstance(bound, int) else number(bound)
        return build.div(build.add(size, step - 1), step)

    def places(self, build: Builder, number: Number, counts: Sequence[Number]) -> list[Number]:
        """Where in each loop, of ``counts`` tasks, the one of this number is; the last loop runs fastest."""
        found: list[Number] = []
        for loop in reversed(range(self.rank)):
            place = build.rem(number, counts[loop]) if loop else number
            number = build.div(number, counts[loop]) if loop else number
            found.append(0 if counts[loop] == 1 else place)
        return found[::-1]

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
