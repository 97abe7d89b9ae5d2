"""linalg.fill: a constant tile."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .access import Nest
from .emitter import Emitter


def can_tile(nest: Nest) -> str | None:
    return None if nest.op.name == "linalg.fill" else "not a fill"


def needs(nest: Nest) -> dict[int, int]:
    return {}


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    loops = range(len(nest.kinds))
    return [emitter.stretch(nest.op.operands[0], emitter.sizes(nest, loops))]
