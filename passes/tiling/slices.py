"""tensor.extract_slice and tensor.insert_slice: the tile is read, or written, at a shifted place.

An insert_slice has no tile of its own: `mlopt-tile` writes its source's tile into the result. A step other
than 1 along a dim takes one element at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .access import Nest
from .analysis import single_loops
from .emitter import Emitter
from .registry import SINGLE


def can_tile(nest: Nest) -> str | None:
    """Slices whose steps are constants."""
    if nest.op.name not in ("tensor.extract_slice", "tensor.insert_slice"):
        return "not a slice"
    for access in (*nest.reads, *nest.writes):
        if access and any(index.stride == 0 for index in access.indices):
            return "a slice whose step is not a constant"
    return None


def needs(nest: Nest) -> dict[int, int]:
    """Dims with a step other than 1."""
    return dict.fromkeys(single_loops(nest), SINGLE)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The tile of the slice that is taken, or of the one that is put in."""
    (access,) = nest.reads
    assert access is not None
    return [emitter.operand(nest, access, range(len(nest.kinds)))]
