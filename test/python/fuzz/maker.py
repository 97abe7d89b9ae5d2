"""What makes random graphs: it adds nodes, each of which an op has chosen.

A node is kept only if its values stay well inside what f16 holds, so that a wrong number is the compiler's
fault and not an overflow's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from .graphs import Array, Graph, Node, Shape, as_numbers_of

DTYPES = ("f32", "f16", "bf16")
SIZES = (1, 2, 3, 4, 8, 17, 24, 33)
MOST_ELEMENTS = 3000
LARGEST = 100.0
MOST_STEPS = 8


class Maker:
    """Adds random nodes to a graph; knows the float64 value of each."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.graph = Graph(seed, DTYPES[seed % len(DTYPES)])
        self.values: list[Array] = []

    def make(self, ops: Sequence[Callable[[Maker], bool]], steps: int | None) -> Graph:
        self.leaf([self.rng.choice(SIZES) for _ in range(self.rng.choice((1, 2, 2, 2, 3, 3)))])
        wanted = self.rng.randrange(2, MOST_STEPS + 1)
        for _ in range(wanted if steps is None else min(wanted, steps)):
            while not self.rng.choice(ops)(self):
                pass
        made = [number for number, node in enumerate(self.graph.nodes) if node.function is not None]
        self.graph.results = made[-1:]
        if steps is None:
            others = min(len(made) - 1, self.rng.choice((0, 0, 1, 2)))
            self.graph.results += self.rng.sample(made[:-1], others)
        return self.graph

    def leaf(self, shape: Shape) -> int:
        """A new input."""
        value = as_numbers_of(self.graph.element, self.numbers.standard_normal(shape))
        self.graph.inputs.append(value)
        return self._append(Node(tuple(shape)), value)

    def pick(self, least_rank: int = 0, most_rank: int = 4) -> int | None:
        """A value, rather a late one."""
        fit = [n for n, node in enumerate(self.graph.nodes) if least_rank <= len(node.shape) <= most_rank]
        return (fit[-1] if self.rng.random() < 0.5 else self.rng.choice(fit)) if fit else None

    def operand(self, shape: Shape) -> int:
        """A value of this shape, or a new input."""
        fit = [number for number, node in enumerate(self.graph.nodes) if node.shape == tuple(shape)]
        return self.rng.choice(fit) if fit and self.rng.random() < 0.7 else self.leaf(shape)

    def shape(self, number: int) -> tuple[int, ...]:
        return self.graph.nodes[number].shape

    def add(self, operands: Sequence[int], function: Callable[..., Array], text: Callable[..., str]) -> bool:
        """Add a node, if its values are fit for each type."""
        with np.errstate(all="ignore"):
            value = function(*(self.values[each] for each in operands))
        if not 0 < value.size <= MOST_ELEMENTS or not np.all(np.abs(value) <= LARGEST):
            return False
        self._append(Node(value.shape, tuple(operands), function, text), value)
        return True

    @property
    def last(self) -> int:
        """The newest value."""
        return len(self.values) - 1

    def _append(self, node: Node, value: Array) -> int:
        self.graph.nodes.append(node)
        self.values.append(value)
        return self.last
