"""What random graphs do to the places of elements: transposes, reshapes, slices, concats, pads, flips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .graphs import Array, Operand, Shape, Size, constant, dims, empty, generic, sizes, tensor
from .maker import Maker


def transposed(out: str, name: str, shape: Shape, order: Sequence[int], element: str) -> str:
    made = [shape[dim] for dim in order]
    read = Operand(name, shape, element, "")
    kinds = f"ins({name} : {read.type}) outs({out}_e : {tensor(made, element)})"
    line = f"  {out} = linalg.transpose {kinds} permutation = {list(order)}"
    return "\n".join([empty(f"{out}_e", made, element, [read]), line])


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
    return x is not None and join(maker, x, maker.rng.randrange(len(maker.shape(x)) - 1))


def join(maker: Maker, x: int, at: int) -> bool:
    """The dims ``at`` and the next one become one."""
    shape = maker.shape(x)
    one = shape[at] * shape[at + 1]
    if one.is_dynamic != (shape[at].is_dynamic or shape[at + 1].is_dynamic):
        return False  # 4 times 17 in one call, 2 times 34 in the other
    made = [*shape[:at], one, *shape[at + 2 :]]
    return _reshape(maker, x, made, at, lambda a: a.reshape(*a.shape[:at], -1, *a.shape[at + 2 :]))


def split(maker: Maker) -> bool:
    """A dim becomes two."""
    x = maker.pick(least_rank=1, most_rank=3)
    if x is None:
        return False
    at = maker.rng.randrange(len(maker.shape(x)))
    whole = maker.shape(x)[at]
    return part(maker, x, at, maker.rng.choice([*factors(maker, whole, (1, 2, 3, 4)), whole]))


def factors(maker: Maker, size: Size, among: Sequence[int]) -> list[Size]:
    """Those that divide ``size``."""
    return [maker.fixed(factor) for factor in among if all(each % factor == 0 for each in size.calls)]


def part(maker: Maker, x: int, at: int, factor: Size) -> bool:
    """The dim ``at`` becomes ``factor`` groups, and how many are in each."""
    shape = maker.shape(x)
    whole = shape[at]

    def function(a: Array) -> Array:
        halves = (-1, 1) if factor is whole else (factor.calls[0], -1)
        return a.reshape(*a.shape[:at], *halves, *a.shape[at + 1 :])

    return _reshape(maker, x, [*shape[:at], factor, whole // factor, *shape[at + 1 :]], at, function)


def _reshape(maker: Maker, x: int, made: Shape, at: int, function: Callable[[Array], Array]) -> bool:
    """The dims ``at`` and the next one of the longer shape are ``at`` of the shorter one."""
    shape, element = maker.shape(x), maker.graph.element
    rank = min(len(shape), len(made))
    groups = [[dim] for dim in range(at)] + [[at, at + 1]] + [[dim + 1] for dim in range(at + 1, rank)]

    def text(out: str, name: str) -> str:
        kinds = f"{tensor(shape, element)} into {tensor(made, element)}"
        if len(made) < len(shape):
            return f"  {out} = tensor.collapse_shape {name} {groups} : {kinds}"
        lines, names = sizes(out, shape, [Operand(name, shape, element, "")])
        halves = [str(size) for size in made[at : at + 2]]
        if made[at].is_dynamic:
            halves[0] = names[at]
        elif made[at + 1].is_dynamic:
            halves[1] = f"{out}_q"
            lines += [
                f"  {out}_f = arith.constant {made[at]} : index",
                f"  {out}_q = arith.divui {names[at]}, {out}_f : index",
            ]
        written = ", ".join([*names[:at], *halves, *names[at + 1 :]])
        line = f"  {out} = tensor.expand_shape {name} {groups} output_shape [{written}] : {kinds}"
        return "\n".join([*lines, line])

    return maker.add([x], function, text)


def slices(maker: Maker) -> bool:
    """Some elements of each dim."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    cuts = [_cut(maker, size) for size in shape]
    parts = tuple(slice(start, end, step) for start, end, step, _ in cuts)
    made = [size for *_, size in cuts]

    def text(out: str, name: str) -> str:
        lines, names = sizes(out, shape, [Operand(name, shape, element, "")])
        for dim, (start, _, step, size) in enumerate(cuts):
            if not size.is_dynamic:
                names[dim] = str(size)
            elif size != shape[dim]:
                lines += [
                    f"  {out}_a{dim} = arith.constant {start} : index",
                    f"  {out}_b{dim} = arith.subi {names[dim]}, {out}_a{dim} : index",
                    f"  {out}_c{dim} = arith.constant {step} : index",
                    f"  {out}_s{dim} = arith.ceildivui {out}_b{dim}, {out}_c{dim} : index",
                ]
                names[dim] = f"{out}_s{dim}"
        starts, steps = ([cut[each] for cut in cuts] for each in (0, 2))
        kinds = f"{tensor(shape, element)} to {tensor(made, element)}"
        line = f"  {out} = tensor.extract_slice {name}{starts} [{', '.join(names)}] {steps} : {kinds}"
        return "\n".join([*lines, line])

    return maker.add([x], lambda a: a[parts], text)


def _cut(maker: Maker, size: Size) -> tuple[int, int | None, int, Size]:
    """Start, end and step of a slice of a dim, and its size; without an end where that is dynamic."""
    rng, least = maker.rng, min(size.calls)
    if rng.random() >= 0.6:
        return 0, None, 1, size
    start, step = rng.randrange(least), rng.choice((1, 1, 2))
    if size.is_dynamic and rng.random() < 0.6:
        return start, None, step, Size(tuple((n - start + step - 1) // step for n in size.calls))
    count = rng.randrange(1, (least - start - 1) // step + 2)
    return start, start + (count - 1) * step + 1, step, maker.fixed(count)


def concat(maker: Maker) -> bool:
    """Of a value and another one along one dim."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    axis = maker.rng.randrange(len(shape))
    other = list(shape)
    other[axis] = maker.rng.choice((shape[axis], maker.size()))
    y = maker.operand(other)
    if y is None:
        return False
    made = list(shape)
    made[axis] += other[axis]

    def text(out: str, a: str, b: str) -> str:
        kinds = f"({tensor(shape, element)}, {tensor(other, element)}) -> {tensor(made, element)}"
        return f"  {out} = tensor.concat dim({axis}) {a}, {b} : {kinds}"

    return maker.add([x, y], lambda a, b: np.concatenate([a, b], axis), text)


def pad(maker: Maker) -> bool:
    """Zeros or another number around a value."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    low, high = ([maker.rng.choice((0, 0, 1, 3)) for _ in shape] for _ in range(2))
    made = [size + maker.fixed(a + b) for size, a, b in zip(shape, low, high, strict=True)]
    number = maker.rng.choice((0, 0, 1, -2))

    def text(out: str, name: str) -> str:
        indices = ", ".join(f"%i{dim}: index" for dim in range(len(shape)))
        return (
            f"{constant(f'{out}_c', number, element)}\n  {out} = tensor.pad {name} low{low} high{high} {{\n"
            f"  ^bb0({indices}):\n    tensor.yield {out}_c : {element}\n"
            f"  }} : {tensor(shape, element)} to {tensor(made, element)}"
        )

    around = list(zip(low, high, strict=True))
    return maker.add([x], lambda a: np.pad(a, around, constant_values=number), text)


def flip(maker: Maker) -> bool:
    """A gather, as front ends write it."""
    x = maker.pick(least_rank=1)
    shape, element = maker.shape(x), maker.graph.element
    axis = maker.rng.randrange(len(shape))

    def text(out: str, name: str) -> str:
        read = Operand(name, shape, element, "")
        before, names = sizes(f"{out}_x", shape, [read])
        if not shape[axis].is_dynamic:
            before.append(f"  {out}_n = arith.constant {shape[axis]} : index")
            names[axis] = f"{out}_n"
        indices = [f"%i{dim}" for dim in range(len(shape))]
        lines = [f"{index} = linalg.index {dim} : index" for dim, index in enumerate(indices)]
        lines += ["%one = arith.constant 1 : index", f"%top = arith.subi {names[axis]}, %one : index"]
        lines += [f"%turned = arith.subi %top, {indices[axis]} : index"]
        indices[axis] = "%turned"
        lines += [f"%y = tensor.extract {name}[{', '.join(indices)}] : {read.type}"]
        result = Operand(out, shape, element, dims(len(shape)))
        made = generic(result, f"{out}_e", [], "p" * len(shape), "\n    ".join(lines))
        return "\n".join([*before, empty(f"{out}_e", shape, element, [read]), made])

    return maker.add([x], lambda a: np.flip(a, axis), text)
