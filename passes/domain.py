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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from .structured import STRUCTURED
from .tiling.access import Access, Index, Nest, nest_of
from .tiling.pads import read_through_pads
from .tiling.parts import lie_apart, parts_below
from .tiling.stages import Stage, find_stages, without_stages

Loop = tuple[int, int]  # the number of a nest and of a loop in it


@dataclass(frozen=True)
class Dim:
    """One loop of the kernel. ``extent`` is None if dynamic; ``whole`` means one task runs all of it."""

    id: int
    extent: int | None
    kind: str
    whole: bool


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
            made = _Builder(makers, [value]).build()
            if isinstance(made, str):
                return made
            stages[value] = (access, made)
        kept, readers = without_stages(nests, moved)
        built = _Builder(kept, values_needed_outside).build()
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


_SHORT_TOTAL = 4096  # elements that a task reduces beside its own work


class _Builder:
    def __init__(self, nests: list[Nest], results: Sequence[ir.Value]) -> None:
        self.nests = nests
        self.results = list(results)
        self.parent: dict[Loop, Loop] = {
            (number, loop): (number, loop)
            for number, nest in enumerate(nests)
            for loop in range(len(nest.kinds))
        }
        self.writers = {
            write.value: (number, write) for number, nest in enumerate(nests) for write in nest.writes
        }
        self.whole: list[Loop] = []

    def build(self) -> Domain | str:
        for value in self.results:
            if value not in self.writers:
                return "a result is not made by the group"
        for number in range(len(self.nests)):
            problem = self._tie_reads(number) or self._tie_destination(number) or self._captures(number)
            if problem:
                return problem
        self._tie_side_by_side()
        extents = self._extents()
        if isinstance(extents, str):
            return extents
        problem = self._distinct(extents)
        if problem:
            return problem
        return self._finish(extents)

    # -- which loops are one --

    def _find(self, loop: Loop) -> Loop:
        while self.parent[loop] != loop:
            self.parent[loop] = self.parent[self.parent[loop]]
            loop = self.parent[loop]
        return loop

    def _union(self, one: Loop, other: Loop) -> None:
        self.parent[self._find(one)] = self._find(other)

    def _tie_reads(self, number: int) -> str | None:
        """Tie the loops of nest ``number`` to those that make what it reads."""
        for access in self.nests[number].reads:
            if access is None or access.value not in self.writers:
                continue
            writer, write = self.writers[access.value]
            if self.nests[writer].onto is not None:
                return "a tensor that is written in parts is read in the same kernel"
            for made, read in zip(write.indices, access.indices, strict=True):
                problem = self._tie(writer, made, number, read)
                if problem:
                    return problem
        return None

    def _tie(self, writer: int, made: Index, reader: int, read: Index) -> str | None:
        if made.plain and read.plain:
            self._union((writer, made.loops[0]), (reader, read.loops[0]))
            return None
        one_element = self._one_element(writer, made) and self._one_element(reader, read)
        return None if one_element else "a tensor made in the kernel is read there at other positions"

    def _one_element(self, number: int, index: Index) -> bool:
        return index.unit or (index.plain and self.nests[number].extents[index.loops[0]] == 1)

    def _tie_destination(self, number: int) -> str | None:
        """Tie an insert_slice to what makes the tensor that it is inserted into."""
        onto = self.nests[number].onto
        if onto is None or onto not in self.writers:
            return None
        if onto in self.results or len(list(onto.uses)) > 1:
            return "a tensor that is written in parts is needed before its last part"
        writer, below = self.writers[onto]
        op = self.nests[number].op
        apart = self.nests[writer].onto is not None and all(lie_apart(op, each) for each in parts_below(op))
        for made, placed in zip(below.indices, self.nests[number].writes[0].indices, strict=True):
            if (made.plain and placed.plain) or (apart and self._run_alike(writer, made, number, placed)):
                self._union((writer, made.loops[0]), (number, placed.loops[0]))
                continue
            # The later part may cover any of the earlier ones: one task must write both, in order.
            self.whole += [(writer, loop) for loop in made.loops] + [(number, loop) for loop in placed.loops]
        return None

    def _run_alike(self, one: int, made: Index, other: int, placed: Index) -> bool:
        """Whether parts that lie apart have one known size along a dim, and can share its loop."""
        if len(made.loops) != 1 or len(placed.loops) != 1:
            return False
        extent = self.nests[one].extents[made.loops[0]]
        return extent is not None and extent == self.nests[other].extents[placed.loops[0]]

    def _tie_side_by_side(self) -> None:
        """Tie parts of the kernel between which no value goes."""
        parts = self._parts()
        while len(parts) > 1:
            first, second, *parts = parts
            pairs = self._shared_loops(first, second) or self._equal_loops(first, second)
            for one, other in pairs:
                self._union(one, other)
            parts.insert(0, first + second)

    def _parts(self) -> list[list[int]]:
        """The numbers of nests that values go between, for each part that makes a result."""
        tied = list(range(len(self.nests)))

        def part_of(number: int) -> int:
            while tied[number] != number:
                tied[number] = tied[tied[number]]
                number = tied[number]
            return number

        for number, nest in enumerate(self.nests):
            read = [access.value for access in nest.reads if access is not None]
            for value in (*read, *([nest.onto] if nest.onto is not None else [])):
                if value in self.writers:
                    tied[part_of(self.writers[value][0])] = part_of(number)
        parts: dict[int, list[int]] = {part_of(self.writers[value][0]): [] for value in self.results}
        for number in range(len(self.nests)):
            parts.get(part_of(number), []).append(number)
        return list(parts.values())

    def _shared_loops(self, first: Sequence[int], second: Sequence[int]) -> list[tuple[Loop, Loop]]:
        """The loops with which both parts run through a tensor that both read."""
        known = {
            access.value: (number, access)
            for number in first
            for access in self.nests[number].reads
            if access is not None and self._is_run_through(access)
        }
        for number in second:
            for access in self.nests[number].reads:
                if access is not None and access.value in known and self._is_run_through(access):
                    other, same = known[access.value]
                    return [
                        ((other, one.loops[0]), (number, two.loops[0]))
                        for one, two in zip(same.indices, access.indices, strict=True)
                        if one.plain and two.plain
                    ]
        return []

    def _is_run_through(self, access: Access) -> bool:
        """Whether a tensor from outside is read as it is."""
        plain = [index for index in access.indices if index.plain]
        return access.value not in self.writers and len(plain) == len(access.indices) > 0

    def _equal_loops(self, first: Sequence[int], second: Sequence[int]) -> list[tuple[Loop, Loop]]:
        """The loops of results that have one, static, shape."""
        shapes: dict[tuple[int | None, ...], list[Loop]] = {}
        for numbers in (first, second):
            for value in self.results:
                number, write = self.writers[value]
                loops = [(number, index.loops[0]) for index in write.indices if index.plain]
                extents = tuple(self.nests[each].extents[loop] for each, loop in loops)
                if number not in numbers or None in extents or len(loops) != len(write.indices):
                    continue
                if numbers is second and extents in shapes:
                    return list(zip(shapes[extents], loops, strict=True))
                if numbers is first:
                    shapes[extents] = loops
        return []

    def _captures(self, number: int) -> str | None:
        """A body may read single elements of inputs only."""
        body = self.nests[number].body
        if body is None:
            return None
        for op in body.operations:
            if op.operation.name == "tensor.extract" and op.operation.operands[0] in self.writers:
                return "a gather reads a tensor that is made in the same kernel"
        return None

    # -- what each class of loops is --

    def _extents(self) -> dict[Loop, int | None] | str:
        extents: dict[Loop, int | None] = {}
        for number, nest in enumerate(self.nests):
            for loop, extent in enumerate(nest.extents):
                name = self._find((number, loop))
                known = extents.setdefault(name, extent)
                if known is not None and extent is not None and known != extent:
                    return f"one loop would run to {known} and to {extent}"
                extents[name] = extent if known is None else known
        return extents

    def _distinct(self, extents: dict[Loop, int | None]) -> str | None:
        for number, nest in enumerate(self.nests):
            classes = [self._find((number, loop)) for loop in range(len(nest.kinds))]
            many = [name for name in classes if extents[name] != 1]
            if len(set(many)) < len(many):
                return "two loops of one op would be the same loop"
        return None

    def _finish(self, extents: dict[Loop, int | None]) -> Domain | str:
        of_results = [self._ordered(value) for value in self.results]
        parallel = set().union(*of_results)
        whole = {self._find(loop) for loop in self.whole}
        for names in of_results:
            whole |= parallel - set(names)  # else several tasks would write that result
        for number, nest in enumerate(self.nests):
            if nest.reductions:
                own = {self._find((number, loop)) for loop in nest.parallels}
                reduced = {self._find((number, loop)) for loop in nest.reductions}
                whole |= parallel & reduced if self._is_short_total(nest) else parallel - own
        whole = {name for name in whole if extents[name] != 1}
        for name in whole:
            if extents[name] is None:
                return "a task would need a whole row, whose length is not known"

        root_first = [
            *reversed(of_results),
            *(
                [self._find((number, loop)) for loop in range(len(nest.kinds))]
                for number, nest in reversed(list(enumerate(self.nests)))
            ),
        ]
        order = list(dict.fromkeys(name for names in root_first for name in names))
        dims = {
            name: Dim(position, extents[name], self._kind(name, parallel), name in whole)
            for position, name in enumerate(order)
        }
        of_loop = {loop: dims[self._find(loop)] for loop in self.parent}
        return Domain(self.nests, list(dims.values()), of_loop, self.results)

    def _is_short_total(self, nest: Nest) -> bool:
        """Whether each task can compute the (one) result of a reduction again, instead of one task all."""
        sizes = [nest.extents[loop] for loop in nest.reductions]
        known = [size for size in sizes if size is not None]
        return not nest.parallels and len(known) == len(sizes) and math.prod(known) <= _SHORT_TOTAL

    def _ordered(self, value: ir.Value) -> list[Loop]:
        """The classes of a result's loops in the order of the result's dims."""
        number, write = self.writers[value]
        names: list[Loop] = []
        for index in write.indices:
            names += [self._find((number, loop)) for loop in index.loops]
        onto = self.nests[number].onto
        return names + (self._ordered(onto) if onto in self.writers else [])

    def _kind(self, name: Loop, parallel: Iterable[Loop]) -> str:
        if name in parallel:
            return "parallel"
        reduced = any(
            self._find((number, loop)) == name
            for number, nest in enumerate(self.nests)
            for loop in nest.reductions
        )
        return "reduction" if reduced else "parallel"
