"""Matrix products of random graphs."""

from __future__ import annotations

import numpy as np

from .element_wise import element_wise, of_one, of_two
from .graphs import Array, Operand, Size, dims, filled
from .maker import Maker
from .reductions import narrowed
from .views import transposed


def product(maker: Maker) -> bool:
    """A matrix product, or one of batches."""
    x = maker.pick(least_rank=2, most_rank=3)
    return x is not None and multiply(maker, x, maker.size())


def spread(maker: Maker) -> bool:
    """A tensor with two products of one value, each read along a dim that it lacks."""
    y = maker.pick(least_rank=2, most_rank=2)
    if y is None:
        return False
    rows, columns, other = maker.shape(y)[0], maker.size(), maker.size()
    rng, order = maker.rng, maker.rng.sample(range(3), 3)  # where its rows, columns and others are
    whole = sorted(zip(order, (rows, columns, other), strict=True), key=lambda each: each[0])
    x = maker.operand([size for _, size in whole])
    if x is None:
        return False
    for place, size in (order[1], columns), rng.choice(((order[1], columns), (order[2], other))):
        if not multiply(maker, y, size):
            return False
        if rng.random() < 0.3:
            element_wise(maker, [maker.last], of_one(maker), ["d0, d1"])
        if not _beside(maker, x, maker.last, order[0], place):
            return False
        x = maker.last
    return True


def _beside(maker: Maker, x: int, y: int, first: int, second: int) -> bool:
    """``x`` with the matrix ``y``, whose dims are those two of it."""
    function, number, body = of_two(maker)

    def spread_out(a: Array, b: Array) -> Array:
        return function(a, np.expand_dims(b if first < second else b.T, 3 - first - second))

    return element_wise(maker, [x, y], (spread_out, number, body), [dims(3), f"d{first}, d{second}"])


def multiply(maker: Maker, x: int, columns: Size) -> bool:
    """With another value or a new input, which may be transposed before."""
    *outer, rows, inner = maker.shape(x)
    element = maker.graph.element
    turned = maker.rng.random() < 0.4
    y = maker.operand([*outer, columns, inner] if turned else [*outer, inner, columns])
    if y is None:
        return False
    last = (*range(len(outer)), len(outer) + 1, len(outer))  # a permutation

    def function(a: Array, b: Array) -> Array:
        return a @ (b.transpose(last) if turned else b)

    def text(out: str, a: str, b: str) -> str:
        lines, shapes = [], ([*outer, rows, inner], [*outer, inner, columns])
        if turned:
            lines += [transposed(f"{out}_b", b, maker.shape(y), last, element)]
            b = f"{out}_b"
        total = Operand(out if element == "f32" else f"{out}_t", [*outer, rows, columns], "f32", "")
        reads = [Operand(name, shape, element, "") for name, shape in zip((a, b), shapes, strict=True)]
        types = ", ".join(read.type for read in reads)
        name = "batch_matmul" if outer else "matmul"
        lines += [
            filled(f"{out}_i", 0, total.shape, "f32", reads),
            f"  {total.name} = linalg.{name} ins({a}, {b} : {types})"
            f" outs({out}_i : {total.type}) -> {total.type}",
        ]
        return "\n".join(lines + narrowed(out, total, element))

    return maker.add([x, y], function, text)
