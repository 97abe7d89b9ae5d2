"""The bound of random graphs: slopes of a kink are terms, so is a parabola at its bottom; a jump is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .fuzz.bound import SHARE, _terms
from .fuzz.graphs import Array, Graph, Node


def terms_of(*nodes: Node) -> Array:
    graph = Graph(0, "bf16", nodes=list(nodes), results=[len(nodes) - 1])
    return _terms(graph, 0, graph.evaluate(0, np.float64, lambda value: value))[0]


def given(*values: float) -> Node:
    return Node((len(values),), given=(np.array(values),))


def computed(function: Callable[..., Array], *operands: int) -> Node:
    return Node((), function=function, operands=operands)


def test_a_maximum_of_what_cancels() -> None:
    """A number less itself and the greatest of such: the terms are the larger one's, whoever is tiny."""
    found = terms_of(
        given(-0.0074, -0.8733),
        computed(lambda a: a.copy(), 0),
        computed(lambda a, b: a - b, 0, 1),
        computed(lambda a: a.max(), 2),
    )
    assert 0.2 < found < 2


def test_the_square_of_what_cancels() -> None:
    """A number less itself, squared: rounded by a share each, that is the square of the share."""
    found = terms_of(
        given(3.0),
        computed(lambda a: a.copy(), 0),
        computed(lambda a, b: a - b, 0, 1),
        computed(lambda a: a * a, 2),
    )
    assert SHARE["bf16"] < found < 20 * SHARE["bf16"]


def test_a_jump() -> None:
    found = terms_of(given(1.0), computed(lambda a: np.where(a > 1.0, 100.0, 0.0), 0))
    assert found == 0


def test_a_slope() -> None:
    found = terms_of(given(3.0), computed(lambda a: a * a, 0))
    assert 9 <= found < 30
