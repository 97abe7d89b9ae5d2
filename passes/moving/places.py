"""A gather reads what is behind a view, at the place that it was before.

::

    %c = tensor.collapse_shape %d : tensor<64x2048xf32> into tensor<131072xf32>
    generic {gather} { tensor.extract %c[%t] }
  ->
    generic {gather} { tensor.extract %d[%t / 2048, %t % 2048] }

Legal where the sizes of parts are known, but for the first of a dim. Done where the gather then computes the
elements that it reads (`gathered`). The cross-entropy of one row of 128k classes is 2 kernels in place of 3,
and moves 0.53 MB in place of 1.57.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith

from ..constants import index_constant
from ..operations import defining_op
from ..raising.reshape import RESHAPES, joined_dims
from ..structured import DYNAMIC


def maker_behind(value: ir.Value) -> ir.Operation | None:
    """The generic that makes ``value``, or what it is a view of; None if its places there are not known."""
    while (view := defining_op(value, *RESHAPES)) is not None and can_read_behind(view):
        value = view.operands[0]
    return defining_op(value, "linalg.generic")


def can_read_behind(view: ir.Operation) -> bool:
    """Whether a place in ``view`` is one in its source by numbers that are known."""
    shape, groups = _parts(view)
    return all(shape[dim] not in (0, DYNAMIC) for group in groups for dim in group[1:])


def read_behind_views(extract: ir.Operation) -> ir.Operation:
    """A tensor.extract in place of ``extract`` that reads what its tensor is a view of."""
    view = defining_op(extract.operands[0], *RESHAPES)
    return extract if view is None else read_behind_views(_read_behind(extract, view))


def _parts(view: ir.Operation) -> tuple[list[int], list[list[int]]]:
    """The shape of the side of ``view`` with more dims, and which of them are one dim of the other side."""
    apart = view.results[0] if view.name == "tensor.expand_shape" else view.operands[0]
    groups = joined_dims(view)
    return apart.type.shape, groups


def _read_behind(extract: ir.Operation, view: ir.Operation) -> ir.Operation:
    (shape, groups), places = _parts(view), list(extract.operands)[1:]
    with extract.location, ir.InsertionPoint(extract):
        if view.name == "tensor.expand_shape":
            found = [
                _joined([places[dim] for dim in group], [shape[dim] for dim in group]) for group in groups
            ]
        else:
            parts = zip(places, groups, strict=True)
            found = [each for place, group in parts for each in _split(place, [shape[dim] for dim in group])]
        new = ir.Operation.create(
            "tensor.extract", results=[extract.results[0].type], operands=[view.operands[0], *found]
        )
    extract.results[0].replace_all_uses_with(new.results[0])
    extract.erase()
    return new


def _joined(places: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """The place in a dim whose parts of ``sizes`` are at ``places``."""
    total: ir.Value | None = None
    for place, size in zip(places, sizes, strict=True):
        if total is None:
            total = place
        elif size != 1:
            total = arith.addi(arith.muli(total, index_constant(size)), place)
    assert total is not None, "a dim has a part"
    return total


def _split(place: ir.Value, sizes: Sequence[int]) -> list[ir.Value]:
    """Where the parts of a dim are, of ``sizes``, at ``place`` of it; it is inside, so none is negative."""
    found: list[ir.Value] = []
    for size in reversed(sizes[1:]):
        if size == 1:
            found.append(index_constant(0))
            continue
        found.append(arith.remui(place, index_constant(size)))
        place = arith.divui(place, index_constant(size))
    return [place, *reversed(found)]
