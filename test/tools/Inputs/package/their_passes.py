"""A package of a user's own, as pip would install it."""

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass


@dataclass(frozen=True)
class TheirPass(Pass):
    """Write a note onto each function."""

    name: ClassVar[str] = "their-pass"
    op_name: ClassVar[str] = "func.func"
    note: str = ""

    def run(self, op: ir.Operation) -> None:
        op.attributes["their.note"] = ir.StringAttr.get(self.note)
