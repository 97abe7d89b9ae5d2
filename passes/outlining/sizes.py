"""The sizes of results as Python expressions over those of arguments: ``a0_1`` is dim 1 of argument 0.

What cannot be followed back to the arguments is an `UnsupportedError`, unless the caller knows the sizes.
"""

from __future__ import annotations

from mlir import ir

from ..affine import fold_affine
from ..base import UnsupportedError
from ..operations import defining_op
from ..structured import DYNAMIC, OWN_OPS
from ..subsets import part_sizes

_BINARY = {
    "arith.addi": "({} + {})",
    "arith.subi": "({} - {})",
    "arith.muli": "({} * {})",
    "arith.divsi": "({} // {})",
    "arith.divui": "({} // {})",
    "arith.floordivsi": "({} // {})",
    "arith.ceildivsi": "(-(-{} // {}))",
    "arith.ceildivui": "(-(-{} // {}))",
    "arith.remsi": "({} % {})",
    "arith.remui": "({} % {})",
    "arith.maxsi": "max({}, {})",
    "arith.maxui": "max({}, {})",
    "arith.minsi": "min({}, {})",
    "arith.minui": "min({}, {})",
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")  # by the number of the predicate
_REMEDY = (
    "make the size depend on the shapes of the arguments alone, state it as mlopt.result_sizes on the"
    " function, or run this part in eager (fallback=True)"
)
_SAME = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
_SAME_SHAPE = ("tensor.cast", "bufferization.to_tensor", "bufferization.to_buffer", "memref.cast")
_AFFINE = {"affine.apply": "{}", "affine.min": "min({})", "affine.max": "max({})"}


def size_expression(value: ir.Value, dim: int) -> str:
    """The size of a tensor's dim, from the sizes of the function's arguments."""
    size = value.type.shape[dim]
    if size != DYNAMIC:
        return str(size)
    if isinstance(value, ir.BlockArgument):
        return f"a{value.arg_number}_{dim}"
    op = value.owner.operation
    if op.name in ("linalg.generic", "linalg.fill", *OWN_OPS):
        return size_expression(op.operands[len(op.operands) - len(op.results) + value.result_number], dim)
    if op.name == "tensor.insert_slice":
        return size_expression(op.operands[1], dim)
    if op.name in _SAME_SHAPE:
        return size_expression(op.operands[0], dim)
    if op.name in ("tensor.empty", "memref.alloc"):
        return index_expression(op.operands[_dynamic_before(value, dim)])
    if op.name == "tensor.expand_shape":
        return index_expression(list(op.opview.output_shape)[_dynamic_before(value, dim)])
    if op.name == "tensor.collapse_shape":
        group = op.attributes["reassociation"][dim]
        return "(" + " * ".join(size_expression(op.operands[0], each.value) for each in group) + ")"
    if op.name == "tensor.extract_slice":
        size = part_sizes(op)[dim]
        assert isinstance(size, ir.Value), "as in the type"
        return index_expression(size)
    raise _unknown(op)


def index_expression(value: ir.Value) -> str:
    """An index value as an expression over the sizes of the function's arguments."""
    if isinstance(value, ir.BlockArgument):
        message = "the size of a result depends on the value of an argument"
        raise UnsupportedError(value.owner.owner, message, _REMEDY)
    op = value.owner.operation
    if op.name == "arith.constant":
        return str(op.attributes["value"].value)
    if op.name == "tensor.dim":
        which = defining_op(op.operands[1], "arith.constant")
        if which is not None:
            return size_expression(op.operands[0], which.attributes["value"].value)
    if op.name in _SAME:
        return index_expression(op.operands[0])
    if op.name in _BINARY:
        return _BINARY[op.name].format(*(index_expression(operand) for operand in op.operands))
    if op.name in _AFFINE:
        return _affine(op)
    if op.name == "arith.select":
        condition, *choices = op.operands
        yes, no = (index_expression(choice) for choice in choices)
        return f"({yes} if {_condition(condition)} else {no})"
    raise _unknown(op)


def _condition(value: ir.Value) -> str:
    """A comparison of sizes, never negative where the predicate is an unsigned one; or one of two."""
    either = defining_op(value, "arith.ori")
    if either is not None:
        return "({} or {})".format(*map(_condition, either.operands))
    compare = defining_op(value, "arith.cmpi")
    if compare is None:
        raise _unknown(value.owner.owner if isinstance(value, ir.BlockArgument) else value.owner.operation)
    left, right = (index_expression(operand) for operand in compare.operands)
    return f"{left} {_COMPARISONS[compare.attributes['predicate'].value]} {right}"


def _unknown(op: ir.Operation) -> UnsupportedError:
    message = f"the size of a result depends on {op.name}, and not on the sizes of the arguments alone"
    return UnsupportedError(op, message, _REMEDY)


def _dynamic_before(value: ir.Value, dim: int) -> int:
    """How many dims in front of ``dim`` are dynamic: the number of its operand."""
    return sum(size == DYNAMIC for size in value.type.shape[:dim])


def _affine(op: ir.Operation) -> str:
    which = op.attributes["map"].value
    names = [index_expression(operand) for operand in op.operands]
    results = (fold_affine(each, names, which.n_dims, str, _combine) for each in which.results)
    return _AFFINE[op.name].format(", ".join(results))


def _combine(kind: str, left: str, right: str) -> str:
    return _AFFINE_OPS[kind].format(left, right)


_AFFINE_OPS = {
    "+": "({} + {})",
    "*": "({} * {})",
    "mod": "({} % {})",
    "floordiv": "({} // {})",
    "ceildiv": "(-(-{} // {}))",
}
