"""An analysis that prints: how many operations of each kind a function has."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass, PassError


@dataclass(frozen=True)
class CountOps(Pass):
    """Print how many operations of each kind a function has; more than ``most`` are an error."""

    name: ClassVar[str] = "count-ops"
    op_name: ClassVar[str] = "func.func"
    most: int = 1000000

    def run(self, op: ir.Operation) -> None:
        counts: Counter[str] = Counter()
        op.walk(lambda inner: counts.update([inner.name]) or ir.WalkResult.ADVANCE)
        print(
            f"@{op.attributes['sym_name'].value}:",
            ", ".join(f"{name} {n}" for name, n in counts.most_common()),
        )
        if counts.total() > self.most:
            raise PassError(op, f"more than {self.most} operations")
