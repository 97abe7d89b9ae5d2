"""Random graphs of element-wise ops, broadcasts, reductions, products and views.

A graph depends on its seed alone.
"""

from __future__ import annotations

from .element_wise import binary, broadcast, unary
from .graphs import Graph
from .maker import Maker
from .products import product
from .reductions import across, reduction, softmax
from .views import concat, flip, merge, pad, slices, split, transpose

VIEWS = (transpose, merge, split, slices, concat, flip, pad)


def moved(maker: Maker) -> bool:
    """A result of a product, a reduction or a softmax, with one or two views of it and work on those."""
    rng = maker.rng
    first = rng.choice((product, product, reduction, softmax))
    views = rng.choices(VIEWS, k=rng.choice((1, 1, 2)))
    return maker.chain([first, *views, rng.choice((unary, binary, broadcast, reduction, product))])


OPS = (
    *(unary, unary, binary, binary, broadcast, broadcast, broadcast, reduction, reduction, across, softmax),
    *(product, product, *VIEWS, moved),
)
# Reductions are what dims of unknown length are hard for: how much of one a task has is not known, either.
OPS_OF_UNKNOWN = (*OPS, *(reduction, across, softmax) * 4)


def make_graph(seed: int) -> Graph:
    """The graph of ``seed``."""
    maker = Maker(seed)
    return maker.make(OPS_OF_UNKNOWN if maker.dynamic else OPS)
