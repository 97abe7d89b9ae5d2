"""What groups and their ops are called in reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..structured import word_for
from .graph import Graph
from .group import Group
from .kinds import Kind


def word_for_group(group: Group) -> str:
    """What a group is called: by its contraction, or else by what it makes last."""
    ops = zip(group.ops, group.kinds, strict=True)
    return word_for(next((op for op, kind in ops if kind in (Kind.ANCHOR, Kind.ATTENTION)), group.ops[-1]))


def first_word(kinds: Sequence[Kind], *groups: Group) -> str:
    """What the first op of the ``kinds`` is called."""
    ops = (pair for group in groups for pair in zip(group.ops, group.kinds, strict=True))
    return word_for(next(op for op, kind in ops if kind in kinds))


def words_for_readers(graph: Graph, readers: Iterable[Group | None]) -> str:
    """What the groups are called, in the block's order; the end of the function is who calls it."""
    groups = sorted((each for each in readers if each is not None), key=graph.last_position)
    words = [*dict.fromkeys(map(word_for_group, groups)), *(["the caller"] if None in readers else [])]
    return " and ".join(words)
