"""A warp of its own asks for the boxes that warpgroups multiply: it runs ahead, and they wait for data alone.

Before::

    %full = "mlopt.tma_barriers"() {arrivals = array<i64: 2>} : () -> memref<4xi64, …>
    … mlopt.tma_load of the first two steps, each with an mlopt.tma_commit …
    %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
      "mlopt.tma_turn"() {pending = 1, proxy = 1}
      … mlopt.tma_load of the step after the next …
      "mlopt.tma_commit"()
      "mlopt.tma_wait"(%full, %slot, %round)
      %t = "mlopt.warpgroup_mma"(%ring, %slot, %other, %slot, %s) {…}
      "mlopt.warpgroup_wait"() {pending = 1}
      scf.yield %t
    }
    …

After::

    %full, %empty = "mlopt.tma_barriers"() {arrivals = array<i64: 2, 8>} : () -> (memref<4xi64, …>, …)
    %copies, %first, %twin = "mlopt.warp_roles"() : () -> (i1, i1, i1)
    scf.if %copies {                                                     // a ninth warp
      scf.if %first {                                                    // one thread of it
        scf.for %k = %c0 to %n step %c64 {
          "mlopt.tma_wait"(%empty, %slot, %before)                       // 1 - (%k / 256) mod 2
          … mlopt.tma_load {alone} of this step …
        }
      }
    } else {
      scf.if %twin { … mlopt.tma_load of the first two steps … }
      %d = scf.for %k = %c0 to %n step %c64 iter_args(%s = %zero) -> (vector<128x256xf32>) {
        scf.if %twin { "mlopt.tma_turn" … "mlopt.tma_commit"() }
        "mlopt.tma_wait"(%full, %slot, %round)
        %t = "mlopt.warpgroup_mma"(%ring, %slot, %other, %slot, %s) {…}
        "mlopt.warpgroup_wait"() {pending = 1}
        "mlopt.tma_free"(%empty, %last, %c0, %k)                         // the slot of the step before
        scf.yield %t
      }
      …
    }

No warp waits for the others in a step, and the copies of all stages are on their way, not of two fewer. What
the kernel's twin for what is unaligned does is as it was: its threads copy, and it has no ninth warp.

Where threads would have too few registers then, a warpgroup copies instead: it gives most of its own to the
others (mlopt.set_registers, 40 and 232 for two warpgroups that multiply). So it does behind functions of the
sums: of a GELU of 128 x 256 in bf16 a thread with 168 registers stores and loads 28 bytes, with 232 none.

Attention's queries come first, once; of loops that go on where the one before has ended, copies go on, too.

Legal behind mlopt-gpu-tma-loads, which has asked. Done where threads have the registers that sums and what is
read before they are there take, with as many blocks on a multiprocessor as before (`find_roles`).

Effect on sm_90a, 8192 x 8192 x 8192 in bf16 by blocks of 128x256x64: a step of those who multiply has 62
instructions, not 98, and no barrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from ...dialects.attributes import SCHEDULE
from ..base import Pass
from ..constants import integer_of
from ..operations import block_ops, nested_ops
from .grids import grids_of
from .layouts.access import bytes_of, is_copied, words_of
from .layouts.tiles import is_tile
from .layouts.warpgroup import HELD, WARPS
from .layouts.warps import (
    BLOCK_SHARED,
    REGISTER_STEP,
    RESERVED,
    blocks_with_registers,
    registers_for,
    warps_of,
)
from .rings import create, read_at, round_of, slot_of
from .tma_loads import products_of

_BARRIERS, _LOAD = "mlopt.tma_barriers", "mlopt.tma_load"
ADDRESSES = 24  # registers for places and counters, as ptxas has them in such kernels
FUNCTIONS = 24  # registers for what functions (erf, tanh, exp) of several sums at once are made of
WEIGHT = 3  # registers for two weights of attention and their scores, some of which are weights already
FEW = 40  # registers of a thread that copies: more than it needs, the least that others use
_MOST = 240  # that setmaxnreg gives
_ORDER = ("mlopt.tma_turn", "mlopt.tma_commit")  # of copies by threads


@dataclass(frozen=True)
class WarpRoles(Pass):
    """Give copies by boxes to a warp that does nothing else; ``shared``: bytes of a multiprocessor."""

    name: ClassVar[str] = "mlopt-gpu-warp-roles"
    shared: int = BLOCK_SHARED

    def run(self, op: ir.Operation) -> None:
        """Rewrite each kernel with one loop of such copies, or loops that share their rings."""
        for forall in grids_of(op):
            loops = _loops_of(block_ops(forall))
            full = {load.operands[5] for loop in loops for load in _named(block_ops(loop), _LOAD)}
            if len(full) == 1 and (roles := find_roles(forall, self.shared)) is not None:
                _rewrite(forall, full.pop().owner.operation, roles)


@dataclass(frozen=True)
class Roles:
    """The warps that copy, of blocks of which so many are on a multiprocessor.

    ``registers``: those of a thread that multiplies, if it gets them from those that copy.
    """

    producers: int
    blocks: int
    registers: int | None = None


def find_roles(forall: ir.Operation, shared: int) -> Roles | None:
    """The fewest warps that can copy for the others, with no fewer blocks on a multiprocessor than before."""
    body = block_ops(forall)
    rings = [ir.MemRefType(op.results[0].type) for op in _named(body, "mlopt.shared_ring")]
    ring = sum(prod(each.shape) * bytes_of(each.element_type) for each in rings)
    blocks = min(blocks_with_registers(forall), max(shared // (ring + RESERVED), 1))
    return roles_of(body, warps_of(forall), blocks)


def roles_of(body: Sequence[ir.Operation], warps: int, blocks: int) -> Roles | None:
    """The fewest warps that can copy for those that run ``body``, of so many blocks on a multiprocessor."""
    needed = _registers(body) + ADDRESSES
    # Functions of the sums spill where these leave just room for themselves, but may do without more.
    return roles_for(warps, blocks, needed + _for_functions(body)) or roles_for(warps, blocks, needed)


def roles_for(warps: int, blocks: int, needed: float) -> Roles | None:
    """The fewest warps that can copy for ``warps`` whose threads need so many registers, if there are any."""
    if registers_for(blocks * (warps + 1)) >= needed:
        return Roles(1, blocks)
    all_warps = warps + WARPS
    given = registers_for(blocks * all_warps) // REGISTER_STEP * REGISTER_STEP
    most = (given * all_warps - FEW * WARPS) // warps // REGISTER_STEP * REGISTER_STEP
    return Roles(WARPS, blocks, min(most, _MOST)) if given > FEW and most >= needed else None


def _registers(body: Sequence[ir.Operation]) -> int:
    """What a thread holds: the sums, and what is read before the last product is there, or a tile behind.

    Of attention also its scores, as far as they are no weights yet.
    """
    loop = _loops_of(body)[-1]
    last = next((op for op in body if op.name == "mlopt.warpgroup_result"), loop)
    weights = [op.operands[0] for op in _named(block_ops(loop), HELD)]
    results = [] if weights else _named(block_ops(loop), "mlopt.warpgroup_result")
    apart = [op.results[0] for op in results if _is_added(op)]
    sums = [value for value in (*loop.results, *apart) if is_tile(value)]
    reads = [op for op in body if op.name == "vector.transfer_read" and not is_copied(op)]
    ahead, behind = list[int](), [0]
    for op in (op for op in reads if is_tile(op.results[0])):
        (ahead if op.is_before_in_block(last) else behind).append(words_of(op.results[0]))
    return sum(map(words_of, sums)) + max(sum(ahead), *behind) + WEIGHT * sum(map(words_of, weights))


def _for_functions(body: Sequence[ir.Operation]) -> int:
    """What a thread holds while functions of tiles that no loop makes are on their way."""
    return FUNCTIONS if any(op.name.startswith("math.") and is_tile(op.results[0]) for op in body) else 0


def _is_added(result: ir.Operation) -> bool:
    """Whether a step's product is a sum of its own, which is added to another one."""
    return any(use.owner.name != "scf.yield" for use in result.results[0].uses)


def _loops_of(body: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The loops that multiply, each of which goes on where the one before has ended."""
    return [op for op in body if op.name == "scf.for" and products_of(op)]


def _rewrite(forall: ir.Operation, barriers: ir.Operation, roles: Roles) -> None:
    """Let some warps copy, and the others do all else."""
    body = block_ops(forall)
    loops, loads, last = _loops_of(body), _named(body, _LOAD), body[-1]
    with ir.InsertionPoint(last), loops[0].location:
        ring = _Ring(loops, *_make_barriers(forall, barriers))
        truth = ir.IntegerType.get_signless(1)
        copies, first, twin = ir.Operation.create("mlopt.warp_roles", [truth] * 3).results
        branch = scf.IfOp(copies, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            if roles.registers is not None:
                create("mlopt.set_registers", count=FEW, more=0)
            alone = scf.IfOp(first)
            with ir.InsertionPoint(alone.then_block):
                ring.fill(loads)
                scf.YieldOp([])
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            if roles.registers is not None:
                create("mlopt.set_registers", count=roles.registers, more=1)
            end = scf.YieldOp([])
    common = _makers(forall, branch.operation)
    rest = [op for op in block_ops(forall)[:-1] if op not in common]
    for op in rest:
        op.move_before(end.operation)
    ring.free()
    for ops in (rest, *map(block_ops, loops)):
        _leave_to(twin, ops)
    SCHEDULE.set(forall, {**(SCHEDULE.get(forall) or {}), "roles": (roles.producers, roles.blocks)})


def _makers(forall: ir.Operation, op: ir.Operation) -> list[ir.Operation]:
    """``op``, and what in the same block makes all that it, and what is inside of it, takes."""
    found, waiting = list[ir.Operation](), [op]
    while waiting:
        maker = waiting.pop()
        if maker in found:
            continue
        found.append(maker)
        used = [value for each in (maker, *nested_ops(maker)) for value in each.operands]
        owners = [value.owner.operation for value in used if not isinstance(value.owner, ir.Block)]
        waiting += [owner for owner in owners if owner.parent.operation == forall]
    return found


def _make_barriers(forall: ir.Operation, barriers: ir.Operation) -> tuple[ir.Value, ir.Value]:
    """In the place of mbarriers for what is full those, and others for what all warps have done with."""
    kind, arrivals = barriers.results[0].type, ir.DenseI64ArrayAttr(barriers.attributes["arrivals"])
    counts = ir.DenseI64ArrayAttr.get([*arrivals, warps_of(forall)])
    with ir.InsertionPoint(barriers), barriers.location:
        full, empty = ir.Operation.create(_BARRIERS, [kind, kind], [], {"arrivals": counts}).results
    barriers.results[0].replace_all_uses_with(full)
    barriers.erase()
    return full, empty


class _Ring:
    """The rings of some loops, whose slots are ``full`` and ``empty`` in turn."""

    def __init__(self, loops: Sequence[ir.Operation], full: ir.Value, empty: ir.Value) -> None:
        self.loops, self.full, self.empty = loops, full, empty
        self.first, self.end = loops[0].operands[0], loops[-1].operands[1]
        self.stages = ir.MemRefType(full.type).shape[0]
        step = integer_of(loops[0].operands[2])
        assert step is not None, "mlopt-gpu-warpgroup-products has asked"
        self.step = step

    def fill(self, before: Sequence[ir.Operation]) -> None:
        """Copy what comes once, of the loads ``before`` the loops; then all steps.

        Each step when what was in its slot has been read.
        """
        for load in before:
            tile, *others, slots = load.operands
            if slots != self.full:
                _load_alone(read_at(self.loops[0], tile.owner.operation, {}), *others, slots)
        last = self.loops[-1]
        copies = scf.ForOp(self.first, self.end, last.operands[2])
        with ir.InsertionPoint(copies.body):
            at = copies.induction_variable
            slot = slot_of(at, self.first, self.step, 0, self.stages)
            create("mlopt.tma_wait", [self.empty, slot, round_of(at, self.first, self.step, self.stages, 1)])
            for load in _named(block_ops(last), _LOAD):
                tile, ring, _, later, *_ = load.operands
                known = read_at(last, tile.owner.operation, {later: at})
                _load_alone(known, ring, slot, at, self.end, self.full)
            scf.YieldOp([])

    def free(self) -> None:
        """Say that a slot has been read: that of the step before, while the step's own product runs."""
        for loop in self.loops:
            body, at = block_ops(loop), loop.regions[0].blocks[0].arguments[0]
            running = _named(body, "mlopt.warpgroup_wait")
            last = (running or _named(body, "mlopt.warpgroup_result"))[-1]
            with ir.InsertionPoint.after(last), loop.location:
                slot = slot_of(at, self.first, self.step, self.stages - 1 if running else 0, self.stages)
                create(
                    "mlopt.tma_free", [self.empty, slot, *((self.first, at) if running else (at, self.end))]
                )


def _load_alone(*operands: ir.Value) -> None:
    """A copy that the one thread there asks for."""
    made = ir.Operation.create(_LOAD, [], list(operands))
    made.attributes["alone"] = ir.UnitAttr.get()


def _leave_to(twin: ir.Value, ops: Sequence[ir.Operation]) -> None:
    """Let only the kernel's twin do those of some ops that copy, and order copies by threads."""
    loads = _named(ops, _LOAD)
    reads = [load.operands[0].owner.operation for load in loads]
    moved = [op for op in ops if op in loads or op in reads or op.name in _ORDER]
    if moved:
        with ir.InsertionPoint(loads[-1]), loads[-1].location:
            branch = scf.IfOp(twin)
            with ir.InsertionPoint(branch.then_block):
                end = scf.YieldOp([])
        for op in moved:
            op.move_before(end.operation)


def _named(ops: Iterable[ir.Operation], name: str) -> list[ir.Operation]:
    return [op for op in ops if op.name == name]
