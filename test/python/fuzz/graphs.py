"""Graphs of tensors that are linalg text and numpy at once: those of ops.py are made of this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mlopt.runtime.arrays import numpy_dtype

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Size:
    """How long a dim is at each call; as text that number, or ``?`` where they differ."""

    calls: tuple[int, ...]

    @property
    def is_dynamic(self) -> bool:
        return len(set(self.calls)) > 1

    def __str__(self) -> str:
        return "?" if self.is_dynamic else str(self.calls[0])

    def __add__(self, other: Size) -> Size:
        return Size(tuple(a + b for a, b in zip(self.calls, other.calls, strict=True)))

    def __mul__(self, other: Size) -> Size:
        return Size(tuple(a * b for a, b in zip(self.calls, other.calls, strict=True)))

    def __floordiv__(self, other: Size) -> Size:
        return Size(tuple(a // b for a, b in zip(self.calls, other.calls, strict=True)))


Shape = Sequence[Size]


@dataclass(frozen=True)
class Node:
    """A value: what makes it of ``operands``, in numpy, and as text for names (``%v3``, its operands')."""

    shape: tuple[Size, ...]
    operands: tuple[int, ...] = ()
    function: Callable[..., Array] | None = None  # None: an input
    text: Callable[..., str] | None = None
    given: tuple[Array, ...] = ()  # of an input, at each call: float64s that are numbers of the graph's type


@dataclass
class Graph:
    """Values in order; ``results`` are the numbers of those that are returned."""

    seed: int
    element: str
    calls: int = 1
    nodes: list[Node] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def inputs_of(self, call: int) -> list[Array]:
        """What the graph gets when its module is called for the ``call``th time."""
        at = min(call, self.calls - 1)
        return [node.given[at] for node in self.nodes if node.function is None]

    def values(self, call: int, dtype: type, rounded: Callable[[Array], Array]) -> list[Array]:
        """All values, computed in ``dtype``; ``rounded`` is applied to each as soon as it is there."""
        values: list[Array] = []
        for node in self.nodes:
            operands = [values[each] for each in node.operands]
            with np.errstate(all="ignore"):  # exp(-x) of a sigmoid may be infinite, inputs may be NaN
                made = node.given[call] if node.function is None else node.function(*operands)
            values.append(rounded(np.asarray(made, dtype)))
        return values

    def evaluate(self, call: int, dtype: type, rounded: Callable[[Array], Array]) -> list[Array]:
        """Those of `values` that are results."""
        values = self.values(call, dtype, rounded)
        return [values[each] for each in self.results]

    def text(self) -> str:
        """The graph as a private function, named after its seed."""
        inputs = [f"%v{n}: {self._type(n)}" for n, node in enumerate(self.nodes) if node.function is None]
        results = ", ".join(f"%v{each}" for each in self.results)
        types = ", ".join(self.result_types)
        return "\n".join(
            [
                f"func.func private @graph_{self.seed}({', '.join(inputs)}) -> ({types}) {{",
                *(
                    node.text(f"%v{n}", *(f"%v{each}" for each in node.operands))
                    for n, node in enumerate(self.nodes)
                    if node.text is not None
                ),
                f"  return {results} : {types}",
                "}",
            ]
        )

    @property
    def input_types(self) -> list[str]:
        return [self._type(number) for number, node in enumerate(self.nodes) if node.function is None]

    @property
    def result_types(self) -> list[str]:
        return [self._type(number) for number in self.results]

    def _type(self, number: int) -> str:
        return tensor(self.nodes[number].shape, self.element)


def batch(graphs: Sequence[Graph]) -> str:
    """A module: a function for each graph, and @main, which calls all of them."""
    arguments, calls, results = [], [], []
    for graph in graphs:
        seed = graph.seed
        names = [f"%i{seed}_{each}" for each in range(len(graph.input_types))]
        arguments += [f"{name}: {kind}" for name, kind in zip(names, graph.input_types, strict=True)]
        types = f"({', '.join(graph.input_types)}) -> ({', '.join(graph.result_types)})"
        count = len(graph.results)
        calls.append(f"  %r{seed}:{count} = call @graph_{seed}({', '.join(names)}) : {types}")
        results += [f"%r{seed}#{each}" for each in range(count)]
    types = ", ".join(kind for graph in graphs for kind in graph.result_types)
    head = f"func.func @main({', '.join(arguments)}) -> ({types}) {{"
    functions = [graph.text() for graph in graphs]
    return "\n".join([*functions, head, *calls, f"  return {', '.join(results)} : {types}", "}"])


def as_numbers_of(element: str, value: Array) -> Array:
    """The nearest numbers of the type ``element``, in the dtype of ``value``."""
    nearest: Array = value.astype(numpy_dtype(element)).astype(value.dtype)
    return nearest


def tensor(shape: Shape, element: str) -> str:
    """The type as text."""
    return "tensor<" + "".join(f"{size}x" for size in shape) + f"{element}>"


def dims(rank: int) -> str:
    """All loops of a map, in order."""
    return ", ".join(f"d{dim}" for dim in range(rank))


@dataclass(frozen=True)
class Operand:
    """A tensor that a generic reads or makes, and the results of its map: "d1, d0"."""

    name: str
    shape: Shape
    element: str
    where: str

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)


def sizes(name: str, shape: Shape, sources: Sequence[Operand]) -> tuple[list[str], list[str]]:
    """Lines that ask ``sources`` for the dynamic sizes of ``shape``, and all sizes as text."""
    known = {size: (source, dim) for source in sources for dim, size in enumerate(source.shape)}
    lines, names = [], [str(size) for size in shape]
    for dim, size in enumerate(shape):
        if size.is_dynamic:
            source, place = known[size]
            names[dim] = f"{name}_n{dim}"
            lines.append(f"  {name}_d{dim} = arith.constant {place} : index")
            lines.append(f"  {names[dim]} = tensor.dim {source.name}, {name}_d{dim} : {source.type}")
    return lines, names


def empty(name: str, shape: Shape, element: str, sources: Sequence[Operand]) -> str:
    """``sources`` have the dynamic sizes of ``shape``."""
    lines, names = sizes(name, shape, sources)
    dynamic = ", ".join(each for each, size in zip(names, shape, strict=True) if size.is_dynamic)
    return "\n".join([*lines, f"  {name} = tensor.empty({dynamic}) : {tensor(shape, element)}"])


INFINITIES = {  # of integers the least and the greatest
    "-inf": {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80", "i32": str(-(2**31))},
    "inf": {"f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80", "i32": str(2**31 - 1)},
}


def constant(name: str, value: float | str, element: str) -> str:
    """``value`` is a number of the type, or "-inf" or "inf"."""
    if isinstance(value, str):
        written = INFINITIES[value][element]
    else:
        written = str(int(value) if element.startswith("i") else float(value))
    return f"  {name} = arith.constant {written} : {element}"


def filled(name: str, value: float | str, shape: Shape, element: str, sources: Sequence[Operand]) -> str:
    """A tensor of one number, for a reduction to start from; ``sources`` as for `empty`."""
    kind = tensor(shape, element)
    return "\n".join(
        [
            constant(f"{name}_c", value, element),
            empty(f"{name}_e", shape, element, sources),
            f"  {name} = linalg.fill ins({name}_c : {element}) outs({name}_e : {kind}) -> {kind}",
        ]
    )


def generic(out: Operand, init: str, reads: Sequence[Operand], kinds: str, body: str) -> str:
    """A linalg.generic. ``kinds`` has p or r for each loop; ``body`` makes %y of %a, %b … and %o."""
    loops = f"({dims(len(kinds))})"
    maps = ", ".join(f"affine_map<{loops} -> ({each.where})>" for each in (*reads, out))
    iterators = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in kinds)
    arguments = "".join(f"%{chr(97 + number)}: {read.element}, " for number, read in enumerate(reads))
    names, types = (", ".join(each) for each in ([r.name for r in reads], [r.type for r in reads]))
    ins = f"ins({names} : {types}) " if reads else ""
    return (
        f"  {out.name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} {ins}"
        f"outs({init} : {out.type}) {{\n  ^bb0({arguments}%o: {out.element}):\n    {body}\n"
        f"    linalg.yield %y : {out.element}\n  }} -> {out.type}"
    )
