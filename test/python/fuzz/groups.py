"""Work of random graphs on groups of elements along a dim, beside the value as a whole."""

from __future__ import annotations

from .element_wise import element_wise, of_two
from .graphs import dims
from .maker import Maker
from .reductions import KINDS, reduce
from .views import factors, join, part


def grouped(maker: Maker) -> bool:
    """A value with what groups of it make of a number for each, as a residual around a group norm is."""
    x = maker.pick(least_rank=1, most_rank=3)
    if x is None:
        return False
    shape, rng = maker.shape(x), maker.rng
    at = rng.randrange(len(shape))
    groups = [each for each in factors(maker, shape[at], (2, 3, 4, 8)) if each != shape[at]]
    if not groups or not part(maker, x, at, rng.choice(groups)):
        return False
    if not _beside_numbers(maker, maker.last, at) or not join(maker, maker.last, at):
        return False
    return element_wise(maker, [x, maker.last], of_two(maker), [dims(len(shape))] * 2)


def _beside_numbers(maker: Maker, parts: int, at: int) -> bool:
    """``parts`` with a number for each group, or each place in one: an input's, or a total of the others."""
    shape, rng = maker.shape(parts), maker.rng
    gone = at + rng.randrange(2)
    if rng.random() < 0.5:
        numbers = maker.operand([maker.one if dim == gone else size for dim, size in enumerate(shape)])
    else:
        numbers = maker.last if reduce(maker, parts, rng.choice(KINDS), (gone,), keep=True) else None
    every = dims(len(shape))
    wheres = [every, every.replace(f"d{gone}", "0")]
    return numbers is not None and element_wise(maker, [parts, numbers], of_two(maker), wheres)
