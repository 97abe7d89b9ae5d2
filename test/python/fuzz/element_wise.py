"""Element-wise ops of random graphs, with or without a broadcast operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .graphs import Array, Operand, constant, dims, empty, generic
from .maker import Maker

# numpy's function, the constant %c, and what makes %y of %a, %b and %c; E stands for the type.
Scalar = tuple[Callable[..., Array], float | None, str]
SUBTRACT: Scalar = (np.subtract, None, "%y = arith.subf %a, %b : E")
DIVIDE: Scalar = (np.divide, None, "%y = arith.divf %a, %b : E")
EXP: Scalar = (np.exp, None, "%y = math.exp %a : E")
UNARY: tuple[Scalar, ...] = (
    (lambda a: np.maximum(a, 0), 0, "%y = arith.maximumf %a, %c : E"),
    (lambda a: -a, None, "%y = arith.negf %a : E"),
    (np.abs, None, "%y = math.absf %a : E"),
    (np.tanh, None, "%y = math.tanh %a : E"),
    (lambda a: a * 0.5, 0.5, "%y = arith.mulf %a, %c : E"),
    (lambda a: a + 1.5, 1.5, "%y = arith.addf %a, %c : E"),
    (lambda a: a * a, None, "%y = arith.mulf %a, %a : E"),
    (lambda a: np.exp(np.minimum(a, 2)), 2, "%m = arith.minimumf %a, %c : E %y = math.exp %m : E"),
    (
        lambda a: np.sqrt(np.abs(a) + 0.5),
        0.5,
        "%m = math.absf %a : E %n = arith.addf %m, %c : E %y = math.sqrt %n : E",
    ),
    (
        lambda a: 1 / (1 + np.exp(-a)),
        1,
        "%m = arith.negf %a : E %n = math.exp %m : E %p = arith.addf %n, %c : E %y = arith.divf %c, %p : E",
    ),
)
BINARY: tuple[Scalar, ...] = (
    (np.add, None, "%y = arith.addf %a, %b : E"),
    SUBTRACT,
    (np.multiply, None, "%y = arith.mulf %a, %b : E"),
    (np.maximum, None, "%y = arith.maximumf %a, %b : E"),
    (np.minimum, None, "%y = arith.minimumf %a, %b : E"),
    (
        lambda a, b: a / (np.abs(b) + 0.5),
        0.5,
        "%m = math.absf %b : E %n = arith.addf %m, %c : E %y = arith.divf %a, %n : E",
    ),
)


def unary(maker: Maker) -> bool:
    x = maker.pick()
    return element_wise(maker, [x], maker.rng.choice(UNARY), [dims(len(maker.shape(x)))])


def binary(maker: Maker) -> bool:
    """Of two tensors of one shape."""
    x = maker.pick()
    where = dims(len(maker.shape(x)))
    return element_wise(maker, [x, maker.operand(maker.shape(x))], maker.rng.choice(BINARY), [where] * 2)


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
    scalar = maker.rng.choice(BINARY)
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
