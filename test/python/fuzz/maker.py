"""What makes random graphs: it adds nodes, each of which an op has chosen.

A node is kept only if its values stay well inside what its type holds, so that a wrong number is the
compiler's fault and not an overflow's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np

from .graphs import Array, Graph, Node, Shape, Size, as_numbers_of

DTYPES = ("f32", "f16", "bf16")
SIZES = (1, 2, 3, 4, 8, 17, 24, 33)
MOST_ELEMENTS = 3000
LARGEST = 100.0
MOST_STEPS = 6

DYNAMIC = 0.2  # of the graphs are called twice, with other sizes
MOST_DYNAMIC_STEPS = 3  # each takes three times as long to compile
LONG = 0.07  # of them have a dim of LONG_SIZES: totals are split, kernels have several tasks
LONG_SIZES = (257, 389, 1009, 4099, 20011, 65536, 100003)
MOST_OF_LONG = 200_000
LARGEST_OF_LONG = {"f32": 1e6, "f16": 3e4, "bf16": 1e6, "i32": 1e6}  # sums of so many are no small numbers
SPECIAL_EVERY = 10  # of the graphs one gets what is no ordinary number
SPECIALS = (math.nan, math.inf, -math.inf, 0.0, -0.0)

Op = Callable[["Maker"], bool]


class Maker:
    """Adds random nodes to a graph; knows the float64 values of each, at each call."""

    def __init__(self, seed: int, element: str | None = None) -> None:
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        calls = 2 if self.rng.random() < DYNAMIC else 1
        self.is_long = self.rng.random() < LONG
        self.graph = Graph(seed, element or DTYPES[seed % len(DTYPES)], calls)
        self.values: list[list[Array]] = []
        self.late = 0.5  # how often the newest value is read
        self.one = self.fixed(1)
        self.dynamic = [self._dynamic() for _ in range(self.rng.choice((1, 2, 2, 3)))] if calls > 1 else []

    def make(self, ops: Sequence[Op]) -> Graph:
        self._first()
        for _ in range(self.rng.randrange(2, (MOST_DYNAMIC_STEPS if self.dynamic else MOST_STEPS) + 1)):
            while not self.rng.choice(ops)(self):
                pass
        made = [number for number, node in enumerate(self.graph.nodes) if node.function is not None]
        others = min(len(made) - 1, self.rng.choice((0, 0, 1, 2)))
        self.graph.results = made[-1:] + self.rng.sample(made[:-1], others)
        if self.is_special:
            self._add_specials()
        return self.graph

    @property
    def is_integer(self) -> bool:
        return self.graph.element == "i32"

    @property
    def is_special(self) -> bool:
        """Whether there will be NaN, infinities and zeros of both signs among the inputs."""
        return not self.is_integer and self.graph.seed % SPECIAL_EVERY == 0

    def _add_specials(self) -> None:
        """Put NaN, infinities and zeros of both signs at a few places of the inputs."""
        for node in self.graph.nodes:
            for given in node.given:
                for value in self.rng.sample(SPECIALS, 2) if given.size else ():
                    given.flat[self.rng.randrange(given.size)] = value

    def fixed(self, size: int) -> Size:
        """The same size at each call."""
        return Size((size,) * self.graph.calls)

    def size(self) -> Size:
        """A small one, or one of the dynamic ones."""
        if self.dynamic and not self.is_long and self.rng.random() < 0.25:
            return self.rng.choice(self.dynamic)
        return self.fixed(self.rng.choice(SIZES))

    def _dynamic(self) -> Size:
        sizes = self.rng.sample((*SIZES, 5, 64), self.graph.calls)
        if self.is_long:
            sizes[self.rng.randrange(len(sizes))] = self.rng.choice(LONG_SIZES)
        return Size(tuple(sizes))

    def _first(self) -> None:
        """The first input, with one of the dynamic sizes, and a long one, where there shall be such."""
        while True:
            rank = self.rng.choice((2, 3, 3) if self.dynamic else (1, 2, 2, 2, 3, 3))
            shape = [self.fixed(self.rng.choice(SIZES)) for _ in range(rank)]
            at = self.rng.randrange(len(shape))
            if self.dynamic:
                shape = [self.rng.choice((size, *self.dynamic, *self.dynamic)) for size in shape]
                shape[at] = self.dynamic[0]
            elif self.is_long:
                shape[at] = self.fixed(self.rng.choice(LONG_SIZES))
            if self._fits(shape):
                self.leaf(shape)
                return

    def _fits(self, shape: Shape) -> bool:
        most = MOST_OF_LONG if self.is_long else MOST_ELEMENTS
        counts = (math.prod(size.calls[call] for size in shape) for call in range(self.graph.calls))
        return all(0 < count <= most for count in counts)

    def leaf(self, shape: Shape) -> int:
        """A new input."""
        shapes = zip(*(size.calls for size in shape), strict=True) if shape else [()] * self.graph.calls
        scale = 4 if self.is_integer else 1
        numbers = [scale * self.numbers.standard_normal(each) for each in shapes]
        values = [as_numbers_of(self.graph.element, each) for each in map(np.asarray, numbers)]
        return self._append(Node(tuple(shape), given=tuple(values)), values)

    def pick(self, least_rank: int = 0, most_rank: int = 4) -> int | None:
        """A value, rather a late one."""
        fit = [n for n, node in enumerate(self.graph.nodes) if least_rank <= len(node.shape) <= most_rank]
        return (fit[-1] if self.rng.random() < self.late else self.rng.choice(fit)) if fit else None

    def operand(self, shape: Shape) -> int | None:
        """A value of this shape, or a new input; None if that would be too large."""
        fit = [number for number, node in enumerate(self.graph.nodes) if node.shape == tuple(shape)]
        if fit and self.rng.random() < 0.7:
            return self.rng.choice(fit)
        return self.leaf(shape) if self._fits(shape) else None

    def shape(self, number: int) -> tuple[Size, ...]:
        return self.graph.nodes[number].shape

    def add(self, operands: Sequence[int], function: Callable[..., Array], text: Callable[..., str]) -> bool:
        """Add a node, if its values are fit for each type."""
        with np.errstate(all="ignore"):
            values = [
                np.asarray(function(*(self.values[each][call] for each in operands)))
                for call in range(self.graph.calls)
            ]
        largest = LARGEST_OF_LONG[self.graph.element] if self.is_long else LARGEST
        shape = tuple(Size(sizes) for sizes in zip(*(value.shape for value in values), strict=True))
        if not self._fits(shape) or not all(np.all(np.abs(value) <= largest) for value in values):
            return False
        self._append(Node(shape, tuple(operands), function, text), values)
        return True

    def chain(self, ops: Sequence[Op]) -> bool:
        """Each reads what the one before it made, if it can; whether the first one was possible."""
        first, *others = ops
        if not first(self):
            return False
        late, self.late = self.late, 1.0
        for op in others:
            op(self)
        self.late = late
        return True

    @property
    def last(self) -> int:
        """The newest value."""
        return len(self.values) - 1

    def _append(self, node: Node, values: list[Array]) -> int:
        self.graph.nodes.append(node)
        self.values.append(values)
        return self.last
