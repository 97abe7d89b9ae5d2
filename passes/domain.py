"""The loops of a kernel: which loops of its ops are one and the same.

An analysis for `mlopt-fuse`, `mlopt-schedule` and `mlopt-tile`. Two loops are one `Dim` if a value that is
made and read inside the kernel ties them together; tensors that come from outside tie nothing. Softmax::

    %m = max over j of %x[i, j]        loops (i0, j0)      dims: 0 = {i0, i1, i2}, from the root's i2
    %e = exp(%x[i, j] - %m[i])         loops (i1, j1)            1 = {j1, j2}, from the root's j2, whole
    %r = %e[i, j] / sum(%e)[i]         loops (i2, j2)            2 = {j0}, a reduction

Ops between which no value goes run side by side, along a tensor that both read, or results of one shape::

    %a = %x[i, j] + 1             loops (i0, j0)      dims: 0 = {i1, i0}
    %b = %x[i, j] * 2             loops (i1, j1)            1 = {j1, j0}

A task computes one tile of each result. Nothing may be computed twice that is dear, so a dim is *whole* (one
task runs all of it) where a tile of the result needs a reduction over other elements of that dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from .structured import STRUCTURED, word_for
from .ties import Loop, Ties
from .tiling.access import Access, Nest, nest_of
from .tiling.pads import read_through_pads
from .tiling.stages import Stage, find_stages, without_stages

_Classes = Mapping[Loop, Loop]  # of each loop the one that stands for all that it is tied to

_SHORT_TOTAL = 4096  # elements that a task should reduce again: half as many as a CPU's has of its own


@dataclass(frozen=True)
class Dim:
    """One loop of the kernel. ``extent`` is None if dynamic; ``whole`` means one task runs all of it."""

    id: int
    extent: int | None
    kind: str
    whole: bool

    @property
    def walked(self) -> bool:
        """Whether one task runs all of it in steps, as nobody knows how much that is."""
        return self.whole and self.extent is None


class Domain:
    """The dims of a group of ops, the root's first, and how each op's loops map to them.

    What a window reads of other ops is an input of the domain; ``stages`` has how these are made.
    """

    def __init__(
        self,
        nests: Sequence[Nest],
        dims: Sequence[Dim],
        of_loop: dict[Loop, Dim],
        results: Sequence[ir.Value],
    ) -> None:
        self.stages: Mapping[ir.Value, Stage] = {}
        self.nests = tuple(nests)
        self.ops = {nest.op for nest in nests}
        self.dims = tuple(dims)
        self.results = tuple(results)
        self._loops = {
            nest: tuple(of_loop[number, loop] for loop in range(len(nest.kinds)))
            for number, nest in enumerate(nests)
        }
        self._writers = {
            write.value: (number, write) for number, nest in enumerate(nests) for write in nest.writes
        }

    @staticmethod
    def build(
        ops: Sequence[ir.Operation],
        values_needed_outside: Sequence[ir.Value],
        nest_of: Callable[[ir.Operation], Nest] = nest_of,
    ) -> Domain | str:
        """The domain of ``ops`` (in order, the root last) as one kernel, or why they cannot be one.

        Constants, tensor.empty, tensor.dim and arithmetic on scalars among ``ops`` are passed over, and pads
        that are read here only.
        """
        nests: list[Nest] = []
        for op in ops:
            if op.operation.name in STRUCTURED:
                nests.append(nest_of(op))
            elif not _is_passed_over(op.operation):
                return f"no tile rule takes {op.operation.name}"
        if not nests:
            return "no op has loops"
        nests = read_through_pads(nests, values_needed_outside)
        moved = find_stages(nests, values_needed_outside)
        if isinstance(moved, str):
            return moved
        stages = {}
        for value, (_, access, makers) in moved.items():
            made = _dims_of(Ties(makers, [value]))
            if isinstance(made, str):
                return made
            stages[value] = (access, made)
        kept, readers = without_stages(nests, moved)
        built = _dims_of(Ties(kept, values_needed_outside))
        if isinstance(built, Domain):
            built.stages = {
                value: Stage(readers[value], access, made) for value, (access, made) in stages.items()
            }
        return built

    def loops(self, nest: Nest) -> tuple[Dim, ...]:
        """The dim of each loop of ``nest``."""
        return self._loops[nest]

    def writer(self, value: ir.Value) -> tuple[Nest, Access] | None:
        """The nest of this domain that makes ``value``, and where in its loops; None if it is an input."""
        found = self._writers.get(value)
        return None if found is None else (self.nests[found[0]], found[1])

    def value_dims(self, value: ir.Value) -> tuple[Dim | None, ...]:
        """The dim of each dim of a value that is made here; None where it is not one loop alone."""
        number, write = self._writers[value]
        loops = self._loops[self.nests[number]]
        return tuple(loops[index.loops[0]] if index.plain else None for index in write.indices)


def _is_passed_over(op: ir.Operation) -> bool:
    if op.name in ("arith.constant", "tensor.empty", "tensor.dim"):
        return True
    scalar = not any(isinstance(value.type, ir.ShapedType) for value in op.results)
    reads_argument = op.name == "tensor.extract" and isinstance(op.operands[0], ir.BlockArgument)
    return scalar and (op.name.startswith(("arith.", "math.")) or reads_argument)


def _dims_of(ties: Ties) -> Domain | str:
    """The domain of loops that are tied, or why it is none."""
    problem = ties.tie()
    if problem:
        return problem
    classes = ties.classes()
    extents = _extents(ties, classes)
    if isinstance(extents, str):
        return extents
    problem = _distinct(ties, classes, extents)
    return problem or _finish(ties, classes, extents)


def _extents(ties: Ties, classes: _Classes) -> dict[Loop, int | None] | str:
    extents: dict[Loop, int | None] = {}
    for number, nest in enumerate(ties.nests):
        for loop, extent in enumerate(nest.extents):
            name = classes[number, loop]
            known = extents.setdefault(name, extent)
            if known is not None and extent is not None and known != extent:
                return f"one loop would run to {known} and to {extent}"
            extents[name] = extent if known is None else known
    return extents


def _distinct(ties: Ties, classes: _Classes, extents: dict[Loop, int | None]) -> str | None:
    for number, nest in enumerate(ties.nests):
        names = [classes[number, loop] for loop in range(len(nest.kinds))]
        many = [name for name in names if extents[name] != 1]
        if len(set(many)) < len(many):
            return _why_one(ties, number, [name if extents[name] != 1 else None for name in names])
    return None


def _why_one(ties: Ties, number: int, classes: Sequence[Loop | None]) -> str:
    """Which loops of nest ``number`` would be one, as their classes are, and who reads along both."""
    nest = ties.nests[number]
    same = next(name for name in classes if name is not None and classes.count(name) > 1)
    loops = [loop for loop, name in enumerate(classes) if name == same][:2]
    reason = f"loops {loops[0]} and {loops[1]} of {word_for(nest.op)} would be the same loop"
    made = {write.value: write for write in nest.writes}
    for reader in ties.nests:
        for read in reader.reads:
            if read is not None and read.value in made:
                pairs = zip(read.indices, made[read.value].indices, strict=True)
                along = [it.loops for it, own in pairs if it.plain and own.plain and own.loops[0] in loops]
                if len(along) > len(set(along)):
                    return f"{reason}: {word_for(reader.op)} reads its result along the diagonal"
    for read in nest.reads:
        maker = None if read is None else ties.writers.get(read.value)
        if read is not None and maker is not None and (loops[1],) in [index.loops for index in read.indices]:
            return f"{reason}: it reads what {word_for(ties.nests[maker[0]].op)} makes along both"
    return reason


def _finish(ties: Ties, classes: _Classes, extents: dict[Loop, int | None]) -> Domain:
    of_results = [_ordered(ties, classes, value) for value in ties.results]
    parallel = set().union(*of_results)
    whole = {classes[loop] for loop in ties.whole}
    for names in of_results:
        whole |= parallel - set(names)  # else several tasks would write that result
    for number, nest in enumerate(ties.nests):
        if nest.reductions:
            own = {classes[number, loop] for loop in nest.parallels}
            summed = {classes[number, loop] for loop in nest.reductions}
            whole |= parallel & summed if _should_repeat(nest) else parallel - own
    whole = {name for name in whole if extents[name] != 1}
    root_first = [
        *reversed(of_results),
        *(
            [classes[number, loop] for loop in range(len(nest.kinds))]
            for number, nest in reversed(list(enumerate(ties.nests)))
        ),
    ]
    order = list(dict.fromkeys(name for names in root_first for name in names))
    reduced = {classes[number, loop] for number, nest in enumerate(ties.nests) for loop in nest.reductions}
    reduced -= parallel
    dims = {
        name: Dim(position, extents[name], "reduction" if name in reduced else "parallel", name in whole)
        for position, name in enumerate(order)
    }
    of_loop = {loop: dims[name] for loop, name in classes.items()}
    return Domain(ties.nests, list(dims.values()), of_loop, ties.results)


def _should_repeat(nest: Nest) -> bool:
    """Whether each task makes the (one) result of a reduction again, or else one task makes everything.

    Both are legal, and mlopt-fuse prices what it gets (`fusion/repeats.py`). Passes behind it build the same
    domain, on no machine: what is decided here cannot depend on one.
    """
    sizes = [nest.extents[loop] for loop in nest.reductions]
    known = [size for size in sizes if size is not None]
    return not nest.parallels and len(known) == len(sizes) and math.prod(known) <= _SHORT_TOTAL


def _ordered(ties: Ties, classes: _Classes, value: ir.Value) -> list[Loop]:
    """The classes of a result's loops in the order of the result's dims."""
    number, write = ties.writers[value]
    names: list[Loop] = []
    for index in write.indices:
        names += [classes[number, loop] for loop in index.loops]
    onto = ties.nests[number].onto
    return names + (_ordered(ties, classes, onto) if onto in ties.writers else [])
