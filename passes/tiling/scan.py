"""mlopt.scan: the totals of a row up to each of its elements, by one vector.scan.

Before::

    %r = mlopt.scan {kind = "add"} (i | j) ins(%x at (i, j)) at (i, j)

After, in a task that has 16 rows of 1000::

    %v = vector.transfer_read %x[%i, %c0], … : …, vector<16x1000xf32>
    %r, %last = vector.scan <add>, %v, %zero {inclusive = true, reduction_dim = 1}
        : vector<16x1000xf32>, vector<16xf32>

A task has whole rows, or columns; CPUs run through them in strips, and mlopt-gpu-chunk-rows runs through
those that are longer than a block's registers. Of rows of unknown length (``walks.py``) the steps that write
them carry the totals on: the last step, which may reach beyond the end, leaves its own to nobody. Totals
start from what changes nothing, of sums 0, as eager's do: never -0. "logaddexp" is `add` of what the
elements are logarithms of; the mark mlopt.by_logarithms says so, for which vector.scan has no kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlir import ir
from mlir.dialects import vector

from ...dialects.attributes import BY_LOGARITHMS
from ..combining import LOGADDEXP, neutral_of
from ..domain import Dim
from ..structured import SCAN
from .access import Nest
from .emitter import Emitter
from .registry import WHOLE
from .vectors import reshape
from .walks import scans_along

_THROUGH = "through"  # the totals up to the end of a step


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
    if len(loops) == 1:  # upstream wants a dim beside the one that is run through
        source, along = reshape(source, [1, *source.type.shape]), 1
    start = emitter.before(nest) or _start(emitter, nest)
    by_logarithms = kind == LOGADDEXP
    combining = ir.Attribute.parse(f"#vector.kind<{'add' if by_logarithms else kind}>")
    scan = vector.ScanOp(combining, source, start, along, inclusive=True)
    if by_logarithms:
        BY_LOGARITHMS.set(scan.operation, True)
    totals, through = scan.results
    emitter.remember((_THROUGH, nest), through)
    return [emitter.result(reshape(totals, emitter.sizes(nest, loops)), loops, nest.writes[0])]


def walk(
    emitter: Emitter,
    steps: Mapping[Dim, int],
    values: Sequence[ir.Value],
    outs: Sequence[ir.Value],
    body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """`Emitter.walk` that carries ``outs``, and the totals of the scans that ``values`` are made of."""
    scans = scans_along(emitter.domain, values, steps)

    def step(carried: Sequence[ir.Value]) -> list[ir.Value]:
        for nest, before in zip(scans, carried[len(outs) :], strict=True):
            emitter.carry(nest, before)
        written = body(carried[: len(outs)])
        return [*written, *filter(None, (emitter.recall((_THROUGH, nest)) for nest in scans))]

    starts = [_start(emitter, nest) for nest in scans]
    return emitter.walk(steps, [*outs, *starts], step)[: len(outs)]


def _start(emitter: Emitter, nest: Nest) -> ir.Value:
    """The totals before a row's first element."""
    kind = ir.StringAttr(nest.op.attributes["kind"]).value
    element = nest.writes[0].value.type.element_type
    first = neutral_of(kind, element)
    if kind == "add" and isinstance(element, ir.FloatType):
        first = ir.FloatAttr.get(element, 0)
    return emitter.splat(first, emitter.sizes(nest, nest.parallels) or [1])
