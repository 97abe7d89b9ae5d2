"""Where in the user's text or program an op comes from. Imports no MLIR: errors travel between processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir


def source_of(location: ir.Location) -> tuple[str, int, int]:
    """File, line and column of the first file location inside ``location``, or ``("", 0, 0)``."""
    for inner in _walk(location):
        if inner.is_a_file():
            return inner.filename, inner.start_line, inner.start_col
    return "", 0, 0


def place_of(location: ir.Location) -> str:
    """``file:line`` of the first file location inside ``location``; of a module its name alone."""
    file, line, _ = source_of(location)
    return f"{file}:{line}" if line else file


def _walk(location: ir.Location) -> Iterator[ir.Location]:
    yield location
    if location.is_a_name():
        yield from _walk(location.child_loc)
    elif location.is_a_callsite():
        yield from _walk(location.callee)
        yield from _walk(location.caller)
    elif location.is_a_fused():
        for inner in location.locations:
            yield from _walk(inner)
