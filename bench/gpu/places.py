"""Where a kernel's accesses to global memory go, as its PTX says: to which buffers, to known places or not.

Registers are followed back to parameters, loads and the thread's number, whatever the order: LLVM writes each
of them once, but for those that loops carry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...runtime.emulator.counters import Line

WIDEST = 128  # bits of an access
SECTOR = 32
_ACCESS = re.compile(r"(?P<kind>ld|st)\.global\S*?(?:\.v(?P<count>\d))?\.[a-z](?P<bits>\d+)\s")
_NAME = re.compile(r"%[\w.]+|\w+_param_\d+")
_LOADS = ("ld.global", "ld.shared")
_OF_A_LANE = {"%tid.x", "%laneid"}


@dataclass(frozen=True)
class Place:
    """A line that accesses memory: ``count`` neighbours of ``bits`` bits a lane.

    Its address comes from the parameters ``buffers``, and from what the lines ``found`` have loaded, of which
    each lane has its own.
    """

    line: Line
    kind: str
    count: int
    bits: int
    buffers: frozenset[str]
    found: frozenset[int]

    @property
    def width(self) -> int:
        """The bits of an access."""
        return self.count * self.bits

    @property
    def elements(self) -> int:
        """How many elements all lanes access."""
        return 8 * self.line.bytes // self.bits


def places_of(lines: Sequence[Line]) -> list[Place]:
    """The accesses among a kernel's lines."""
    made: dict[str, list[Line]] = {}
    for line in lines:
        for name in _targets(line.text):
            made.setdefault(name, []).append(line)
    found = []
    for line in lines:
        access = _ACCESS.match(line.text)
        if access is None or not line.requests:
            continue
        names, loads = _origins(_address(line.text), made)
        own = {load.line for load in loads if _origins(_address(load.text), made)[0] & _OF_A_LANE}
        buffers = frozenset(name for name in names if "_param_" in name)
        bits, count = int(access["bits"]), int(access["count"] or 1)
        found.append(Place(line, access["kind"], count, bits, buffers, frozenset(own)))
    return found


def anywhere(places: Sequence[Place]) -> set[int]:
    """The lines that load single elements from places that the lanes have loaded, one for each of those.

    Nobody knows what lies beside such an element. Who loads more than one of them with a place, as a row of
    an embedding, knows its neighbours.
    """
    scattered = [each for each in places if each.kind == "ld" and each.count == 1 and each.found]
    sources = {line for each in scattered for line in each.found}
    known = sum(each.elements for each in places if each.line.line in sources)
    if sum(each.elements for each in scattered) > known:
        return set()
    return {each.line.line for each in scattered}


def smaller_shares(places: Sequence[Place]) -> set[int]:
    """The lines that bring all that a thread has of a buffer, fewer bits than it has of another at once.

    They fill their sectors, and a wide access beside them moves as many times more as it is wider: with more
    of this buffer the thread would have more of the other than an access holds.
    """
    widest = max((each.line.bytes for each in places if each.width == WIDEST), default=0)
    found = set()
    for each in places:
        same = [other.width for other in places if (other.kind, other.buffers) == (each.kind, each.buffers)]
        fills = each.line.distinct == SECTOR * each.line.sectors
        if sum(same) < WIDEST and fills and widest * each.width >= WIDEST * each.line.bytes:
            found.add(each.line.line)
    return found


def single_accesses(places: Sequence[Place], threads: int) -> set[int]:
    """The lines by which each of ``threads`` threads has all that it has of a buffer, in one access."""
    found = set()
    for each in places:
        same = [other.width for other in places if (other.kind, other.buffers) == (each.kind, each.buffers)]
        if sum(same) == each.width and each.line.threads <= threads:
            found.add(each.line.line)
    return found


def _origins(names: Iterable[str], made: dict[str, list[Line]]) -> tuple[set[str], list[Line]]:
    """The names that some names come from without going through loads, and those loads."""
    seen, loads, waiting = set[str](), list[Line](), list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in made.get(name, ()):
            if line.text.startswith(_LOADS):
                loads.append(line)
            else:
                waiting += _NAME.findall(line.text)
    return seen, loads


def _targets(text: str) -> list[str]:
    """The registers that an instruction writes, as far as addresses may come from them."""
    opcode, _, operands = text.partition(" ")
    if opcode.startswith(("st.", "bra", "bar", "red", "@")):
        return []
    first = operands.split("}")[0] if operands.strip().startswith("{") else operands.split(",")[0]
    return _NAME.findall(first)


def _address(text: str) -> list[str]:
    return _NAME.findall(text[text.index("[") : text.index("]")])
