"""Random graphs of norms, logarithms of softmax, attention and extremes, with other work among them.

A graph depends on its seed alone.
"""

from __future__ import annotations

import math

import numpy as np

from .element_wise import binary, broadcast, element_wise, unary
from .graphs import Graph, as_numbers_of, dims
from .maker import Maker
from .products import product
from .reductions import across, reduce, reduction, softmax
from .scalars import EXP, SUBTRACT
from .views import concat, merge, slices, split, transpose


def norm(maker: Maker) -> bool:
    """Less the mean, or not, and over the root of the mean square, along one dim or the last two."""
    x = maker.pick(least_rank=1)
    if x is None:
        return False
    shape, rng = maker.shape(x), maker.rng
    last = len(shape) - 1
    axes = rng.choice(((last,), (last,), (rng.randrange(len(shape)),), (max(last - 1, 0), last)))
    axes = tuple(dict.fromkeys(axes))
    if any(shape[axis].is_dynamic for axis in axes):
        return False  # their number would be no constant
    count = math.prod(shape[axis].calls[0] for axis in axes)
    share = float(as_numbers_of(maker.graph.element, np.asarray(1 / count)))
    row = ", ".join("0" if dim in axes else f"d{dim}" for dim in range(len(shape)))
    wheres = [dims(len(shape)), row]
    if rng.random() < 0.7:
        body = "%m = arith.mulf %b, %c : E %y = arith.subf %a, %m : E"
        less = (lambda a, b: a - b * share, share, body)
        if not reduce(maker, x, "sum", axes, keep=True) or not element_wise(
            maker, [x, maker.last], less, wheres
        ):
            return False
        x = maker.last
    over = (
        lambda a, b: a / np.sqrt(b * share + share),
        share,
        "%m = arith.mulf %b, %c : E %n = arith.addf %m, %c : E %p = math.sqrt %n : E "
        "%y = arith.divf %a, %p : E",
    )
    return reduce(maker, x, "squares", axes, keep=True) and element_wise(maker, [x, maker.last], over, wheres)


def log_softmax(maker: Maker) -> bool:
    """Along the last dim: what is subtracted is computed of all that it is subtracted from.

    In f32: an exp of what was rounded to a half float twice is off by more than the bound.
    """
    x = maker.pick(least_rank=1)
    if x is None or maker.graph.element != "f32":
        return False
    shape = maker.shape(x)
    last = len(shape) - 1
    row = ", ".join("0" if dim == last else f"d{dim}" for dim in range(len(shape)))
    wheres = [dims(len(shape)), row]
    steps = reduce(maker, x, "maximum", (last,), keep=True)
    if not steps or not element_wise(maker, [x, maker.last], SUBTRACT, wheres):
        return False
    shifted = maker.last
    if not element_wise(maker, [shifted], EXP, wheres[:1]) or not reduce(
        maker, maker.last, "sum", (last,), keep=True
    ):
        return False
    less = (lambda a, b: a - np.log(b), None, "%m = math.log %b : E %y = arith.subf %a, %m : E")
    return element_wise(maker, [shifted, maker.last], less, wheres)


def attention(maker: Maker) -> bool:
    """A softmax between two products, perhaps with work on its scores."""
    between = maker.rng.choice(((), (), (unary,), (binary,), (broadcast,)))
    return maker.chain([product, *between, softmax, product])


def extreme(maker: Maker) -> bool:
    """A minimum or a maximum, which stays or goes."""
    x = maker.pick(least_rank=1)
    if x is None:
        return False
    axis = maker.rng.randrange(len(maker.shape(x)))
    kind = maker.rng.choice(("minimum", "maximum"))
    return reduce(maker, x, kind, (axis,), keep=maker.rng.random() < 0.6)


OPS = (
    *(norm, norm, norm, log_softmax, attention, attention, extreme, softmax, across),
    *(unary, binary, broadcast, reduction, product, transpose, merge, split, slices, concat),
)


def make_composites(seed: int) -> Graph:
    """The graph of ``seed``."""
    return Maker(seed).make(OPS)
