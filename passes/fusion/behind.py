"""Edges that lead through the host function: from a kernel through a reshape, or a number, to another one.

Nobody tries to fuse these, since what lies between the kernels stays outside of them; so they are noted last.
What lies between is the reason only where the kinds of ops on both sides would go together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir

from ...dialects.attributes import WHOLE
from ..moving.between import why_between
from ..raising.reshape import RESHAPES
from .edges import GATHER
from .graph import Graph
from .group import Group
from .kinds import Kind
from .legal import IN_HOST, RESHAPE, why_even_so

VIEWS = (*RESHAPES, "tensor.cast")
_NO_VALUES = ("tensor.dim", "tensor.empty")  # they depend on sizes only


@dataclass(frozen=True)
class Behind:
    """``reader`` reads ``read``, which the host function makes of ``made``; ``alone``: and nobody else."""

    made: ir.Value
    read: ir.Value
    reader: ir.Operation
    reason: str
    alone: bool


def why_behind(name: str) -> str:
    """What keeps two kernels apart between which the host function has the op ``name``."""
    return RESHAPE if name in VIEWS else f"{name}{IN_HOST} is between them"


def _why_behind(name: str, reader: ir.Operation, read: ir.Value) -> str:
    reason = why_between(reader, read) if name in VIEWS else None
    return why_behind(name) if reason is None else f"{RESHAPE}: {reason}"


def passes_values(name: str) -> bool:
    """Whether the op ``name`` of the host function makes something of its operands' values."""
    return name not in _NO_VALUES


def edges_behind(graph: Graph, consumer: Group) -> Iterator[tuple[Group, Behind]]:
    """What ``consumer`` reads of other groups' results through the host function."""
    if consumer.has(Kind.HOST):
        return
    for reader in consumer.ops:
        inside = {value for owner, _, value in graph.operands_of(reader) if owner != reader}
        for read in dict.fromkeys(value for _, _, value in graph.operands_of(reader)):
            pending = [(read, True, GATHER if read in inside else "")]
            while pending:
                value, alone, note = pending.pop()
                host = graph.group_of(value)
                if host is None or not host.has(Kind.HOST) or not passes_values(value.owner.name):
                    continue
                alone = alone and not graph.is_read_outside(value, host, consumer)
                note = WHOLE.get(value.owner) or note
                for made in host.sources:
                    maker = graph.group_of(made)
                    if maker is not None and not maker.has(Kind.HOST):
                        only = alone and not graph.is_read_outside(made, maker, host)
                        reason = why_even_so(graph, maker, consumer, made, reader)
                        reason = reason or note or _why_behind(value.owner.name, reader, read)
                        yield maker, Behind(made, read, reader, reason, only)
                    else:
                        pending.append((made, alone, note))
