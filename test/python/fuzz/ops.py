"""Random graphs of element-wise ops, broadcasts, reductions, searches, products, groups, masks and views.

A graph depends on its seed alone.
"""

from __future__ import annotations

from .element_wise import binary, broadcast, unary
from .graphs import Graph
from .groups import grouped
from .indices import mask
from .maker import Maker
from .products import product, spread
from .reductions import across, reduction, softmax
from .search import search
from .views import concat, flip, merge, pad, slices, split, transpose

VIEWS = (transpose, merge, split, slices, concat, flip, pad)


def moved(maker: Maker) -> bool:
    """A result of a product, a reduction or a softmax, with one or two views of it and work on those."""
    rng = maker.rng
    first = rng.choice((product, product, reduction, softmax))
    views = rng.choices(VIEWS, k=rng.choice((1, 1, 2)))
    return maker.chain([first, *views, rng.choice((unary, binary, broadcast, reduction, product))])


def found(maker: Maker) -> bool:
    """What is largest or smallest of a softmax or of other work."""
    return maker.chain([maker.rng.choice((softmax, unary, product, mask)), search])


OPS = (
    *(unary, binary, binary, broadcast, broadcast, reduction, reduction, across, softmax),
    *(product, spread, *VIEWS, moved, grouped, mask, search, found, found),
)
# Reductions are what dims of unknown length are hard for: how much of one a task has is not known, either.
OPS_OF_UNKNOWN = (*OPS, *(reduction, across, softmax) * 4)
INTEGER_OPS = (
    *(unary, binary, broadcast) * 2,
    *(reduction, reduction, across, grouped, *VIEWS, mask, search, search),
)
INTEGER_EVERY = 13  # of the graphs one is of i32: exact, with ties


def make_graph(seed: int) -> Graph:
    """The graph of ``seed``."""
    if seed % INTEGER_EVERY == 5:
        return Maker(seed, "i32").make(INTEGER_OPS)
    maker = Maker(seed)
    return maker.make(OPS_OF_UNKNOWN if maker.dynamic else OPS)
