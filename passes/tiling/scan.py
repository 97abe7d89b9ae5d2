"""mlopt.scan: the totals of a row up to each of its elements, by one vector.scan.

Before::

    %r = mlopt.scan {kind = "add"} (i | j) ins(%x at (i, j)) at (i, j)

After, in a task that has 16 rows of 1000::

    %v = vector.transfer_read %x[%i, %c0], … : …, vector<16x1000xf32>
    %r, %last = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1}
        : vector<16x1000xf32>, vector<16xf32>

A task has whole rows, or columns; mlopt-gpu-chunk-rows runs through those that are longer than a block's
registers. Totals start from 0, or 1 of products, as eager's do: never -0.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import vector

from ..structured import SCAN
from .access import Nest
from .emitter import Emitter
from .registry import WHOLE
from .vectors import reshape

_FIRST = {"add": 0, "mul": 1}


def can_tile(nest: Nest) -> str | None:
    """Every ``mlopt.scan``."""
    return None if nest.op.name == SCAN else "not a scan"


def needs(nest: Nest) -> dict[int, int]:
    """Whole rows."""
    return dict.fromkeys(nest.reductions, WHOLE)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The totals' tile."""
    (access, _), (along,), loops = nest.reads, nest.reductions, range(len(nest.kinds))
    assert access is not None
    source = emitter.operand(nest, access, loops)
    kind = ir.StringAttr(nest.op.attributes["kind"]).value
    shape = emitter.sizes(nest, loops)
    if len(shape) == 1:  # upstream wants a dim beside the one that is run through
        source, shape, along = reshape(source, [1, *shape]), [1, *shape], 1
    first = _number(source.type.element_type, _FIRST[kind])
    start = emitter.splat(first, [size for loop, size in enumerate(shape) if loop != along])
    totals = vector.ScanOp(
        ir.Attribute.parse(f"#vector.kind<{kind}>"), source, start, along, inclusive=True
    ).results[0]
    return [emitter.result(reshape(totals, emitter.sizes(nest, loops)), loops, nest.writes[0])]


def _number(element: ir.Type, value: int) -> ir.Attribute:
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, value)
    return ir.IntegerAttr.get(element, value)
