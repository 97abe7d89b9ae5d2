"""A fragment that is loaded by matrices, each of which is loaded where an element of it is first wanted.

So a product loads what it multiplies next, and needs registers for that alone. It multiplies words as they
are: their elements are taken out only for those who ask for elements.

Effect on attention of 4096 causal rows by 128 in bf16 for sm_80: 8,500 ops to write instead of 16,400.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mlir import ir

from ....dialects.layouts import Position
from .builder import Builder
from .fragment import Words
from .matrices import Matrices, elements_of, load_matrices


class MatrixLoads(Mapping[Position, ir.Value], Words):
    """The elements of all matrices, by their positions; ``pointer``: where the lane's row of one lies."""

    def __init__(
        self,
        build: Builder,
        matrices: Matrices,
        pointer: Callable[[Position], ir.Value],
        element: ir.Type,
    ) -> None:
        self._build, self._pointer = build, pointer
        self._turned, self._element = matrices.turned, element
        self._members = {start: [*map(tuple, matrices.members(start))] for start in matrices.starts}
        self._starts = {
            each: start for start, words in self._members.items() for word in words for each in word
        }
        self._words: dict[tuple[Position, ...], ir.Value] = {}
        self._elements: dict[Position, ir.Value] = {}

    def word(self, positions: Sequence[Position]) -> ir.Value | None:
        """The register of 32 bits that has the elements at ``positions``, in that order, if there is one."""
        members = tuple(positions)
        if members not in self._words and members[0] in self._starts:
            self._load(self._starts[members[0]])
        return self._words.get(members)

    def __getitem__(self, position: Position) -> ir.Value:
        if position not in self._elements:
            members = next(word for word in self._members[self._starts[position]] if position in word)
            word = self.word(members)
            assert word is not None, "it has been loaded"
            with ir.InsertionPoint.after(word.owner):  # where all have it that have the word
                found = elements_of(self._build, word, self._element)
            self._elements.update(zip(members, found, strict=True))
        return self._elements[position]

    def __iter__(self) -> Iterator[Position]:
        return iter(self._starts)

    def __len__(self) -> int:
        return len(self._starts)

    def _load(self, start: Position) -> None:
        members = self._members[start]
        if members[0] in self._words:
            return
        pointer, turned = self._pointer(start), self._turned
        words = load_matrices(self._build, pointer, len(members), turned, self._element)
        self._words.update(zip(members, words, strict=True))
