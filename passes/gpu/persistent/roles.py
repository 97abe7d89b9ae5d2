"""Who does what in a kernel whose copies are made by warps of their own (mlopt-gpu-warp-roles)."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from ...operations import nested_ops, ops_named
from ..tma_loads import products_of


@dataclass(frozen=True)
class RoleBodies:
    """The bodies of those who copy, of the one thread of them that asks, and of those who multiply.

    ``marker`` says who is who, ``branch`` is the scf.if between the two, ``twin`` whether this is the
    kernel's twin, which has no roles.
    """

    marker: ir.Operation
    branch: ir.Operation
    asks: ir.Block
    others: ir.Block
    twin: ir.Value

    @property
    def loop(self) -> ir.Operation:
        """The one that multiplies."""
        (found,) = (op for op in nested_ops(self.others) if op.name == "scf.for" and products_of(op))
        return found


def roles_in(forall: ir.Operation) -> RoleBodies:
    """Those of a kernel that has roles."""
    (roles,) = ops_named(forall, "mlopt.warp_roles")
    copies, first, twin = roles.results
    (branch,), (alone,) = ([use.owner.operation for use in role.uses] for role in (copies, first))
    return RoleBodies(roles, branch, alone.regions[0].blocks[0], branch.regions[1].blocks[0], twin)


def ops_of(block: ir.Block) -> list[ir.Operation]:
    """The ops of a block, in their order."""
    return [op.operation for op in block.operations]
