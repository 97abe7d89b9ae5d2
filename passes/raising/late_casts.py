"""A view or a move of what was cast is a cast of the view: both take each element as it is.

::

    %w = generic {cast} ins(%x : i8) -> tensor<64x32xi32>
    %t = generic {transpose} ins(%w) -> tensor<32x64xi32>
  ->
    %n = generic {transpose} ins(%x) -> tensor<32x64xi8>
    %t = generic {cast} ins(%n : i8) -> tensor<32x64xi32>

Legal for casts of one tensor, element by element, and for moves as `moving.reads.is_move` knows them.
"""

from __future__ import annotations

from mlir import ir

from ..structured import (
    copy_generic,
    is_used,
    make_copy,
    make_empty,
    maps_of,
    replace_op,
)
from .bodies import name_of


def cast_after(cast: ir.Operation, view: ir.Operation) -> ir.Operation:
    """Let ``view``, a reshape or a move of what ``cast`` makes, come first; the cast that takes its place."""
    at, wide = ir.InsertionPoint(view), view.results[0]
    narrow = _view_of(cast.operands[0], view)
    init = make_empty(narrow, location=cast.location, at=at, element=wide.type.element_type)
    whole = ir.AffineMap.get_identity(wide.type.rank, view.context)
    kinds = ["parallel"] * wide.type.rank
    made = copy_generic(cast, [narrow, init], at=at, maps=[whole, whole], kinds=kinds)
    replace_op(view, list(made.results))
    if not is_used(cast.results[0]):
        cast.erase()
    return made


def _view_of(value: ir.Value, view: ir.Operation) -> ir.Value:
    """What ``view`` makes, of another tensor of that shape."""
    at, made, element = ir.InsertionPoint(view), view.results[0], value.type.element_type
    if view.name == "linalg.generic":
        init = make_empty(made, location=view.location, at=at, element=element)
        return make_copy(value, init, maps_of(view)[0], name_of(view), location=view.location, at=at).results[
            0
        ]
    copy = view.clone(at).operation
    copy.operands[0] = value
    with view.location:
        copy.results[0].set_type(ir.RankedTensorType.get(made.type.shape, element))
    return copy.results[0]
