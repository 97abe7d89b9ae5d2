"""Element-wise work before a window, done where the window reads: in registers, again at each position.

::

    scf.for %ki … scf.for %kj …
      %x = vector.transfer_read %in[%i + %ki - 1, %j + %kj - 1], %zero …, vector<4x64xf32>
      %r = select %inside, (relu %x), %padding

What is beside the padded value is the padding, not what would become of the elements beside its operands. A
block of a GPU does so: it would load each of these elements again in any case, and has no scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlir import ir

from .access import Nest
from .place import Span
from .staged import padded

if TYPE_CHECKING:
    from .emitter import Emitter
    from .stages import Stage


def read_and_compute(emitter: Emitter, nest: Nest, stage: Stage, order: Sequence[int]) -> ir.Value:
    """What ``nest`` reads of ``stage`` where it is now, the value's dims picked and ordered by ``order``."""
    access = stage.access
    spans = []
    for index in access.indices:
        parts = [emitter.span(nest, loop) for loop in index.loops]
        exact = not index.padded and all(part.exact for part in parts)
        size = max((part.size for part in parts), default=1)
        spans.append(Span(emitter.position(nest, index), size, exact, index.stride))
    dims = stage.domain.value_dims(access.value)
    here = {dim: span for dim, span in zip(dims, spans, strict=True) if dim is not None}
    tile = emitter.of_stage(stage.domain, here).tile(access.value)
    tested = [index.padded for index in access.indices]
    tile = padded(emitter, access, spans, tested, tile)
    return emitter.arrange(tile, range(len(spans)), order, [spans[dim].size for dim in order])
