"""Reductions of random graphs, and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .element_wise import element_wise, of_two
from .graphs import Array, Operand, dims, empty, filled, generic
from .maker import Maker
from .scalars import DIVIDE, EXP, SUBTRACT

KINDS = ("sum", "sum", "squares", "maximum")


class Extreme(NamedTuple):
    """A maximum or a minimum: in numpy, as an op of floats and of integers, and what it starts from."""

    function: Callable[..., Array]
    name: str
    integer_name: str
    start: str


EXTREMES = {
    "maximum": Extreme(np.max, "maximumf", "maxsi", "-inf"),
    "minimum": Extreme(np.min, "minimumf", "minsi", "inf"),
}


def reduction(maker: Maker) -> bool:
    """Over some dims, which stay with size 1, or go."""
    x = maker.pick(least_rank=1)
    shape, rng = maker.shape(x), maker.rng
    rank = len(shape)
    two = tuple(sorted(rng.sample(range(rank), min(2, rank))))
    axes = rng.choice([(rank - 1,), (rank - 1,), (rng.randrange(rank),), two, tuple(range(rank))])
    unknown = tuple(dim for dim, size in enumerate(shape) if size.is_dynamic)
    if unknown and rng.random() < 0.5:
        axes = unknown
    return reduce(maker, x, rng.choice(KINDS), axes, keep=rng.random() < 0.6)


def across(maker: Maker) -> bool:
    """Over some dims of what was scaled by a reduction over others: no task has all of both."""
    x = maker.pick(least_rank=2)
    if x is None:
        return False
    shape, rng = maker.shape(x), maker.rng
    order = rng.sample(range(len(shape)), len(shape))
    first = rng.randrange(1, len(shape))
    axes, others = order[:first], order[first : first + rng.randint(1, len(shape) - first)]
    if not reduce(maker, x, rng.choice(KINDS), tuple(sorted(axes)), keep=True):
        return False
    where = ", ".join("0" if dim in axes else f"d{dim}" for dim in range(len(shape)))
    scaled = element_wise(maker, [x, maker.last], of_two(maker), [dims(len(shape)), where])
    return scaled and reduce(maker, maker.last, rng.choice(KINDS), tuple(sorted(others)), keep=False)


def softmax(maker: Maker) -> bool:
    """Over one dim, as four ops."""
    x = maker.pick(least_rank=1)
    shape = maker.shape(x)
    axis = maker.rng.choice((len(shape) - 1, maker.rng.randrange(len(shape))))
    row = ", ".join("0" if dim == axis else f"d{dim}" for dim in range(len(shape)))
    wheres = [dims(len(shape)), row]
    reduce(maker, x, "maximum", (axis,), keep=True)
    element_wise(maker, [x, maker.last], SUBTRACT, wheres)
    element_wise(maker, [maker.last], EXP, wheres[:1])
    top = maker.last
    return reduce(maker, top, "sum", (axis,), keep=True) and element_wise(
        maker, [top, maker.last], DIVIDE, wheres
    )


def reduce(maker: Maker, x: int, kind: str, axes: tuple[int, ...], *, keep: bool) -> bool:
    """A sum, a sum of squares or an extreme; sums of half floats are f32 until they are complete."""
    shape, element = maker.shape(x), maker.graph.element
    extreme = EXTREMES.get(kind)
    wide = "f32" if extreme is None and not maker.is_integer else element

    def function(a: Array) -> Array:
        if extreme is not None:
            return extreme.function(a, axes, keepdims=keep)
        return (a * a if kind == "squares" else a).sum(axes, keepdims=keep)

    def text(out: str, name: str) -> str:
        left = [dim for dim in range(len(shape)) if keep or dim not in axes]
        total = Operand(
            out if wide == element else f"{out}_t",
            [maker.one if dim in axes else shape[dim] for dim in left],
            wide,
            ", ".join("0" if dim in axes else f"d{dim}" for dim in left),
        )
        kinds = "".join("r" if dim in axes else "p" for dim in range(len(shape)))
        body = "%w = arith.extf %a : E to f32\n    " if wide != element else ""
        value = "%w" if wide != element else "%a"
        if kind == "squares":
            body += f"%s = arith.{'muli' if maker.is_integer else 'mulf'} {value}, {value} : {wide}\n    "
            value = "%s"
        names = ("addf", "addi") if extreme is None else (extreme.name, extreme.integer_name)
        body += f"%y = arith.{names[maker.is_integer]} %o, {value} : {wide}"
        reads = [Operand(name, shape, element, dims(len(shape)))]
        lines = [
            filled(f"{out}_i", 0 if extreme is None else extreme.start, total.shape, wide, reads),
            generic(total, f"{out}_i", reads, kinds, body.replace(" E", f" {element}")),
        ]
        return "\n".join(lines + narrowed(out, total, element))

    return maker.add([x], function, text)


def narrowed(out: str, total: Operand, element: str) -> list[str]:
    """``total`` as ``out`` of the graph's type, if it is not that."""
    if total.name == out:
        return []
    where = dims(len(total.shape))
    read, made = Operand(total.name, total.shape, "f32", where), Operand(out, total.shape, element, where)
    body = f"%y = arith.truncf %a : f32 to {element}"
    kinds = "p" * len(total.shape)
    return [empty(f"{out}_e", total.shape, element, [read]), generic(made, f"{out}_e", [read], kinds, body)]
