"""Random graphs of element-wise ops, broadcasts, reductions, products and views.

A graph depends on its seed alone.
"""

from __future__ import annotations

from .element_wise import binary, broadcast, unary
from .graphs import Graph
from .maker import Maker
from .products import product
from .reductions import reduction, softmax
from .views import concat, flip, merge, slices, split, transpose

OPS = (
    *(unary, unary, binary, binary, broadcast, broadcast, broadcast, reduction, reduction, softmax),
    *(product, product, transpose, merge, split, slices, concat, flip),
)


def make_graph(seed: int, steps: int | None = None) -> Graph:
    """The graph of ``seed``; with ``steps`` only its first ones, the last of which is the result."""
    return Maker(seed).make(OPS, steps)
