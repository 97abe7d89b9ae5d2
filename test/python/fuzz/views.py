"""What random graphs do to the places of elements: transposes, reshapes, slices, concats, flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .graphs import Operand, Shape, dims, empty, generic, tensor
from .maker import SIZES, Maker


def transposed(out: str, name: str, shape: Shape, order: Sequence[int], element: str) -> str:
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
        [x], lambda a: a.transpose(order), lambda out, name: transposed(out, name, shape, order, element)
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
