"""Warpgroups take turns with a block's tiles: one multiplies while the other one ends what it has made.

Before, one warpgroup that multiplies::

    %full, %empty = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 4>} : …
    %copies, %first, %twin = "mlopt.warp_roles"() …
    %turns = "mlopt.turns"() : () -> index
    scf.if %copies { … } else {
      scf.for %turn = %c0 to %turns step %c1 {
        "mlopt.task"(%turn)
        %d = scf.for %k = … iter_args(%s = %zero) -> (vector<64x256xf32>) { … }
        %e = "mlopt.warpgroup_result"(%d)
        … what is made of %e, and its store …
      }
      "mlopt.tma_stored"()
    } {mlopt.schedule = {persistent = array<i64: 132>, ping_pong = array<i64: 2>, …}}

After, two, each with every second tile::

    %order = "mlopt.tma_barriers"() {arrivals = array<i64: 4>} : () -> memref<2xi64, …>
    …
    %own = "mlopt.consumer"() : () -> index                             // 0 or 1
    scf.if %copies { … } else {
      scf.for %turn = %own to %turns step %c2 {
        "mlopt.task"(%turn)
        "mlopt.tma_wait"(%order, %own, %round)
        %d = scf.for %k = … { … }
        "mlopt.pass_on"(%order, %other)
        %e = "mlopt.warpgroup_result"(%d)
        …
    } {mlopt.schedule = {consumers = array<i64: 2>, …}}

The ring is filled tile after tile as before, so that a warpgroup's slots and rounds go on by the steps of the
other one's tile, and a slot is read, and given back, by one of them alone. A loop may begin when the other
one has waited for all of its steps: before that, an mbarrier's parity could be that of an earlier round. So
the tensor cores have one loop at a time, and what comes behind it (functions of the sums, what is added, the
store) takes its time beside the other's. Each has bytes of its own for what it stores, and a barrier of its
own. The kernel's twin for what is unaligned has one warpgroup, and one tile.

Legal behind mlopt-gpu-persistent-grid, where both have the registers that one needs, with as many blocks on a
multiprocessor, and there is room for what both store (`can_ping_pong`). Done where the schedule wants it:
it has compared blocks of two warpgroups that share a tile with such blocks, by what is computed behind the
product (`should_ping_pong`, ``scheduling/warpgroup_blocks``).

Effect by the model of an H100, a GELU and a residual behind a product of 4096 x 4096 in bf16: 40 µs, not 52,
with a depth of 512, and 69 µs, not 72, with one of 1024; with one of 1536 blocks of 128x256 stay, whose
steps read less. As many registers as these have (168, of which nothing is spilled), and as many bytes from
memory as the same tiles made one by one (emulated).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import affine

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..constants import index_constant
from ..operations import ops_named
from .grids import grids_of
from .layouts.warps import BLOCK_SHARED, CONSUMERS, RESERVED, wanted_consumers, warps_of
from .persistent.roles import ops_of, roles_in
from .persistent.room import taken
from .rings import SPACE, create
from .warp_roles import FEW, Roles, roles_of


@dataclass(frozen=True)
class PingPong(Pass):
    """Let warpgroups take turns; ``shared``: the bytes of a multiprocessor."""

    name: ClassVar[str] = "mlopt-gpu-ping-pong"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite each kernel whose schedule wants it."""
        for forall in grids_of(op):
            if should_ping_pong(forall) and (found := can_ping_pong(forall, self.shared)) is not None:
                _rewrite(forall, found)


def should_ping_pong(forall: ir.Operation) -> bool:
    """Whether the schedule predicts that it is faster than all other blocks."""
    return wanted_consumers(forall) == CONSUMERS


def can_ping_pong(forall: ir.Operation, shared: int) -> Roles | None:
    """The warps that copy for both, and what registers they have, or None."""
    schedule = SCHEDULE.get(forall) or {}
    if "persistent" not in schedule:
        return None
    _, blocks = schedule["roles"]
    if taken(forall, tiles=CONSUMERS) > shared // blocks - RESERVED:
        return None
    return roles_of(ops_of(roles_in(forall).loop.block), CONSUMERS * warps_of(forall), blocks)


def _rewrite(forall: ir.Operation, found: Roles) -> None:
    """Give each of two warpgroups every second task."""
    roles = roles_in(forall)
    loop = roles.loop
    tasks, turn = loop.parent.operation, loop.block.arguments[0]
    with ir.InsertionPoint(roles.marker), forall.location:
        order = _mbarriers(warps_of(forall))
    with ir.InsertionPoint(roles.branch), forall.location:
        own = ir.Operation.create("mlopt.consumer", [ir.IndexType.get()]).results[0]
        other = affine.AffineApplyOp(ir.AffineMap.get(1, 0, [1 - ir.AffineDimExpr.get(0)]), [own]).result
        step = index_constant(CONSUMERS)
    tasks.operands[0], tasks.operands[2] = own, step
    with ir.InsertionPoint(loop), loop.location:
        create("mlopt.tma_wait", [order, own, _round_of(turn)])
    with ir.InsertionPoint.after(loop), loop.location:
        create("mlopt.pass_on", [order, other])
    _give_registers(forall, roles.branch, found)
    schedule = {name: each for name, each in (SCHEDULE.get(forall) or {}).items() if name != "ping_pong"}
    new = {"consumers": (CONSUMERS,), "roles": (found.producers, found.blocks)}
    SCHEDULE.set(forall, {**schedule, **new})


def _mbarriers(warps: int) -> ir.Value:
    """One for each warpgroup: the other one's warps arrive when it may multiply."""
    word = ir.IntegerType.get_signless(64)
    kind = ir.MemRefType.get([CONSUMERS], word, memory_space=ir.Attribute.parse(SPACE))
    counts = {"arrivals": ir.DenseI64ArrayAttr.get([warps])}
    return ir.Operation.create("mlopt.tma_barriers", [kind], [], counts).results[0]


def _round_of(turn: ir.Value) -> ir.Value:
    """The parity of the round in which the warpgroup of a turn is told to go on.

    Of turns 1, 3, … it is told in rounds 0, 1, …; of 2, 4, … too, and for turn 0 nobody waits.
    """
    rounds = ir.AffineExpr.get_ceil_div(ir.AffineDimExpr.get(0), CONSUMERS) + 1
    where = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_mod(rounds, 2)])
    return affine.AffineApplyOp(where, [turn]).result


def _give_registers(forall: ir.Operation, branch: ir.Operation, roles: Roles) -> None:
    """Let threads of both sides have what is found, not what one warpgroup would have."""
    for op in ops_named(forall, "mlopt.set_registers"):
        op.erase()
    if roles.registers is None:
        return
    for region, count, more in zip(branch.regions, (FEW, roles.registers), (0, 1), strict=True):
        with ir.InsertionPoint.at_block_begin(region.blocks[0]), branch.location:
            create("mlopt.set_registers", count=count, more=more)
