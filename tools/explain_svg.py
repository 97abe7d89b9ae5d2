"""``mlopt explain --svg``: kernels as boxes; dashed, what is between two, and why they were not fused."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..errors import InputError
from .explain import Explained, Explanation
from .explain_text import mega, micro, moved, notes, reasons_of, summary, words_for
from .layered import Edge, Node, Point, lay_out

_MARGIN = 20.0
_PAD = 6.0
_LINE, _LETTER = 14.0, 6.7  # of the text, in pixels
_COLUMNS = 34  # letters of a line of a reason
_MOST_LINES = 4  # of reasons: all of them are in the tooltip
_STYLE = """
text { font: 11px ui-monospace, monospace; fill: #223 }
.name { font-weight: bold } .why { fill: #667 }
rect { stroke: #556 } path { fill: none; stroke: #778; stroke-dasharray: 5 3 }
.memory { fill: #dcebfa } .compute { fill: #fbe6cf } .launch { fill: #eeeeee } .special { fill: #f3dff5 }
.slow { stroke: #c00; stroke-width: 2 }
"""


def write(explained: Explanation, path: Path) -> None:
    """The image as a file."""
    try:
        path.write_text(svg(explained), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}", remedy="name another file") from None


def svg(explained: Explanation) -> str:
    """All of it as an SVG image: @main, @prepare and notes below it. Each call of a kernel is a box."""
    root = Element("svg", xmlns="http://www.w3.org/2000/svg")
    SubElement(root, "title").text = f"{explained.source} for {explained.target}"
    SubElement(root, "style").text = _STYLE
    width, height = 0.0, _MARGIN
    for function in ("main", "prepare"):
        kernels = explained.of(function)
        if kernels:
            heading = summary(explained, function)
            _write(root, heading, (_MARGIN, height), {"class": "name"})
            group = SubElement(root, "g", transform=f"translate({_MARGIN} {height + 2 * _LINE:.1f})")
            size = _draw(group, kernels, explained.edges)
            width = max(width, size[0], _LETTER * len(heading))
            height += size[1] + 4 * _LINE
    for line in (line for heading, about in notes(explained).items() for line in (heading, *about)):
        _write(root, line, (_MARGIN, height), {})
        width, height = max(width, _LETTER * len(line)), height + _LINE
    root.attrib.update(viewBox=f"0 0 {width + 2 * _MARGIN:.0f} {height:.0f}")
    root.attrib.update(width=f"{width + 2 * _MARGIN:.0f}", height=f"{height:.0f}")
    indent(root)
    return tostring(root, encoding="unicode")


@dataclass(frozen=True)
class _Box:
    """A kernel; or what an edge says, on its way: without ``kind`` there is text and no box."""

    lines: Sequence[str]
    tip: str
    kind: str = ""

    @property
    def size(self) -> Point:
        return _LETTER * max(map(len, self.lines)) + 2 * _PAD, _LINE * len(self.lines) + 2 * _PAD


def _draw(root: Element, kernels: Sequence[Explained], edges: Sequence[Mapping[str, Any]]) -> Point:
    """The calls of one function and the edges between them; how large that is."""
    boxes: dict[Node, _Box] = {
        call["id"]: _of_call(kernel, call) for kernel in kernels for call in kernel.calls
    }
    ways: list[Edge] = []
    for edge in edges:
        if edge["from"] in boxes:
            label = edge["from"], edge["to"]
            boxes[label] = _of_edge(edge)
            ways += [(edge["from"], label), (label, edge["to"])]
    layout = lay_out({node: box.size for node, box in boxes.items()}, ways)
    for (maker, reader), points in layout.routes.items():
        _connect(root, points, boxes[maker].size[1] / 2, boxes[reader].size[1] / 2)
    for node, box in boxes.items():
        _place(root, box, layout.middles[node])
    return layout.width, layout.height


def _of_call(kernel: Explained, call: Mapping[str, Any]) -> _Box:
    facts = (
        f"{mega(kernel.cost.bytes)} MB, {micro(kernel.prediction.seconds)} µs, {kernel.prediction.bound_by}"
    )
    ops = "\n".join(f"{words_for(op)}  {op['where']}" for op in call["ops"])
    slow = "" if kernel.path == "tile" else " slow"
    return _Box((kernel.name, facts), f"{kernel.path}\n{ops}", kernel.prediction.bound_by + slow)


def _of_edge(edge: Mapping[str, Any]) -> _Box:
    reasons = reasons_of(edge)
    lines = [line for reason in reasons for line in textwrap.wrap(reason, _COLUMNS)]
    shown = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "…"]
    return _Box((moved(edge), *shown), "\n".join(reasons))


def _place(root: Element, box: _Box, middle: Point) -> None:
    width, height = box.size
    left, top = middle[0] - width / 2, middle[1] - height / 2
    group = SubElement(root, "g")
    SubElement(group, "title").text = box.tip
    if box.kind:
        place = {"x": left, "y": top, "width": width, "height": height}
        SubElement(
            group, "rect", {"class": box.kind, **{name: f"{each:.1f}" for name, each in place.items()}}
        )
    for number, line in enumerate(box.lines):
        kind = {"class": "why"} if number and not box.kind else {"class": "name"} if not number else {}
        _write(group, line, (left + _PAD, top + _PAD + _LINE * number), kind)


def _write(root: Element, line: str, corner: Point, kind: Mapping[str, str]) -> None:
    x, y = corner
    SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y + 0.8 * _LINE:.1f}", **kind}).text = line


def _connect(root: Element, points: Sequence[Point], start: float, end: float) -> None:
    """A line that leaves and arrives upright, from below the first point to above the last."""
    (x, y), *between, (last_x, last_y) = points
    path = f"M{x:.1f},{y + start:.1f}"
    y += start
    for next_x, next_y in [*between, (last_x, last_y - end)]:
        half = (y + next_y) / 2
        path += f" C{x:.1f},{half:.1f} {next_x:.1f},{half:.1f} {next_x:.1f},{next_y:.1f}"
        x, y = next_x, next_y
    SubElement(root, "path", d=path)
