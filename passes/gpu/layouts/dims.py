"""Which dims of a kernel's tiles run along with each other: classes, each of which gets one layout.

The rows of what is read, of its exponential and of their sum are one class. A kernel's layout spreads its
classes over the threads, and a tile's layout is what that says about the tile's own classes; so broadcasts,
transposes and reductions move nothing.

Two dims of one tile are never one class. Where an op asks for that (``v[i] - v[j]`` of one ``v``), its
operand is a *cut*: it needs a copy in another layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from .tiles import is_tile, is_uniform, links, sizes_of

Node = tuple[ir.Value, int]


@dataclass(frozen=True)
class Cut:
    """An operand that cannot have its op's layout."""

    op: ir.Operation
    operand: int


class Dims:
    """The classes of the dims of all tiles among ``ops``; numbered, with their extents."""

    def __init__(self, ops: Sequence[ir.Operation]) -> None:
        self._parent: dict[Node, Node] = {}
        self._apart: dict[Node, set[Node]] = {}
        self._numbers: dict[Node, int] = {}
        self.extents: list[int] = []
        self.tiles: list[ir.Value] = []
        self.cut: Cut | None = None
        for op in ops:
            self._declare(op)
        for op in ops:
            self.cut = self.cut or self._join_op(op)
        self._classes = {tile: self._classes_of(tile) for tile in self.tiles}

    def of(self, tile: ir.Value) -> tuple[int | None, ...]:
        """The class of each dim of a tile; None for dims of one element."""
        return self._classes[tile]

    def __contains__(self, tile: ir.Value) -> bool:
        return tile in self._classes

    def sets(self) -> list[frozenset[int]]:
        """The classes that occur together, without sets that others contain."""
        every = {frozenset(each for each in self.of(tile) if each is not None) for tile in self.tiles}
        return sorted(
            (one for one in every if one and not any(one < other for other in every)),
            key=sorted,
        )

    def _classes_of(self, tile: ir.Value) -> tuple[int | None, ...]:
        sizes = enumerate(sizes_of(tile))
        return tuple(self._number((tile, dim)) if size != 1 else None for dim, size in sizes)

    def _number(self, node: Node) -> int:
        root = self._find(node)
        if root not in self._numbers:
            self._numbers[root] = len(self.extents)
            self.extents.append(sizes_of(root[0])[root[1]])
        return self._numbers[root]

    def _find(self, node: Node) -> Node:
        while node in self._parent:
            node = self._parent[node]
        return node

    def _declare(self, op: ir.Operation) -> None:
        arguments = [argument for region in op.regions for argument in region.blocks[0].arguments]
        for value in (*op.results, *arguments):
            if not is_tile(value) or is_uniform(value):
                continue
            self.tiles.append(value)
            nodes = [(value, dim) for dim, size in enumerate(sizes_of(value)) if size != 1]
            for node in nodes:
                self._apart[node] = {other for other in nodes if other != node}

    def _join_op(self, op: ir.Operation) -> Cut | None:
        if op.name == "scf.for":  # what a loop carries is one value
            for argument, result in zip(list(op.regions[0].blocks[0].arguments)[1:], op.results, strict=True):
                if is_tile(result):
                    for dim, size in enumerate(sizes_of(result)):
                        if size != 1:
                            self._join((argument, dim), (result, dim))
        for number, found in links(op):
            value = op.operands[number]
            if is_uniform(value):
                continue
            pairs = [((value, dim), (other, at)) for dim, other, at in found if sizes_of(value)[dim] != 1]
            for one, other in pairs:
                if sizes_of(other[0])[other[1]] == 1 or self._join(one, other):
                    continue
                return Cut(op, number)
        return None

    def _join(self, one: Node, other: Node) -> bool:
        """Make two classes one, unless a tile has both."""
        one, other = self._find(one), self._find(other)
        if one == other:
            return True
        if other in map(self._find, self._apart[one]):
            return False
        self._parent[one] = other
        self._apart[other] |= self._apart.pop(one)
        return True
