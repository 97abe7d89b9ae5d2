"""A generic whose loops are all parallel: the body on tiles. Transposes, broadcasts and gathers are such."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .access import Nest
from .analysis import single_loops
from .body import Body
from .emitter import Emitter
from .registry import SINGLE


def can_tile(nest: Nest) -> str | None:
    """Any generic without reductions."""
    return "not element-wise" if nest.body is None or nest.reductions else None


def needs(nest: Nest) -> dict[int, int]:
    """Loops inside an index with a factor, and those that a gather's position depends on."""
    return dict.fromkeys(single_loops(nest), SINGLE)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The body on tiles."""
    loops = range(len(nest.kinds))
    body = Body(emitter, nest, loops)
    body.asserts()
    return [
        emitter.result(body.value(value), loops, write)
        for value, write in zip(body.yielded(), nest.writes, strict=True)
    ]
