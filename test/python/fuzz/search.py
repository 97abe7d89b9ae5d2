"""Searches of random graphs: a maximum or a minimum and its place, as front ends write argmax and max."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .bound import bounds
from .graphs import Array, Operand, dims, empty, filled, generic
from .maker import Maker
from .shrink import used

# Which op keeps the better one, and which comparison says that a new one is better: the first of ties stays.
KINDS = {
    "maximum": ("-inf", {True: ("maxsi", "cmpi sgt"), False: ("maximumf", "cmpf ogt")}),
    "minimum": ("inf", {True: ("minsi", "cmpi slt"), False: ("minimumf", "cmpf olt")}),
}


def search(maker: Maker) -> bool:
    """Along one dim; its value, its place or both, each a node of its own, or their sum."""
    x = maker.pick(least_rank=1)
    if x is None or maker.is_special:
        return False  # what is smaller than NaN depends on the order
    rank, rng = len(maker.shape(x)), maker.rng
    axis, kind = rng.choice((rank - 1, rng.randrange(rank))), rng.choice(("maximum", "maximum", "minimum"))
    if not maker.is_integer and not _is_clear(maker, x, axis, kind):
        return False
    uses = rng.choice((("value",), ("place",), ("value", "place"), ("value", "place"), ("sum",)))
    return all(_search(maker, x, axis, kind, use) for use in uses)


def _is_clear(maker: Maker, x: int, axis: int, kind: str) -> bool:
    """Whether the best stays the best, however far within the bound each of them is off."""
    graph = used(replace(maker.graph, results=[x]))
    for call in range(graph.calls):
        ((right, _, allowed),) = bounds(graph, call)
        signed = right if kind == "maximum" else -right
        best = np.expand_dims(np.argmax(signed, axis), axis)
        others = signed + allowed
        np.put_along_axis(others, best, -np.inf, axis)
        least = np.take_along_axis(signed - allowed, best, axis)
        if np.any(others.max(axis, keepdims=True) >= least):
            return False
    return True


def _search(maker: Maker, x: int, axis: int, kind: str, use: str) -> bool:
    """One search; those of one value are one, when equal ops have become one."""
    shape, element = maker.shape(x), maker.graph.element
    start, names = KINDS[kind]
    keeps, compares = names[maker.is_integer]
    left = [size for dim, size in enumerate(shape) if dim != axis]
    where = ", ".join(f"d{dim}" for dim in range(len(shape)) if dim != axis)

    def function(a: Array) -> Array:
        best = np.max(a, axis) if kind == "maximum" else np.min(a, axis)
        place = np.argmax(a, axis) if kind == "maximum" else np.argmin(a, axis)
        return {"value": best, "place": place, "sum": best + place}[use]

    def text(out: str, name: str) -> str:
        read = Operand(name, shape, element, dims(len(shape)))
        value = Operand(out if use == "value" else f"{out}_v", left, element, where)
        place = Operand(f"{out}_p", left, "i64", where)
        lines = [
            filled(f"{out}_i", start, left, element, [read]),
            filled(f"{out}_j", 0, left, "i64", [read]),
            _generic(read, value, place, axis, f"outs({out}_i, {out}_j : {value.type}, {place.type})")
            .replace("KEEPS", keeps)
            .replace("COMPARES", compares),
        ]
        if use == "value":
            return "\n".join(lines)
        every = dims(len(left))
        reads = [replace(each, where=every) for each in ((place,) if use == "place" else (place, value))]
        cast = "trunci" if maker.is_integer else "sitofp"
        body = f"%{'y' if use == 'place' else 'f'} = arith.{cast} %a : i64 to {element}"
        if use == "sum":
            body += f"\n    %y = arith.{'addi' if maker.is_integer else 'addf'} %f, %b : {element}"
        made = Operand(out, left, element, every)
        lines += [
            empty(f"{out}_e", left, element, reads),
            generic(made, f"{out}_e", reads, "p" * len(left), body),
        ]
        return "\n".join(lines)

    return maker.add([x], function, text)


def _generic(read: Operand, value: Operand, place: Operand, axis: int, outs: str) -> str:
    """The linalg.generic of two results; KEEPS and COMPARES are still to be said."""
    rank = len(read.shape)
    maps = ", ".join(f"affine_map<({dims(rank)}) -> ({each.where})>" for each in (read, value, place))
    kinds = ", ".join('"reduction"' if dim == axis else '"parallel"' for dim in range(rank))
    element = read.element
    return (
        f"  {value.name}, {place.name} = linalg.generic {{indexing_maps = [{maps}],"
        f" iterator_types = [{kinds}]}} ins({read.name} : {read.type}) {outs} {{\n"
        f"  ^bb0(%a: {element}, %o: {element}, %q: i64):\n"
        f"    %d = linalg.index {axis} : index\n    %i = arith.index_cast %d : index to i64\n"
        f"    %y = arith.KEEPS %a, %o : {element}\n    %b = arith.COMPARES, %a, %o : {element}\n"
        f"    %z = arith.select %b, %i, %q : i64\n    linalg.yield %y, %z : {element}, i64\n"
        f"  }} -> ({value.type}, {place.type})"
    )
