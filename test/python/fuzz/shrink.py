"""The smallest part of a graph that still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .graphs import Graph, Node, as_numbers_of


def smallest(graph: Graph, fails: Callable[[Graph], bool]) -> Graph:
    """``graph`` with as few results and ops as fail; each trial is a compilation."""
    if fails(used(graph)):
        graph = used(graph)
    while True:
        found = next((part for part in _parts(graph) if fails(part)), None)
        if found is None:
            return graph
        graph = found


def _parts(graph: Graph) -> Iterator[Graph]:
    """``graph`` with fewer results, with an operand for a result, and with an input for a value."""
    for result in graph.results if len(graph.results) > 1 else []:
        yield used(replace(graph, results=[each for each in graph.results if each != result]))
    values = [graph.values(call, np.float64, lambda value: value) for call in range(graph.calls)]
    made = [number for number, node in enumerate(graph.nodes) if node.function is not None]
    for number in reversed(made[:-1]):
        given = tuple(as_numbers_of(graph.element, of_call[number]) for of_call in values)
        nodes = list(graph.nodes)
        nodes[number] = Node(nodes[number].shape, given=given)
        part = used(replace(graph, nodes=nodes, results=[each for each in graph.results if each != number]))
        if part.results and len(part.nodes) < len(graph.nodes):
            yield part
    for operand in graph.nodes[graph.results[0]].operands if len(graph.results) == 1 else ():
        if graph.nodes[operand].function is not None:
            yield used(replace(graph, results=[operand]))


def used(graph: Graph) -> Graph:
    """``graph`` with those values alone that its results are made of."""
    used: set[int] = set()
    pending = list(graph.results)
    while pending:
        number = pending.pop()
        if number not in used:
            used.add(number)
            pending += graph.nodes[number].operands
    place = {number: at for at, number in enumerate(sorted(used))}
    nodes = [
        replace(graph.nodes[number], operands=tuple(place[each] for each in graph.nodes[number].operands))
        for number in place
    ]
    return replace(graph, nodes=nodes, results=[place[each] for each in graph.results])
