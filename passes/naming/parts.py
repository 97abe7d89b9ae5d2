"""The ops of a kernel by the named ops that they are part of (``mlopt.part_of``)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mlir import ir

from ...dialects.attributes import PART_OF


def by_named_ops(ops: Sequence[ir.Operation]) -> list[tuple[str | None, list[ir.Operation]]]:
    """``ops`` in order, those of one named op together, where its first one is, with its name."""
    found: dict[Hashable, tuple[str | None, list[ir.Operation]]] = {}
    for number, op in enumerate(ops):
        part = PART_OF.get(op)
        name = None if part is None else part[0]
        found.setdefault(number if part is None else part, (name, []))[1].append(op)
    return list(found.values())
