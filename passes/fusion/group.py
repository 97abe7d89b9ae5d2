"""Ops that are one kernel, or will be."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from ..domain import Domain
from .kinds import Kind


@dataclass(eq=False)
class Group:
    """Ops that become one kernel, or one op that stays in the host function.

    ``bits`` has one bit for each group that went into this one, ``above`` those of all groups that it
    depends on, directly or not; ``inputs`` are the groups that it reads, ``outputs`` those that read it,
    ``sources`` the values that its ops read, and ``made`` the results of its ops.
    """

    ops: list[ir.Operation]
    kinds: list[Kind]
    bits: int
    above: int = 0
    inputs: set[Group] = field(default_factory=set)
    outputs: set[Group] = field(default_factory=set)
    sources: dict[ir.Value, None] = field(default_factory=dict)
    made: dict[ir.Value, None] = field(default_factory=dict)
    domain: Domain | None = None

    def has(self, *kinds: Kind) -> bool:
        """Whether an op of one of these kinds is in the group."""
        return any(map(kinds.__contains__, self.kinds))
