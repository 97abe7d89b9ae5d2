"""Tiles that one thread has the engine for tensors (TMA) copy, and waits for them at mbarriers.

Copies of a slot arrive at its mbarrier: each with the bytes that it brings, those beyond a buffer's end too.
A phase is over when all have come; the slot's rounds have the parities 0 and 1 in turn. What is written so,
and read by wgmma, needs no fence: both take the same path to memory.

A kernel's unaligned twin has no tensor maps: there all threads copy, as without TMA.
(PTX ISA 9.0, "mbarrier", "cp.async.bulk.tensor".)
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import nvvm

from ....dialects.layouts import LANE_BITS, WARP
from ..layouts.boxes import box_of, copied, halves_of, pieces_of
from . import asynchronous
from .builder import Number
from .emitter import Emitter
from .registry import rule
from .shared import Region
from .written_text import write_asm

_MBARRIER = 8  # bytes
_TICKS = 10_000_000  # nanoseconds for which a thread that waits may be suspended; then it looks again
_ULT, _UGE = 6, 9  # arith.cmpi's numbers of comparisons
_BOTH = 0b11  # blocks of a cluster
# One text: LLVM would map addresses for all lanes, ahead of the branch, to blocks that are not there.
_ARRIVE = (
    "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, $0, $1; "
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }"
)
_CLUSTER = "!llvm.ptr<7>"


@rule("mlopt.tma_barriers")
def emit_barriers(em: Emitter, op: ir.Operation) -> None:
    """Mbarriers for each slot, for the whole kernel: their bytes are never given back."""
    if not em.aligned:
        return
    regions = []
    for result in op.results:
        (slots,) = ir.MemRefType(result.type).shape
        regions.append(em.shared.alloc(slots * _MBARRIER))
        em.shared.writes(regions[-1])
        em.mbarriers[result] = regions[-1]

    def make() -> list[ir.Value]:
        for region, arrivals in zip(regions, ir.DenseI64ArrayAttr(op.attributes["arrivals"]), strict=True):
            for slot in range(slots):
                each = [_mbarrier(em, region, slot), em.build.word(arrivals)]
                ir.Operation.create("nvvm.mbarrier.init", [], each)
        ir.Operation.create("nvvm.fence.mbarrier.init")
        return []

    word = em.block_thread.type
    is_first = em.build.equal(em.block_thread, em.build.constant(word, 0)) if em.consumers > 1 else _one(em)
    em.choose(is_first, [], make)
    asynchronous.fence_proxies()  # of what was in the slots before
    em.shared.barrier()
    if em.cluster > 1:
        _meet()


@rule("mlopt.pair_wait")
def emit_pair_wait(em: Emitter, _: ir.Operation) -> None:
    """All threads of a cluster meet."""
    if em.aligned:
        _meet()


@rule("mlopt.warp_roles")
def emit_roles(em: Emitter, op: ir.Operation) -> None:
    """Which warp this is; ptxas sees that its number is the same in all lanes.

    From here on the others meet without it.
    """
    copies, first, twin = op.results
    em.set_scalar(twin, not em.aligned)
    if not em.aligned:
        em.set_scalar(copies, False)
        em.set_scalar(first, False)
        return
    build, word, warps = em.build, em.block_thread.type, em.consumers * em.warps
    own = build.op("arith.shrui", [em.block_thread, build.constant(word, LANE_BITS)])
    lanes = [build.constant(word, -1), own, build.constant(word, 0), build.constant(word, WARP - 1)]
    warp = build.op("nvvm.shfl.sync", lanes, word, {"kind": ir.Attribute.parse("#nvvm<shfl_kind idx>")})
    em.set_scalar(copies, build.compare(_UGE, warp, build.constant(word, warps)))
    em.set_scalar(first, build.equal(em.block_thread, build.constant(word, warps * WARP)))
    em.shared.threads = em.warps * WARP
    if em.consumers > 1:
        em.consumer = build.op("arith.shrui", [warp, build.constant(word, em.warps.bit_length() - 1)])
        em.shared.divide(em.consumers, em.consumer)


@rule("mlopt.consumer")
def emit_consumer(em: Emitter, op: ir.Operation) -> None:
    """Which of the warpgroups that take turns this is; of the twin the only one."""
    own, index = em.consumer, em.build.index
    if not isinstance(own, int) and own.type != index:
        own = em.build.op("arith.extui", [own], index)
    em.set_scalar(op.results[0], own)


@rule("mlopt.pass_on")
def emit_pass_on(em: Emitter, op: ir.Operation) -> None:
    """One lane of each warp arrives."""
    if not em.aligned:
        return
    barriers, slot = op.operands

    def arrive() -> list[ir.Value]:
        _arrive(em, barriers, slot)
        return []

    lane = _lane(em)
    em.choose(em.build.equal(lane, em.build.constant(lane.type, 0)), [], arrive)


@rule("mlopt.set_registers")
def emit_registers(em: Emitter, op: ir.Operation) -> None:
    """Threads of a warpgroup give some of their registers back, or take what others gave."""
    if not em.aligned:
        return
    count, more = (ir.IntegerAttr(op.attributes[name]).value for name in ("count", "more"))
    action = nvvm.SetMaxRegisterAction.increase if more else nvvm.SetMaxRegisterAction.decrease
    nvvm.SetMaxRegisterOp(count, action)


@rule("mlopt.tma_load")
def emit_load(em: Emitter, op: ir.Operation) -> None:
    """Begin to copy a tile to a slot, if the loop has that step."""
    if not em.aligned:
        asynchronous.emit_copy(em, op)
        return
    build, (_, ring, slot, at, end, barriers) = em.build, op.operands
    access, factor = copied(op)
    em.wide = True
    if access.rests_on_size:
        em.multiples.add(em.buffers[access.buffer])

    def load() -> list[ir.Value]:
        number = em.number(slot)
        mbarrier = _mbarrier(em, em.mbarriers[barriers], number)
        ir.Operation.create("nvvm.mbarrier.arrive.expect_tx", [], [mbarrier, build.word(factor.bytes)])
        base, byte = em.rings[ring].slot(em, number), ir.IntegerType.get_signless(8)
        place = [em.number(index) for index in access.indices]
        piece, pieces = factor.span // factor.element_bytes, pieces_of(factor)
        further, mask = 0, None  # of the other block's half
        if "both" in op.attributes:
            dim, mask = halves_of(factor), build.constant(ir.IntegerType.get_signless(16), _BOTH)
            assert dim is not None, "mlopt-gpu-pair-blocks has asked"
            half = factor.sizes[dim] // 2
            own = build.op("nvvm.read.ptx.sreg.cluster.ctarank", [], ir.IntegerType.get_signless(32))
            rank = own if own.type == build.index else build.op("arith.extui", [own], build.index)
            memory = access.dims[dim]
            place[memory] = build.add(place[memory], build.mul(rank, half))
            further = build.mul(rank, factor.bytes // 2)
            pieces = max(pieces // 2, 1)
        for part in range(pieces):
            to = build.offset(base, byte, build.add(further, part * factor.span * factor.sizes[factor.outer]))
            to = build.op("llvm.addrspacecast", [to], ir.Type.parse(_CLUSTER))
            at_part = [*place[:-1], build.add(place[-1], part * piece)]
            words = [build.word(each) for each in reversed(at_part)]
            nvvm.CpAsyncBulkTensorGlobalToSharedClusterOp(
                to, em.maps[box_of(op)], words, mbarrier, [], multicastMask=mask
            )
        return []

    asks = "alone" in op.attributes or _one(em)
    em.choose(build.both(asks, build.less(em.number(at), em.number(end))), [], load)


@rule("mlopt.tma_commit")
def emit_commit(em: Emitter, op: ir.Operation) -> None:
    """What threads have begun to copy is waited for together."""
    if not em.aligned:
        asynchronous.emit_commit(em, op)


@rule("mlopt.tma_turn")
def emit_turn(em: Emitter, op: ir.Operation) -> None:
    """All threads meet: the products that read the next slot to be filled have been waited for."""
    if not em.aligned:
        asynchronous.emit_wait(em, op)
        return
    em.shared.barrier()


@rule("mlopt.tma_wait")
def emit_wait(em: Emitter, op: ir.Operation) -> None:
    """Each thread waits for what a slot gets in a round."""
    if not em.aligned:
        return
    barriers, slot, number = op.operands
    mbarrier = _mbarrier(em, em.mbarriers[barriers], em.number(slot))
    words = [em.build.word(em.number(number)), em.build.word(_TICKS)]
    ir.Operation.create("nvvm.mbarrier.try_wait.parity", [], [mbarrier, *words])


@rule("mlopt.tma_free")
def emit_free(em: Emitter, op: ir.Operation) -> None:
    """One lane of each warp arrives; of a cluster one for each block."""
    if not em.aligned:
        return
    build, (barriers, slot, at, end) = em.build, op.operands
    lane = _lane(em)
    word = lane.type

    def arrive() -> list[ir.Value]:
        if em.cluster > 1:
            mbarrier = _mbarrier(em, em.mbarriers[barriers], em.number(slot))
            address = build.op("llvm.ptrtoint", [mbarrier], word)
            write_asm([], _ARRIVE, "r,r", [address, lane])
        else:
            _arrive(em, barriers, slot)
        return []

    acts = build.compare(_ULT, lane, build.constant(word, em.cluster))
    em.choose(build.both(acts, build.less(em.number(at), em.number(end))), [], arrive)


def _lane(em: Emitter) -> ir.Value:
    """The thread's number in its warp."""
    last = em.build.constant(em.thread_number.type, WARP - 1)
    return em.build.op("arith.andi", [em.thread_number, last])


def _arrive(em: Emitter, barriers: ir.Value, slot: ir.Value) -> None:
    mbarrier = _mbarrier(em, em.mbarriers[barriers], em.number(slot))
    em.build.op("nvvm.mbarrier.arrive", [mbarrier], ir.IntegerType.get_signless(64))


def _meet() -> None:
    """All threads of a cluster wait for each other."""
    nvvm.ClusterArriveOp(aligned=True)
    nvvm.ClusterWaitOp(aligned=True)


def _one(em: Emitter) -> ir.Value | bool:
    """Whether this is the thread that copies."""
    return em.only(em.warps * WARP - 1)


def _mbarrier(em: Emitter, region: Region, slot: Number) -> ir.Value:
    return em.build.offset(em.shared.pointer(region), ir.IntegerType.get_signless(64), slot)
