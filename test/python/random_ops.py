"""Random graphs of element-wise ops, broadcasts, reductions, products and views.

A graph depends on its seed alone. An op is kept only if its values stay well inside what f16 holds, so that
a wrong number is the compiler's fault and not an overflow's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from .random_graphs import (
    Array,
    Graph,
    Node,
    Operand,
    Shape,
    as_numbers_of,
    constant,
    dims,
    empty,
    filled,
    generic,
    tensor,
)

DTYPES = ("f32", "f16", "bf16")
SIZES = (1, 2, 3, 4, 8, 17, 24, 33)
MOST_ELEMENTS = 3000
LARGEST = 100.0
MOST_STEPS = 8


def make_graph(seed: int, steps: int | None = None) -> Graph:
    """The graph of ``seed``; with ``steps`` only its first ones, the last of which is the result."""
    return Maker(seed).make(steps)


class Maker:
    """Adds random nodes to a graph; knows the float64 value of each."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.graph = Graph(seed, DTYPES[seed % len(DTYPES)])
        self.values: list[Array] = []

    def make(self, steps: int | None) -> Graph:
        self.leaf([self.rng.choice(SIZES) for _ in range(self.rng.choice((1, 2, 2, 2, 3, 3)))])
        wanted = self.rng.randrange(2, MOST_STEPS + 1)
        for _ in range(wanted if steps is None else min(wanted, steps)):
            while not self.rng.choice(OPS)(self):
                pass
        made = [number for number, node in enumerate(self.graph.nodes) if node.function is not None]
        self.graph.results = made[-1:]
        if steps is None:
            others = min(len(made) - 1, self.rng.choice((0, 0, 1, 2)))
            self.graph.results += self.rng.sample(made[:-1], others)
        return self.graph

    def leaf(self, shape: Shape) -> int:
        """A new input."""
        value = as_numbers_of(self.graph.element, self.numbers.standard_normal(shape))
        self.graph.inputs.append(value)
        return self._append(Node(tuple(shape)), value)

    def pick(self, least_rank: int = 0, most_rank: int = 4) -> int | None:
        """A value, rather a late one."""
        fit = [n for n, node in enumerate(self.graph.nodes) if least_rank <= len(node.shape) <= most_rank]
        return (fit[-1] if self.rng.random() < 0.5 else self.rng.choice(fit)) if fit else None

    def operand(self, shape: Shape) -> int:
        """A value of this shape, or a new input."""
        fit = [number for number, node in enumerate(self.graph.nodes) if node.shape == tuple(shape)]
        return self.rng.choice(fit) if fit and self.rng.random() < 0.7 else self.leaf(shape)

    def shape(self, number: int) -> tuple[int, ...]:
        return self.graph.nodes[number].shape

    def add(self, operands: Sequence[int], function: Callable[..., Array], text: Callable[..., str]) -> bool:
        """Add a node, if its values are fit for each type."""
        with np.errstate(all="ignore"):
            value = function(*(self.values[each] for each in operands))
        if not 0 < value.size <= MOST_ELEMENTS or not np.all(np.abs(value) <= LARGEST):
            return False
        self._append(Node(value.shape, tuple(operands), function, text), value)
        return True

    @property
    def last(self) -> int:
        """The newest value."""
        return len(self.values) - 1

    def _append(self, node: Node, value: Array) -> int:
        self.graph.nodes.append(node)
        self.values.append(value)
        return self.last


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
    return _element_wise(maker, [x], maker.rng.choice(UNARY), [dims(len(maker.shape(x)))])


def binary(maker: Maker) -> bool:
    """Of two tensors of one shape."""
    x = maker.pick()
    where = dims(len(maker.shape(x)))
    return _element_wise(maker, [x, maker.operand(maker.shape(x))], maker.rng.choice(BINARY), [where] * 2)


def broadcast(maker: Maker) -> bool:
    """Of a tensor and one that lacks some of its dims, or has them with size 1."""
    x = maker.pick(least_rank=1)
    shape = maker.shape(x)
    kept = [maker.rng.random() < 0.5 for _ in shape]
    if maker.rng.random() < 0.5:
        other = [size if keep else 1 for size, keep in zip(shape, kept, strict=True)]
        where = ", ".join(f"d{dim}" if size > 1 else "0" for dim, size in enumerate(other))
    else:
        first = maker.rng.randrange(len(shape) + 1)  # as in numpy: the leading dims
        other = list(shape[first:])
        where = ", ".join(f"d{dim}" for dim in range(first, len(shape)))
    pair, wheres = [x, maker.operand(other)], [dims(len(shape)), where]
    scalar = maker.rng.choice(BINARY)
    if maker.rng.random() < 0.3:
        function = scalar[0]
        scalar = (lambda a, b: function(b, a), *scalar[1:])
        return _element_wise(maker, pair[::-1], (function, *scalar[1:]), wheres[::-1])
    return _element_wise(maker, pair, scalar, wheres)


def _element_wise(maker: Maker, operands: Sequence[int], scalar: Scalar, wheres: Sequence[str]) -> bool:
    """A generic with the loops of the result; ``wheres``: with which of them each operand is read."""
    function, number, body = scalar
    element = maker.graph.element
    shape = np.broadcast_shapes(*(maker.shape(each) for each in operands))

    def text(out: str, *names: str) -> str:
        shapes = [maker.shape(each) for each in operands]
        reads = [
            Operand(name, shape, element, where)
            for name, shape, where in zip(names, shapes, wheres, strict=True)
        ]
        result = Operand(out, shape, element, dims(len(shape)))
        lines = [] if number is None else [constant(f"{out}_c", number, element)]
        lines.append(empty(f"{out}_e", shape, element))
        written = body.replace("%c", f"{out}_c").replace(": E", f": {element}\n   ").rstrip()
        return "\n".join([*lines, generic(result, f"{out}_e", reads, "p" * len(shape), written)])

    return maker.add(operands, function, text)


def reduction(maker: Maker) -> bool:
    """Over some dims, which stay with size 1, or go."""
    x = maker.pick(least_rank=1)
    rank, rng = len(maker.shape(x)), maker.rng
    axes = rng.choice([(rank - 1,), (rank - 1,), (rng.randrange(rank),), tuple(range(rank))])
    kind = rng.choice(("sum", "sum", "squares", "maximum"))
    return _reduce(maker, x, kind, axes, keep=rng.random() < 0.6)


def softmax(maker: Maker) -> bool:
    """Over one dim, as four ops."""
    x = maker.pick(least_rank=1)
    shape = maker.shape(x)
    axis = maker.rng.choice((len(shape) - 1, maker.rng.randrange(len(shape))))
    row = ", ".join("0" if dim == axis else f"d{dim}" for dim in range(len(shape)))
    wheres = [dims(len(shape)), row]
    _reduce(maker, x, "maximum", (axis,), keep=True)
    _element_wise(maker, [x, maker.last], SUBTRACT, wheres)
    _element_wise(maker, [maker.last], EXP, wheres[:1])
    top = maker.last
    return _reduce(maker, top, "sum", (axis,), keep=True) and _element_wise(
        maker, [top, maker.last], DIVIDE, wheres
    )


def _reduce(maker: Maker, x: int, kind: str, axes: tuple[int, ...], *, keep: bool) -> bool:
    """A sum, a sum of squares or a maximum; sums of half floats are f32 until they are complete."""
    shape, element = maker.shape(x), maker.graph.element
    wide = element if kind == "maximum" else "f32"

    def function(a: Array) -> Array:
        if kind == "maximum":
            return a.max(axes, keepdims=keep)
        return (a * a if kind == "squares" else a).sum(axes, keepdims=keep)

    def text(out: str, name: str) -> str:
        left = [dim for dim in range(len(shape)) if keep or dim not in axes]
        total = Operand(
            out if wide == element else f"{out}_t",
            [1 if dim in axes else shape[dim] for dim in left],
            wide,
            ", ".join("0" if dim in axes else f"d{dim}" for dim in left),
        )
        kinds = "".join("r" if dim in axes else "p" for dim in range(len(shape)))
        body = "%w = arith.extf %a : E to f32\n    " if wide != element else ""
        value = "%w" if wide != element else "%a"
        if kind == "squares":
            body += f"%s = arith.mulf {value}, {value} : f32\n    "
            value = "%s"
        body += f"%y = arith.{'maximumf' if kind == 'maximum' else 'addf'} %o, {value} : {wide}"
        lines = [
            filled(f"{out}_i", "-inf" if kind == "maximum" else 0, total.shape, wide),
            generic(
                total,
                f"{out}_i",
                [Operand(name, shape, element, dims(len(shape)))],
                kinds,
                body.replace(" E", f" {element}"),
            ),
        ]
        return "\n".join(lines + _narrowed(out, total, element))

    return maker.add([x], function, text)


def _narrowed(out: str, total: Operand, element: str) -> list[str]:
    """``total`` as ``out`` of the graph's type, if it is not that."""
    if total.name == out:
        return []
    where = dims(len(total.shape))
    read, made = Operand(total.name, total.shape, "f32", where), Operand(out, total.shape, element, where)
    body = f"%y = arith.truncf %a : f32 to {element}"
    kinds = "p" * len(total.shape)
    return [empty(f"{out}_e", total.shape, element), generic(made, f"{out}_e", [read], kinds, body)]


def product(maker: Maker) -> bool:
    """A matrix product, or one of batches, with an operand that may be transposed before."""
    x = maker.pick(least_rank=2, most_rank=3)
    if x is None:
        return False
    *outer, rows, inner = maker.shape(x)
    element, rng = maker.graph.element, maker.rng
    columns = rng.choice(SIZES)
    turned = rng.random() < 0.4
    y = maker.operand([*outer, columns, inner] if turned else [*outer, inner, columns])
    last = (*range(len(outer)), len(outer) + 1, len(outer))  # a permutation

    def function(a: Array, b: Array) -> Array:
        return a @ (b.transpose(last) if turned else b)

    def text(out: str, a: str, b: str) -> str:
        lines, shapes = [], ([*outer, rows, inner], [*outer, inner, columns])
        if turned:
            lines += [_transpose(f"{out}_b", b, maker.shape(y), last, element)]
            b = f"{out}_b"
        total = Operand(out if element == "f32" else f"{out}_t", [*outer, rows, columns], "f32", "")
        types = ", ".join(tensor(shape, element) for shape in shapes)
        name = "batch_matmul" if outer else "matmul"
        lines += [
            filled(f"{out}_i", 0, total.shape, "f32"),
            f"  {total.name} = linalg.{name} ins({a}, {b} : {types})"
            f" outs({out}_i : {total.type}) -> {total.type}",
        ]
        return "\n".join(lines + _narrowed(out, total, element))

    return maker.add([x, y], function, text)


def _transpose(out: str, name: str, shape: Shape, order: Sequence[int], element: str) -> str:
    made = [shape[dim] for dim in order]
    kinds = f"ins({name} : {tensor(shape, element)}) outs({out}_e : {tensor(made, element)})"
    line = f"  {out} = linalg.transpose {kinds} permutation = {list(order)}"
    return "\n".join([empty(f"{out}_e", made, element), line])


def transpose(maker: Maker) -> bool:
    x = maker.pick(least_rank=2)
    if x is None:
        return False
    shape, element = maker.shape(x), maker.graph.element
    order = maker.rng.sample(range(len(shape)), len(shape))
    return maker.add(
        [x], lambda a: a.transpose(order), lambda out, name: _transpose(out, name, shape, order, element)
    )


def merge(maker: Maker) -> bool:
    """Two neighbouring dims become one."""
    x = maker.pick(least_rank=2)
    if x is None:
        return False
    shape = maker.shape(x)
    at = maker.rng.randrange(len(shape) - 1)
    return _reshape(maker, x, [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]], at)


def split(maker: Maker) -> bool:
    """A dim becomes two."""
    x = maker.pick(least_rank=1, most_rank=3)
    if x is None:
        return False
    shape, rng = maker.shape(x), maker.rng
    at = rng.randrange(len(shape))
    factors = [factor for factor in (1, 2, 3, 4, shape[at]) if shape[at] % factor == 0]
    factor = rng.choice(factors)
    return _reshape(maker, x, [*shape[:at], factor, shape[at] // factor, *shape[at + 1 :]], at)


def _reshape(maker: Maker, x: int, made: Shape, at: int) -> bool:
    """The dims ``at`` and the next one of the longer shape are ``at`` of the shorter one."""
    shape, element = maker.shape(x), maker.graph.element
    rank = min(len(shape), len(made))
    groups = [[dim] for dim in range(at)] + [[at, at + 1]] + [[dim + 1] for dim in range(at + 1, rank)]

    def text(out: str, name: str) -> str:
        kinds = f"{tensor(shape, element)} into {tensor(made, element)}"
        if len(made) < len(shape):
            return f"  {out} = tensor.collapse_shape {name} {groups} : {kinds}"
        return f"  {out} = tensor.expand_shape {name} {groups} output_shape {list(made)} : {kinds}"

    return maker.add([x], lambda a: a.reshape(made), text)


def slices(maker: Maker) -> bool:
    """Some elements of each dim."""
    x = maker.pick(least_rank=1)
    shape, element, rng = maker.shape(x), maker.graph.element, maker.rng
    starts, sizes, steps = [], [], []
    for size in shape:
        start, step = (rng.randrange(size), rng.choice((1, 1, 2))) if rng.random() < 0.6 else (0, 1)
        whole = start == 0 and step == 1
        starts.append(start)
        steps.append(step)
        sizes.append(size if whole else rng.randrange(1, (size - start - 1) // step + 2))
    parts = tuple(
        slice(start, start + (size - 1) * step + 1, step)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    )

    def text(out: str, name: str) -> str:
        kinds = f"{tensor(shape, element)} to {tensor(sizes, element)}"
        return f"  {out} = tensor.extract_slice {name}{starts} {sizes} {steps} : {kinds}"

    return maker.add([x], lambda a: a[parts], text)


def concat(maker: Maker) -> bool:
    """Of a value and another one along one dim."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    axis = maker.rng.randrange(len(shape))
    other = list(shape)
    other[axis] = maker.rng.choice((shape[axis], maker.rng.choice(SIZES)))
    made = list(shape)
    made[axis] += other[axis]

    def text(out: str, a: str, b: str) -> str:
        kinds = f"({tensor(shape, element)}, {tensor(other, element)}) -> {tensor(made, element)}"
        return f"  {out} = tensor.concat dim({axis}) {a}, {b} : {kinds}"

    return maker.add([x, maker.operand(other)], lambda a, b: np.concatenate([a, b], axis), text)


def flip(maker: Maker) -> bool:
    """A gather, as front ends write it."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    axis = maker.rng.randrange(len(shape))

    def text(out: str, name: str) -> str:
        indices = [f"%i{dim}" for dim in range(len(shape))]
        lines = [f"{index} = linalg.index {dim} : index" for dim, index in enumerate(indices)]
        lines += [f"%top = arith.constant {shape[axis] - 1} : index"]
        lines += [f"%turned = arith.subi %top, {indices[axis]} : index"]
        indices[axis] = "%turned"
        lines += [f"%y = tensor.extract {name}[{', '.join(indices)}] : {tensor(shape, element)}"]
        result = Operand(out, shape, element, dims(len(shape)))
        made = generic(result, f"{out}_e", [], "p" * len(shape), "\n    ".join(lines))
        return "\n".join([empty(f"{out}_e", shape, element), made])

    return maker.add([x], lambda a: np.flip(a, axis), text)


OPS = (
    *(unary, unary, binary, binary, broadcast, broadcast, broadcast, reduction, reduction, softmax),
    *(product, product, transpose, merge, split, slices, concat, flip),
)
