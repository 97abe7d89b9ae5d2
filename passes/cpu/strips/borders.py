"""What is known of reads while part of a sum is emitted: where they lie in memory, where in the padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mlir import ir

if TYPE_CHECKING:
    from .edges import Edge
    from .emitter import Emitter


@dataclass(frozen=True)
class Border:
    """``within``: reads, with dims of their tiles, all of whose positions lie in memory.

    ``outside``: reads of padding alone. ``cut``: loops that leave out positions in the padding. ``pinned``:
    loops of which one turn alone is made; ``bounds``: others', where not all turns are.
    """

    within: frozenset[tuple[ir.Operation, int]] = frozenset()
    outside: frozenset[ir.Operation] = frozenset()
    cut: Mapping[ir.Operation, Edge] = field(default_factory=dict)
    pinned: Mapping[ir.Operation, int] = field(default_factory=dict)
    bounds: Mapping[ir.Operation, tuple[ir.Value, ir.Value]] = field(default_factory=dict)


@contextmanager
def knowing(em: Emitter, border: Border | None = None, **changes: Any) -> Iterator[None]:
    """What is known inside: ``border``, or what was known before with ``changes``."""
    before = em.border
    em.border = border or replace(before, **changes)
    try:
        yield
    finally:
        em.border = before
