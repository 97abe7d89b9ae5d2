"""What the body of a generic computes: whether it is a contraction, and what to call it."""

from __future__ import annotations

from mlir import ir

from ...dialects.attributes import OP
from ..constants import is_zero, scalar_constant
from ..operations import defining_op
from ..structured import (
    CASTS,
    WIDENING,
    body_of,
    inputs_of,
    kinds_of,
    label_of,
    maps_of,
    stored_bits,
    structured_ops,
)

_REDUCTIONS = {
    "arith.addf": "sum",
    "arith.addi": "sum",
    "arith.mulf": "prod",
    "arith.muli": "prod",
    "arith.maximumf": "amax",
    "arith.maxnumf": "amax",
    "arith.maxsi": "amax",
    "arith.maxui": "amax",
    "arith.minimumf": "amin",
    "arith.minnumf": "amin",
    "arith.minsi": "amin",
    "arith.minui": "amin",
    "arith.ori": "any",
    "arith.andi": "all",
}
_WORDS = {
    "addf": "add",
    "addi": "add",
    "subf": "sub",
    "subi": "sub",
    "mulf": "mul",
    "muli": "mul",
    "divf": "div",
    "divsi": "div",
    "divui": "div",
    "floordivsi": "div",
    "ceildivsi": "div",
    "ceildivui": "div",
    "negf": "neg",
    "cmpf": "compare",
    "cmpi": "compare",
    "select": "where",
    "maximumf": "maximum",
    "minimumf": "minimum",
    "remsi": "rem",
    "remui": "rem",
    "remf": "rem",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
    "absf": "abs",
    "absi": "abs",
    "fpowi": "pow",
    "powf": "pow",
}


def name_generics(func: ir.Operation) -> None:
    """Give each generic of ``func`` that has no name yet one."""
    for op in structured_ops(func):
        if label_of(op) is None:
            OP.set(op, name_of(op))


def is_contraction(op: ir.Operation) -> bool:
    """Whether ``op`` sums products of its two inputs: yield(acc + widen(a) * widen(b)).

    A number times a tensor is no product of two, whose loops each factor must have some of.
    """
    if op.name != "linalg.generic" or len(op.results) != 1 or len(op.operands) != 3:
        return False
    if "reduction" not in kinds_of(op) or not all(where.results for where in maps_of(op)[:2]):
        return False
    body = body_of(op)
    one, other, accumulator = body.arguments
    total = defining_op(_yielded(body)[0], "arith.addf", "arith.addi")
    if total is None:
        return False
    products = [value for value in total.operands if value != accumulator]
    if len(products) != 1:
        return False
    product = defining_op(products[0], "arith.mulf", "arith.muli")
    return product is not None and {_widened(value) for value in product.operands} == {one, other}


def widening_of(op: ir.Operation) -> ir.Operation | None:
    """The cast in the body of a generic that does nothing but widen one tensor, element by element."""
    body = body_of(op)
    if len(body.arguments) != 2 or "reduction" in kinds_of(op) or maps_of(op)[0] != maps_of(op)[1]:
        return None
    cast = defining_op(_yielded(body)[0], *WIDENING)
    return cast if cast is not None and cast.operands[0] == body.arguments[0] else None


def name_of(op: ir.Operation) -> str:
    """A short word for what ``op`` computes."""
    body = body_of(op)
    work = [each.operation for each in body.operations][:-1]
    names = [each.name for each in work]
    if "reduction" in kinds_of(op):
        return _name_reduction(op, names)
    if "tensor.extract" in names:
        return "gather"
    if not work:
        return _name_move(op)
    if any(_is_max_with_zero(each) for each in work) and len(_heavy(names)) == 2:
        return "relu"
    if "math.erf" in names:
        return "gelu" if names.count("arith.mulf") >= 2 else "erf"
    if "math.tanh" in names:
        return "gelu" if names.count("arith.mulf") >= 3 else "tanh"
    if "math.exp" in names and "arith.negf" in names and "arith.divf" in names:
        return "silu" if names.count("arith.mulf") else "sigmoid"
    heavy = _heavy(names)
    if "linalg.index" in names and set(heavy) <= {"arith.addi", "arith.muli"}:
        return "arange"
    if not heavy:
        return "cast"
    return _word(heavy[-1]) if len(heavy) < 3 or heavy[-1].startswith("math.") else "pointwise"


def _name_reduction(op: ir.Operation, names: list[str]) -> str:
    if is_contraction(op):
        return "matmul"
    if len(op.results) == 2 and "linalg.index" in names:
        return "argmin" if any("min" in name for name in names) else "argmax"
    return next((_REDUCTIONS[name] for name in reversed(names) if name in _REDUCTIONS), "reduce")


def _name_move(op: ir.Operation) -> str:
    if not inputs_of(op):
        return "fill"
    read, written = maps_of(op)[0], maps_of(op)[-1]
    if read == written:
        return "copy"
    if len(read.results) < written.n_dims:
        return "broadcast"
    return "transpose" if read.is_permutation else "slice"


def _heavy(names: list[str]) -> list[str]:
    return [name for name in names if name not in CASTS and name not in ("linalg.index", "cf.assert")]


def _word(name: str) -> str:
    word = name.split(".")[-1]
    return _WORDS.get(word, word)


def _is_max_with_zero(op: ir.Operation) -> bool:
    """Cmpf ugt x, 0 and select, as the importer writes relu."""
    if op.name != "arith.select":
        return False
    compare = defining_op(op.operands[0], "arith.cmpf", "arith.cmpi")
    return (
        compare is not None
        and is_zero(scalar_constant(op.operands[2]))
        and compare.operands[0] == op.operands[1]
        and is_zero(scalar_constant(compare.operands[1]))
    )


def _yielded(body: ir.Block) -> list[ir.Value]:
    return list(body.operations[-1].operation.operands)


def _widened(value: ir.Value) -> ir.Value:
    cast = defining_op(value, *WIDENING)
    return value if cast is None else stored_bits(cast.operands[0])
