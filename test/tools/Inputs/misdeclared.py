"""Passes that are declared wrongly, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass


@dataclass(frozen=True)
class Required(Pass):
    """An option without a default."""

    name: ClassVar[str] = "test-required"
    size: int

    def run(self, op: ir.Operation) -> None:
        pass


@dataclass(frozen=True)
class Union(Pass):
    """An option of a type that text cannot be turned into."""

    name: ClassVar[str] = "test-union"
    size: int | None = None

    def run(self, op: ir.Operation) -> None:
        pass


@dataclass(frozen=True)
class Taken(Pass):
    """A name that MLIR has given to a pass."""

    name: ClassVar[str] = "cse"

    def run(self, op: ir.Operation) -> None:
        pass
