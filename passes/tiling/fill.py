"""linalg.fill: a constant tile."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .access import Nest
from .emitter import Emitter


def can_tile(nest: Nest) -> str | None:
    """Every linalg.fill."""
    return None if nest.op.name == "linalg.fill" else "not a fill"


def needs(_: Nest) -> dict[int, int]:
    """Nothing."""
    return {}


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """A splat."""
    loops = range(len(nest.kinds))
    return [emitter.stretch(nest.op.operands[0], emitter.sizes(nest, loops))]
