"""`mlopt-raise-named`: generics that are one op together, such as a softmax, say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import GROUP, PART_OF
from .base import Pass
from .naming.formulas import FORMULAS_BY_LAST_OP, fits
from .naming.patterns import Found, match
from .naming.terms import Term, follow
from .operations import defining_op, plain_functions
from .structured import CASTS, body_of, has_one_use, is_pointwise, structured_ops


@dataclass(frozen=True)
class RaiseNamed(Pass):
    """Say of the generics of one kernel which op they are together.

    ::

        %m = linalg.generic {mlopt.op = "amax"} ins(%x) …
        %s = linalg.generic {mlopt.op = "sub"} ins(%x, %m) …
        %e = linalg.generic {mlopt.op = "exp"} ins(%s) …
        %t = linalg.generic {mlopt.op = "sum"} ins(%e) …
        %y = linalg.generic {mlopt.op = "div"} ins(%e, %t) …
      ->
        each of them {mlopt.op = …, mlopt.part_of = {number = 0, op = "softmax"}}

    They are found by their maps, bodies and constants (`passes/naming/formulas.py`), whoever wrote them:
    softmax, log_softmax, layer_norm and rms_norm with and without a weight and a bias, gelu by erf and by
    tanh, silu. Casts between floats go with them where nothing else reads what is cast. What a group norm
    does to its groups is a layer_norm. A generic is part of one op: what two share is that of the last one.

    mlopt-outline calls the kernel by these ops, and `mlopt explain` shows what they consist of. It is a
    remark and no op of its own, as linalg.softmax is, since all passes decide by single generics, fusion
    first: they would take the op apart before, and find it again behind. After mlopt-fuse no pass has to keep
    the remark, and what is in several kernels gets none: each is called by the ops that it has. Legal always:
    nothing else is changed, and equal kernels stay equal, as mlopt-outline takes the remark off.

    Effect: a GPT-2 block's kernels are layer_norm and matmul, add, gelu in place of sum, div, sub, mul, … and
    matmul, add, mul, add, …. 12 such blocks take 50 ms, of 1.3 s for all passes up to kernels.
    """

    name: ClassVar[str] = "mlopt-raise-named"

    def run(self, op: ir.Operation) -> None:
        number = 0
        for function in plain_functions(op):
            for name, members in _named_ops(function):
                for member in members:
                    PART_OF.set(member, (name, number))
                number += 1


def _named_ops(func: ir.Operation) -> Iterator[tuple[str, list[ir.Operation]]]:
    """The named ops of a function, the last first, each with the generics that it consists of."""
    taken: set[ir.Value] = set()  # results: an op's hash changes with its attributes
    for last in reversed(structured_ops(func)):
        named = None if last.results[0] in taken else named_op_of(last)
        if named is not None and taken.isdisjoint(named[1]):
            name, found = named
            taken |= found
            members = {value: value.owner.operation for value in (*found, *_casts_around(last, found))}
            yield name, list(members.values())


def named_op_of(last: ir.Operation) -> tuple[str, set[ir.Value]] | None:
    """The named op whose result ``last`` makes, and what the generics of its group make that compute it."""
    if not is_pointwise(last) or _work_of(last) <= set(CASTS):
        return None
    found = Found(GROUP.get(last))
    term, _ = follow(Term(last.results[0], tuple(range(last.results[0].type.rank))), found.group)
    op = defining_op(term.value)
    for name, formula in () if op is None else FORMULAS_BY_LAST_OP.get(op.name, ()):
        taken = match(formula, term, found)
        if taken is not None and fits(taken, last.results[0].type.shape):
            return name, {last.results[0], *(op.results[0] for op in taken.members)}
    return None


def _casts_around(last: ir.Operation, members: set[ir.Value]) -> Iterable[ir.Value]:
    """What casts make for the named op alone, and what the only reader of ``last`` does if that is a cast."""
    group = GROUP.get(last)
    for value in members:
        for read in value.owner.operation.operands:
            wide = defining_op(read, "linalg.generic")
            if wide is not None and GROUP.get(wide) == group and _work_of(wide) == {"arith.extf"}:
                readers = (use.owner.operation for use in read.uses)
                if all(each.results and each.results[0] in members for each in readers):
                    yield read
    if has_one_use(last.results[0]):
        reader = next(last.results[0].uses).owner.operation
        is_near = reader.name == "linalg.generic" and GROUP.get(reader) == group
        if is_near and _work_of(reader) == {"arith.truncf"}:
            yield reader.results[0]


def _work_of(op: ir.Operation) -> set[str]:
    """The names of the ops of a generic's body; none if it only moves elements."""
    return {each.operation.name for each in body_of(op).operations} - {"linalg.yield"}
