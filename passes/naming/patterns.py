"""Whether a number is computed by a formula: what is found of it, and by which generics.

A formula is a name (an input), a number (a constant), a tuple of a word and what it is of, or a list of
formulas, one of which it is: ``("div", "x", [("sum of", "x"), 2.0])``. ``(LET, name, formula)`` gives a part
a name. What has one name is one number wherever it stands; no constant has one, but `EPS` is any, and `SIZE`
one that `Found` remembers. Factors and terms stand either way round; casts between floats are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import isclose

from mlir import ir

from ..constants import is_zero, scalar_constant
from ..operations import defining_op
from ..structured import fill_value
from .terms import Index, Place, Term, follow, reduction_of

Formula = str | float | tuple["Formula", ...] | list["Formula"]

EPS, SIZE, LET = "eps", "size", "let"
_OPS = {
    "add": "arith.addf",
    "sub": "arith.subf",
    "mul": "arith.mulf",
    "div": "arith.divf",
    "neg": "arith.negf",
    "exp": "math.exp",
    "log": "math.log",
    "erf": "math.erf",
    "tanh": "math.tanh",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
}
_EITHER_WAY = ("add", "mul")
_REDUCTIONS = {"sum of": ("arith.addf",), "max of": ("arith.maximumf", "arith.maxnumf")}
_NEAR = 1e-6  # constants are those of f32


@dataclass(frozen=True)
class Found:
    """What has been found of a formula among the generics of ``group``.

    ``members`` compute it, some of them named twice; ``inputs`` are what it is of, and parts that were given
    names. Each of ``reduced`` has the loops that a reduction has for itself, ``stands_for`` which dim of the
    first tensor each of these is, and ``sizes`` what was found for `SIZE`.
    """

    group: int | None
    members: tuple[ir.Operation, ...] = ()
    inputs: Mapping[str, Term] = field(default_factory=dict)
    reduced: tuple[tuple[int, ...], ...] = ()
    stands_for: Mapping[int, Index] = field(default_factory=dict)
    sizes: tuple[float, ...] = ()

    @property
    def row(self) -> frozenset[Index] | None:
        """The dims that all reductions run along; None if there is none, or they run along different ones."""
        rows = {frozenset(self.stands_for.get(loop, loop) for loop in loops) for loops in self.reduced}
        found = rows.pop() if len(rows) == 1 else frozenset()
        is_whole = found and all(len(loops) == len(found) for loops in self.reduced)
        return found if is_whole and not any(isinstance(at, int) and at < 0 for at in found) else None


def last_ops(formula: Formula) -> frozenset[str]:
    """The ops of bodies one of which makes what ``formula`` gives."""
    if isinstance(formula, list):
        return frozenset().union(*map(last_ops, formula))
    assert isinstance(formula, tuple)
    return frozenset({_OPS[str(formula[0])]})


def match(formula: Formula, term: Term, found: Found) -> Found | None:
    """``found``, and what is found of ``formula`` at ``term``; None if that is something else."""
    if isinstance(formula, list):
        return next((each for one in formula if (each := match(one, term, found)) is not None), None)
    if isinstance(formula, float) or formula in (EPS, SIZE):
        return _match_constant(formula, term, found)
    if isinstance(formula, str):
        return _match_input(formula, term, found)
    word, *operands = formula
    if word == LET:
        return _match_let(str(operands[0]), operands[1], term, found)
    if word in _REDUCTIONS:
        return _match_reduction(_REDUCTIONS[str(word)], operands[0], term, found)
    return _match_op(str(word), operands, term, found)


def _match_op(word: str, operands: list[Formula], term: Term, found: Found) -> Found | None:
    term, passed = follow(term, found.group)
    op = defining_op(term.value, _OPS[word])
    if op is None:
        return None
    start = replace(found, members=found.members + passed)
    for values in permutations(op.operands) if word in _EITHER_WAY else [op.operands]:
        taken: Found | None = start
        for formula, value in zip(operands, values, strict=True):
            taken = None if taken is None else match(formula, Term(value, term.place), taken)
        if taken is not None:
            return taken
    return None


def _match_let(name: str, formula: Formula, term: Term, found: Found) -> Found | None:
    taken = match(formula, term, found)
    return None if taken is None else _match_input(name, term, taken)


def _match_reduction(kinds: tuple[str, ...], inner: Formula, term: Term, found: Found) -> Found | None:
    term, passed = follow(term, found.group)
    first = -1 - sum(map(len, found.reduced))
    reduction = reduction_of(term, found.group, first)
    if reduction is None or reduction.kind not in kinds:
        return None
    if reduction.kind == _OPS["add"] and not is_zero(fill_value(reduction.init)):
        return None
    members, reduced = (*found.members, *passed, reduction.op), (*found.reduced, reduction.loops)
    return match(inner, reduction.inner, replace(found, members=members, reduced=reduced))


def _match_constant(formula: Formula, term: Term, found: Found) -> Found | None:
    attribute = scalar_constant(follow(term, found.group)[0].value)
    if not isinstance(attribute, ir.FloatAttr):
        return None
    if formula == SIZE:
        return replace(found, sizes=(*found.sizes, attribute.value))
    is_it = formula == EPS or isclose(attribute.value, formula, rel_tol=_NEAR)  # type: ignore[arg-type]
    return found if is_it else None


def _match_input(name: str, term: Term, found: Found) -> Found | None:
    term, _ = follow(term, found.group)
    if scalar_constant(term.value) is not None:
        return None
    if name not in found.inputs:
        return replace(found, inputs={**found.inputs, name: term})
    known = found.inputs[name]
    stands_for = dict(found.stands_for)
    if known.value != term.value or not _is_same_place(known.place, term.place, stands_for):
        return None
    return replace(found, stands_for=stands_for)


def _is_same_place(known: Place, place: Place, stands_for: dict[int, Index]) -> bool:
    """Whether two places are one; what a reduction's loops stand for, which is not known yet, is noted."""
    return len(known) == len(place) and all(
        _is_same(one, other, stands_for) for one, other in zip(known, place, strict=True)
    )


def _is_same(known: Index, index: Index, stands_for: dict[int, Index]) -> bool:
    if isinstance(known, tuple) and isinstance(index, tuple):
        return known[0] == index[0] and _is_same_place(known[1], index[1], stands_for)
    if isinstance(index, int) and index < 0:
        return bool(stands_for.setdefault(index, known) == known)
    return bool(known == index)
