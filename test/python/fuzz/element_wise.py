"""Element-wise ops of random graphs, with or without a broadcast operand."""

from __future__ import annotations

from collections.abc import Sequence

from .graphs import Operand, constant, dims, empty, generic
from .maker import Maker
from .scalars import BINARY, INTEGER_BINARY, INTEGER_UNARY, UNARY, Scalar


def of_one(maker: Maker) -> Scalar:
    """A function of one number of the graph's type."""
    return maker.rng.choice(INTEGER_UNARY if maker.is_integer else UNARY)


def of_two(maker: Maker) -> Scalar:
    """A function of two of them."""
    return maker.rng.choice(INTEGER_BINARY if maker.is_integer else BINARY)


def unary(maker: Maker) -> bool:
    x = maker.pick()
    return element_wise(maker, [x], of_one(maker), [dims(len(maker.shape(x)))])


def binary(maker: Maker) -> bool:
    """Of two tensors of one shape."""
    x = maker.pick()
    where = dims(len(maker.shape(x)))
    return element_wise(maker, [x, maker.operand(maker.shape(x))], of_two(maker), [where] * 2)


def broadcast(maker: Maker) -> bool:
    """Of a tensor and one that lacks some of its dims, or has them with size 1."""
    x = maker.pick(least_rank=1)
    shape = maker.shape(x)
    kept = [maker.rng.random() < 0.5 for _ in shape]
    if maker.rng.random() < 0.5:
        other = [size if keep else maker.one for size, keep in zip(shape, kept, strict=True)]
        where = ", ".join("0" if size == maker.one else f"d{dim}" for dim, size in enumerate(other))
    else:
        first = maker.rng.randrange(len(shape) + 1)  # as in numpy: the leading dims
        other = list(shape[first:])
        where = ", ".join(f"d{dim}" for dim in range(first, len(shape)))
    pair, wheres = [x, maker.operand(other)], [dims(len(shape)), where]
    scalar = of_two(maker)
    if maker.rng.random() < 0.3:
        function = scalar[0]
        scalar = (lambda a, b: function(b, a), *scalar[1:])
        return element_wise(maker, pair[::-1], (function, *scalar[1:]), wheres[::-1])
    return element_wise(maker, pair, scalar, wheres)


def element_wise(maker: Maker, operands: Sequence[int], scalar: Scalar, wheres: Sequence[str]) -> bool:
    """A generic with the loops of the result; ``wheres``: with which of them each operand is read."""
    function, number, body = scalar
    element = maker.graph.element
    shapes = [maker.shape(each) for each in operands]
    whole = [shape for shape, where in zip(shapes, wheres, strict=True) if where == dims(len(shape))]
    shape = max(whole, key=len)

    def text(out: str, *names: str) -> str:
        reads = [
            Operand(name, shape, element, where)
            for name, shape, where in zip(names, shapes, wheres, strict=True)
        ]
        result = Operand(out, shape, element, dims(len(shape)))
        lines = [] if number is None else [constant(f"{out}_c", number, element)]
        lines.append(empty(f"{out}_e", shape, element, reads))
        written = body.replace("%c", f"{out}_c").replace(": E", f": {element}\n   ").rstrip()
        return "\n".join([*lines, generic(result, f"{out}_e", reads, "p" * len(shape), written)])

    return maker.add(operands, function, text)
