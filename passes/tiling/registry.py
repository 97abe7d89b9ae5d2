"""The tile rules: which one takes an op, and what it needs of the tile sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

from mlir import ir

from ..structured import SCAN, word_for
from .access import Index, Nest
from .analysis import body_problem, loops_in
from .walks import loops_problem, parts_problem, scans_problem, walk_problem

if TYPE_CHECKING:
    from ..domain import Dim, Domain
    from .emitter import Emitter

WHOLE, SINGLE = 0, 1


class Rule(Protocol):
    """How one kind of structured op becomes tile IR: the module-level functions of a rule's file."""

    def can_tile(self, nest: Nest) -> str | None:
        """None if the rule takes the op, else why not."""

    def needs(self, nest: Nest) -> dict[int, int]:
        """The loops whose tile must be WHOLE, or SINGLE: one element at a time."""

    def emit(self, emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
        """Write the op's tiles, one a result."""


# The first that takes an op wins: the cheaper form before the more general one.
_RULES = ("fill", "slices", "elementwise", "attention", "scan", "contraction", "reduction", "window")
_IN_STEPS = ("fill", "elementwise", "reduction", "scan")  # those that can run along a row of unknown length

_IN_LOOPS = ("attention", "contraction", "window")  # those that run all of their reduced loops themselves

_STEPPING = ("reduction", "window")  # those that can run through a reduced dim one element at a time


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(import_module(f".{name}", __package__) for name in _RULES)


def rule_of(nest: Nest) -> Rule:
    """The rule that takes ``nest``; there is one (`can_tile`)."""
    return nest.once(_first_rule)


def _first_rule(nest: Nest) -> Rule:
    return _rules()[nest.once(_reasons).index(None)]


def _reasons(nest: Nest) -> tuple[str | None, ...]:
    """What each rule says of ``nest``."""
    return tuple(rule.can_tile(nest) for rule in _rules())


def _problem(nest: Nest) -> str | None:
    """Why no rule takes ``nest``, whatever kernel it is in."""
    problem = body_problem(nest) or _diagonal(nest)
    if problem is not None:
        return problem
    reasons = nest.once(_reasons)
    return None if None in reasons else next(reason for reason in reversed(reasons) if reason)


def _diagonal(nest: Nest) -> str | None:
    """Tiles are read as they lie: x[i, i] is no tile."""
    for access in (*nest.reads, *nest.writes):
        loops = [loop for index in access.indices for loop in index.loops] if access else []
        if len(set(loops)) < len(loops):
            return "a diagonal is read"
    return None


def can_tile(domain: Domain) -> str | None:
    """None if each op of the kernel has a rule and they agree on the tile sizes, else the reason."""
    wanted: dict[int, tuple[int, str]] = {}  # of each dim, and whose loop it is
    reduced_by: dict[Dim, list[Nest]] = {}
    for nest in domain.nests:
        for loop in nest.reductions:
            reduced_by.setdefault(domain.loops(nest)[loop], []).append(nest)
    for stage in domain.stages.values():
        problem = can_tile(stage.domain) or _in_parts(stage.domain)
        if problem is not None:
            return problem
    for nest in domain.nests:
        problem = nest.once(_problem)
        if problem is not None:
            return problem
        for loop, size in rule_of(nest).needs(nest).items():
            dim = domain.loops(nest)[loop]
            if dim.extent == 1:
                continue
            if size == SINGLE and nest.kinds[loop] == "parallel":
                problem = _single_problem(domain, nest, loop, reduced_by)
                if problem is not None:
                    return problem
            if dim.kind == "reduction" and nest.op.name == SCAN:
                return f"{word_for(nest.op)} makes whole rows, which nothing else in the kernel writes"
            if dim.kind == "reduction":
                continue  # a rule runs its reduction loops itself
            size = WHOLE if dim.whole else size
            this = size, _loop_of(nest, loop)
            known = wanted.setdefault(dim.id, this)
            if known[0] != size:
                (_, whole), (_, single) = sorted((known, this))
                return _not_both(single, whole)
            if size == WHOLE and dim.extent is None and not dim.walked:
                return f"a task would need all of {_loop_of(nest, loop)}, whose length is not known"
    looping = [rule for name, rule in zip(_RULES, _rules(), strict=True) if name in _IN_LOOPS]
    for nest in domain.nests:
        problem = parts_problem(domain, nest) if rule_of(nest) in looping else None
        if problem is not None:
            return problem
    if not any(dim.walked for dim in domain.dims):
        return loops_problem(domain)
    stepping = [rule for name, rule in zip(_RULES, _rules(), strict=True) if name in _IN_STEPS]
    other = next((nest for nest in domain.nests if rule_of(nest) not in stepping), None)
    if other is not None:
        return f"{word_for(other.op)} would need a whole row, whose length is not known"
    return loops_problem(domain) or walk_problem(domain) or scans_problem(domain)


def stepped_dims(domain: Domain) -> set[Dim]:
    """The reduced dims along which what is reduced is made one element at a time: embedding(i).sum(1)."""
    return {
        dim
        for nest in domain.nests
        for loop, dim in enumerate(domain.loops(nest))
        if dim.kind == "reduction" and nest.kinds[loop] == "parallel" and _is_single(domain, nest, loop)
    }


def should_step(domain: Domain) -> str | None:
    """Why a task should not make one element after the other, or a single one, or None.

    To reduce them: down columns. And of a row that others are made of, too, as where the place of an element
    in a sorted row is a sum over all of the row, and the element is read there: each task would reduce it.
    """
    stepped: set[Dim] = set()
    for nest in domain.nests:
        needs, dims = rule_of(nest).needs(nest), domain.loops(nest)
        single = [dims[loop] for loop in nest.parallels if needs.get(loop) == SINGLE]
        single = [dim for dim in single if dim.extent != 1]
        if ("reduction", "parallel") in combinations([dim.kind for dim in single], 2):
            return "columns would be reduced one at a time, against their order in memory"
        stepped |= {*single}
    if any(dim.kind == "parallel" and dim.extent != 1 and dim not in stepped for dim in domain.dims):
        return None
    if any(_reduces_again(domain, nest, stepped) for nest in domain.nests):
        return "each element would be a task, which reads again what others reduce, too"
    return None


def _reduces_again(domain: Domain, nest: Nest, single: set[Dim]) -> bool:
    """Whether tasks at each element of ``single`` dims would reduce the same elements of an input."""
    dims = domain.loops(nest)
    for access in nest.reads:
        if access is None or domain.writer(access.value) is not None:
            continue
        read = {dims[loop] for index in access.indices for loop in _loops_of(index)}
        if any(dim.kind == "reduction" for dim in read) and any(dim in single - read for dim in dims):
            return True
    return False


def _loops_of(index: Index) -> set[int]:
    """The loops that a place depends on."""
    return {*index.loops, *(loops_in(index.rest) if index.rest is not None else ())}


def _is_single(domain: Domain, nest: Nest, loop: int) -> bool:
    return domain.loops(nest)[loop].extent != 1 and rule_of(nest).needs(nest).get(loop) == SINGLE


def _single_problem(
    domain: Domain, nest: Nest, loop: int, reduced_by: Mapping[Dim, Sequence[Nest]]
) -> str | None:
    """Why a task cannot have a parallel loop of ``nest`` one element at a time, or None."""
    dim = domain.loops(nest)[loop]
    reducing = reduced_by.get(dim, ())
    stepping = [rule for name, rule in zip(_RULES, _rules(), strict=True) if name in _STEPPING]
    whole = next((each for each in reducing if rule_of(each) not in stepping), None)
    if dim.whole and whole is None:
        whole = next(each for each in (*reducing, *reversed(domain.nests)) if dim in domain.loops(each))
    if whole is None:
        return None
    return _not_both(_loop_of(nest, loop), _loop_of(whole, domain.loops(whole).index(dim)))


def _not_both(single: str, whole: str) -> str:
    return f"a task would go through {single} one element at a time, and needs all of {whole}: the same dim"


def _loop_of(nest: Nest, loop: int) -> str:
    return f"loop {loop} of {word_for(nest.op)}"


def _in_parts(domain: Domain) -> str | None:
    """Why what makes a stage cannot make any part of it."""
    for nest in domain.nests:
        for loop in rule_of(nest).needs(nest):
            if domain.loops(nest)[loop].extent != 1:
                return "what a window reads is made one element at a time"
    return None
