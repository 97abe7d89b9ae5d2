"""Which loops of the ops of a kernel are one: those that values between the ops tie together.

`passes/domain.py` makes the kernel's dims of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from mlir import ir

from .raising.bodies import is_contraction
from .siblings import are_siblings
from .structured import word_for
from .tiling.access import Access, Index, Nest
from .tiling.parts import lie_apart, parts_below

Loop = tuple[int, int]  # the number of a nest and of a loop in it


class Ties:
    """The loops of ``nests``, each for itself until `tie`; ``results`` are the values needed outside."""

    def __init__(self, nests: Sequence[Nest], results: Sequence[ir.Value]) -> None:
        self.nests = list(nests)
        self.results = list(results)
        self.writers = {
            write.value: (number, write) for number, nest in enumerate(nests) for write in nest.writes
        }
        self.whole: list[Loop] = []  # what one task must run all of
        self._parent: dict[Loop, Loop] = {
            (number, loop): (number, loop)
            for number, nest in enumerate(nests)
            for loop in range(len(nest.kinds))
        }

    def classes(self) -> dict[Loop, Loop]:
        """Of each loop the one that stands for all that it is tied to."""
        return {loop: self.find(loop) for loop in self._parent}

    def tie(self) -> str | None:
        """Tie them, or say why the ops cannot be one kernel."""
        for value in self.results:
            if value not in self.writers:
                return "a result is not made by the group"
        for number in range(len(self.nests)):
            problem = self._tie_reads(number) or self._tie_destination(number) or self._captures(number)
            if problem:
                return problem
        self._tie_siblings()
        self._tie_side_by_side()
        return None

    def _word(self, number: int) -> str:
        return word_for(self.nests[number].op)

    def find(self, loop: Loop) -> Loop:
        """The one that stands for all that a loop is tied to."""
        while self._parent[loop] != loop:
            self._parent[loop] = self._parent[self._parent[loop]]
            loop = self._parent[loop]
        return loop

    def _union(self, one: Loop, other: Loop) -> None:
        self._parent[self.find(one)] = self.find(other)

    def _tie_reads(self, number: int) -> str | None:
        """Tie the loops of nest ``number`` to those that make what it reads."""
        for access in self.nests[number].reads:
            if access is None or access.value not in self.writers:
                continue
            writer, write = self.writers[access.value]
            if self.nests[writer].onto is not None:
                return f"{self._word(number)} reads in the same kernel a tensor that is written in parts"
            for made, read in zip(write.indices, access.indices, strict=True):
                problem = self._tie(writer, made, number, read)
                if problem:
                    return problem
        return None

    def _tie(self, writer: int, made: Index, reader: int, read: Index) -> str | None:
        if made.plain and read.plain:
            self._union((writer, made.loops[0]), (reader, read.loops[0]))
            return None
        if self._one_element(writer, made) and self._one_element(reader, read):
            return None
        return f"{self._word(reader)} reads at other positions what {self._word(writer)} makes in the kernel"

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

    def _tie_siblings(self) -> None:
        """Tie the loops of products that one task makes tiles of."""
        reducing = [(number, nest) for number, nest in enumerate(self.nests) if nest.reductions]
        products = [number for number, nest in reducing if is_contraction(nest.op)]
        for one, other in pairwise(products):
            if are_siblings(self.nests[one].op, self.nests[other].op):
                for loop in range(len(self.nests[one].kinds)):
                    self._union((one, loop), (other, loop))

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
        if any(value in self.writers for value in self.nests[number].gathered):
            return f"{self._word(number)} gathers from a tensor that is made in the same kernel"
        return None
