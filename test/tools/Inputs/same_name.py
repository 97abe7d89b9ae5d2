"""A pass called like one of mlopt's."""

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass


@dataclass(frozen=True)
class Fuse(Pass):
    """Would take the place of mlopt's own."""

    name: ClassVar[str] = "mlopt-fuse"

    def run(self, op: ir.Operation) -> None:
        pass
