"""Where to draw a graph without circles: in layers, so that edges go downwards and rarely cross."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

Node = Hashable
Edge = tuple[Node, Node]
Point = tuple[float, float]
Near = Mapping[Node, Sequence[Node]]

_GAP_X, _GAP_Y = 24.0, 28.0
_LONE_IN_A_ROW = 4  # nodes without edges
_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """The middle of each node, the points that each edge goes through, and how much room that takes."""

    middles: Mapping[Node, Point]
    routes: Mapping[Edge, Sequence[Point]]
    width: float
    height: float


def lay_out(sizes: Mapping[Node, Point], edges: Sequence[Edge]) -> Layout:
    """Place nodes of these widths and heights, in the way of Sugiyama: layers, order, then coordinates.

    An edge over several layers has a place of no width in each that it passes.
    """
    ranks = _ranks(sizes, edges)
    paths = {edge: list(_path(edge, ranks)) for edge in edges}
    size = {**{node: (0.0, 0.0) for path in paths.values() for node in path}, **sizes}
    layers: list[list[Node]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for node in sizes:
        layers[ranks[node]].append(node)
    for (maker, _), path in paths.items():
        for step, node in enumerate(path[1:-1], start=1):
            layers[ranks[maker] + step].append(node)
    near = _neighbours(paths.values())
    _order(layers, near)
    x = _columns(layers, near, {node: width for node, (width, _) in size.items()})
    middles: dict[Node, Point] = {}
    top = 0.0
    for layer in layers:
        height = max(size[node][1] for node in layer)
        middles.update({node: (x[node], top + height / 2) for node in layer})
        top += height + _GAP_Y
    width = max((x[node] + size[node][0] / 2 for node in size), default=0.0)
    routes = {edge: [middles[node] for node in path] for edge, path in paths.items()}
    return Layout(middles, routes, width, max(0.0, top - _GAP_Y))


def _ranks(nodes: Mapping[Node, Point], edges: Sequence[Edge]) -> dict[Node, int]:
    """The layer of each node: one below all that it reads, and not far above what reads it."""
    above: dict[Node, list[Node]] = {node: [] for node in nodes}
    below: dict[Node, list[Node]] = {node: [] for node in nodes}
    for maker, reader in edges:
        above[reader].append(maker)
        below[maker].append(reader)
    ranks: dict[Node, int] = {}
    for node in TopologicalSorter(above).static_order():
        ranks[node] = max((ranks[each] + 1 for each in above[node]), default=0)
    for node in nodes:
        if below[node] and not above[node]:
            ranks[node] = min(ranks[each] for each in below[node]) - 1
    lone = [node for node in nodes if not above[node] and not below[node]]
    first = max((ranks[node] + 1 for node in nodes if above[node] or below[node]), default=0)
    ranks.update({node: first + number // _LONE_IN_A_ROW for number, node in enumerate(lone)})
    return ranks


def _path(edge: Edge, ranks: Mapping[Node, int]) -> Iterator[Node]:
    """The nodes of an edge, and a place in each layer between them."""
    maker, reader = edge
    yield maker
    yield from ((edge, rank) for rank in range(ranks[maker] + 1, ranks[reader]))
    yield reader


def _neighbours(paths: Iterable[Sequence[Node]]) -> tuple[Near, Near]:
    """For each node those in the layer above, and those in the layer below."""
    above: dict[Node, list[Node]] = {}
    below: dict[Node, list[Node]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    return above, below


def _order(layers: list[list[Node]], near: tuple[Near, Near]) -> None:
    """Sort each layer by where the neighbours are in the one before, downwards and upwards in turn."""
    for sweep in range(_SWEEPS):
        place = {node: number / len(layer) for layer in layers for number, node in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            around = near[sweep % 2]
            layer.sort(key=lambda node: _mean([place[each] for each in around.get(node, ())], place[node]))
            place.update({node: number / len(layer) for number, node in enumerate(layer)})


def _columns(
    layers: list[list[Node]], near: tuple[Near, Near], widths: Mapping[Node, float]
) -> dict[Node, float]:
    """The middle of each node: near the mean of its neighbours', in the layer's order, without overlaps."""
    x: dict[Node, float] = {}
    for layer in layers:
        x.update(_apart(layer, dict.fromkeys(layer, 0.0), widths))
    for sweep in range(2 * _SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {
                node: _mean([x[each] for around in near for each in around.get(node, ())], x[node])
                for node in layer
            }
            x.update(_apart(layer, wanted, widths))
    left = min((x[node] - widths[node] / 2 for node in x), default=0.0)
    return {node: value - left for node, value in x.items()}


def _apart(
    layer: list[Node], wanted: Mapping[Node, float], widths: Mapping[Node, float]
) -> dict[Node, float]:
    """Places in order and with gaps: halfway between what only pushes to the right, and only to the left."""
    places = []
    for sign in (1, -1):
        at: dict[Node, float] = {}
        edge = float("-inf")
        for node in layer if sign > 0 else reversed(layer):
            middle = max(sign * wanted[node], edge + widths[node] / 2)
            at[node] = sign * middle
            edge = middle + widths[node] / 2 + _GAP_X
        places.append(at)
    return {node: (places[0][node] + places[1][node]) / 2 for node in layer}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
