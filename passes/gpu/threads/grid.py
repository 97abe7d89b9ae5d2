"""The tasks of a kernel's scf.forall, which the blocks of a launch run."""

from __future__ import annotations

from collections.abc import Callable
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

    def static_count(self) -> int | None:
        """All tasks, if that is known."""
        total = 1
        for bound, step in zip(self.bounds, self.steps, strict=True):
            if not isinstance(bound, int):
                return None
            total *= -(-bound // step)
        return total
