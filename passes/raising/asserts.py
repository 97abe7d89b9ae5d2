"""Bodies fail as eager does: indices are checked and made safe, checks that eager does not make go away.

::

    %v = tensor.extract %table[%i]           // %i comes from a tensor
  ->
    %ok = arith.cmpi ult, %i, %size
    cf.assert %ok, "IndexError: index out of range in self"
    %safe = arith.select %ok, %i, %zero
    %v = tensor.extract %table[%safe]

The unsigned comparison refuses negative indices too: where eager wraps them, the importer has added the
size already.
An assert's message begins with the Python exception that it becomes.
"""

from __future__ import annotations

import re

from mlir import ir
from mlir.dialects import arith, cf, tensor

from ..constants import index_constant
from ..operations import defining_op
from ..structured import DYNAMIC, body_of, structured_ops

INDEX_ERROR = "IndexError: index out of range in self"
_EXCEPTION = re.compile(r"[A-Z]\w*(Error|Exception): ")
_NOT_IN_EAGER = "unimplemented: tensor with zero element"  # of a reciprocal: eager gives infinity
_OF_INDICES = ("index must be smaller than dim size", "index must be larger or equal to 0")


def check_as_eager(func: ir.Operation) -> None:
    """Rewrite the asserts and the gathers in all bodies of ``func``."""
    for op in structured_ops(func):
        for inner in _inside(op, "cf.assert"):
            _rewrite_assert(inner)
        for inner in _inside(op, "tensor.extract"):
            _check_indices(inner, op)


def _inside(op: ir.Operation, name: str) -> list[ir.Operation]:
    return [inner.operation for inner in body_of(op).operations if inner.operation.name == name]


def _rewrite_assert(op: ir.Operation) -> None:
    message = op.attributes["msg"].value
    if _NOT_IN_EAGER in message or message in _OF_INDICES:  # those of indices are made anew, all alike
        op.erase()
    elif not _EXCEPTION.match(message):
        op.attributes["msg"] = ir.StringAttr.get(f"RuntimeError: {message}", context=op.context)


def _check_indices(extract: ir.Operation, op: ir.Operation) -> None:
    """Check each index that comes from a tensor's elements."""
    table = extract.operands[0]
    for dim, index in enumerate(list(extract.operands)[1:]):
        if not _depends_on_data(index, body_of(op)) or _is_checked(index):
            continue
        with op.location, ir.InsertionPoint(op):
            static = table.type.shape[dim]
            size = tensor.dim(table, index_constant(dim)) if static == DYNAMIC else index_constant(static)
            zero = index_constant(0)
        with extract.location, ir.InsertionPoint(extract):
            inside = arith.cmpi(arith.CmpIPredicate.ult, index, size)
            cf.assert_(inside, INDEX_ERROR)
            extract.operands[dim + 1] = arith.select(inside, index, zero)


def _depends_on_data(value: ir.Value, body: ir.Block) -> bool:
    """Whether a value in a body depends on the elements that it is given."""
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if isinstance(value, ir.BlockArgument):
            if value.owner == body:
                return True
        elif value not in seen:
            seen.add(value)
            todo += list(value.owner.operation.operands)
    return False


def _is_checked(index: ir.Value) -> bool:
    """Whether an earlier run has made the index safe."""
    select = defining_op(index, "arith.select")
    if select is None or not isinstance(index.type, ir.IndexType):
        return False
    return any(use.owner.operation.name == "cf.assert" for use in select.operands[0].uses)
