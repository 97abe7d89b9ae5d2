"""What becomes of element-wise work that several kernels read.

::

    %c = cast %x : f16 to f32      stored once, and read by each kernel;
    %s = sum %c                    or fused with all that read it;
    %m = max over other dims %c    or computed again by each kernel, where that moves fewer bytes

All is decided by the time that the kernels take together. It is decided last: what reads the value is then
as large as it gets, and often reads what the value is made of anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .graph import Graph
from .group import Group
from .kinds import Kind
from .legal import can_copy, can_fuse
from .price import Prices
from .profit import should_go_together
from .saving import Saving


@dataclass(frozen=True)
class Copies:
    """The readers that compute a value themselves, and what that saves of each one's time."""

    readers: tuple[Group, ...]
    saving: Saving


def is_shared(graph: Graph, group: Group) -> bool:
    """Whether a group of element-wise ops is read by several others, and by nothing but kernels."""
    if any(kind is not Kind.POINTWISE for kind in group.kinds) or len(group.outputs) < 2:
        return False
    return all(reader is not None and not reader.has(Kind.HOST) for reader in graph.readers_of(group))


def best_for(
    graph: Graph, prices: Prices, shared: Group, readers: Sequence[Group]
) -> Copies | tuple[Group, Saving] | None:
    """Copies, or one kernel with all readers; None: it is stored, or fused with one reader."""
    copies = _copies(graph, prices, shared, readers)
    together = _together(graph, prices, shared, readers)
    single = max((_alone(graph, prices, shared, reader) for reader in readers), default=0.0)
    bar = max(single, 0.0)
    of_copies = 0.0 if copies is None else copies.saving.seconds
    if together is not None and together[1].seconds > bar and together[1].seconds >= of_copies:
        return together
    return copies if of_copies > bar else None


def _copies(graph: Graph, prices: Prices, shared: Group, readers: Sequence[Group]) -> Copies | None:
    """All readers that gain, and what all of them gain together."""
    possible = []
    for reader in readers:
        domain = can_copy(graph, shared, reader)
        if isinstance(domain, str) or should_go_together(graph, (shared, reader), domain) is not None:
            continue
        price = prices.with_copy(shared, reader, domain)
        possible.append((reader, price))
    for whole in (True, False):
        if whole and len(possible) < len(readers):
            continue
        chosen = [each for each in possible if whole or each[1].seconds < prices.of(each[0]).seconds]
        before = [prices.of(reader) for reader, _ in chosen] + [prices.of(shared)] * whole
        after = [price for _, price in chosen]
        if after and prices.saved(before, after).seconds > 0:
            return Copies(tuple(reader for reader, _ in chosen), prices.saved(before, after))
    return None


def _together(
    graph: Graph, prices: Prices, shared: Group, readers: Sequence[Group]
) -> tuple[Group, Saving] | None:
    groups = (shared, *readers)
    joined = can_fuse(graph, groups)
    if isinstance(joined, str) or should_go_together(graph, groups, joined.domain) is not None:
        return None
    return joined, prices.saving(groups, joined.domain)


def _alone(graph: Graph, prices: Prices, shared: Group, reader: Group) -> float:
    pair = shared, reader
    joined = can_fuse(graph, pair)
    if isinstance(joined, str) or should_go_together(graph, pair, joined.domain) is not None:
        return 0.0
    return prices.saving(pair, joined.domain).seconds
