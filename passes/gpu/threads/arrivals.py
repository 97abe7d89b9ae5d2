"""mlopt.last_arrival: which block is the last of those that make a tile's parts.

What is emitted, with a counter for each tile, 0 before the launch::

    barrier                                   all threads' stores of the part are before it
    if thread 0:
      fence.acq_rel.gpu
      atom.relaxed.gpu.inc %before, [counter], parts - 1        0, 1, …, parts - 1, and then 0 again
      fence.acq_rel.gpu
      st.shared [flag], %before == parts - 1
    barrier
    ld.shared %last, [flag]

In terms of PTX's memory model: a store of any thread of a block is ordered before its thread 0's fence by the
barrier, a synchronization of the block (causality order is transitive, so fences are cumulative). That fence
and the atomic behind it are a release pattern; each atomic on a counter observes the one before, so that the
last one observes them all. With the fence behind it it is an acquire pattern. So every store of a part comes
before thread 0's store to the flag in causality order, and by the second barrier before what any thread of
the last block loads then. Weak loads are enough for that: an acquire at the scope of the device drops what L1
has. They must not be ld.global.nc, which may return what a cache had before, and are not, as the kernel
writes the parts. LLVM moves no access over barriers, fences and atomics, but for memory that a pointer says
is nobody else's: the parts' does not (`device.py`).

The last atomic leaves 0 in the counter: the next launch on the stream, which comes after this one is through,
finds it. Launches at the same time need counters of their own (`mlopt.runtime.cuda.executable`).
"""

from __future__ import annotations

from mlir import ir

from .emitter import Emitter
from .registry import rule

_DEVICE = "device"
_MONOTONIC, _ACQUIRE_RELEASE = 2, 6  # orderings of the llvm dialect
_INCREMENT = 15  # llvm.atomicrmw uinc_wrap
_FLAG_BYTES = 4


@rule("mlopt.last_arrival")
def emit_last_arrival(em: Emitter, op: ir.Operation) -> None:
    """One thread counts, all know."""
    build, counters = em.build, em.counters
    assert counters is not None, "a kernel with last arrivals has counters"
    parts = ir.IntegerAttr(op.attributes["parts"]).value
    word = ir.IntegerType.get_signless(32)
    counter = build.offset(counters, word, em.number(op.operands[0]))
    em.shared.barrier()
    flag = em.shared.alloc(_FLAG_BYTES)
    em.shared.writes(flag)
    most = build.constant(word, parts - 1)

    def count() -> list[ir.Value]:
        _fence()
        before = build.op(
            "llvm.atomicrmw",
            [counter, most],
            word,
            {
                "bin_op": _integer(_INCREMENT),
                "ordering": _integer(_MONOTONIC),
                "syncscope": ir.StringAttr.get(_DEVICE),
            },
        )
        _fence()
        last = build.op("arith.extui", [build.equal(before, most)], word)
        build.store([last], em.shared.pointer(flag), _FLAG_BYTES)
        return []

    em.choose(em.only(em.warps * 32 - 1), [], count)
    em.shared.reads(flag)
    (found,) = build.load(em.shared.pointer(flag), word, 1, _FLAG_BYTES, constant=False)
    em.shared.free(flag)
    em.arrived = True
    none = build.equal(found, build.constant(word, 0))
    em.set_scalar(op.results[0], build.op("arith.xori", [none, build.constant(none.type, 1)]))


def _fence() -> None:
    """What the thread has done and what it knows of comes before what it does now, for the whole device."""
    attributes = {"ordering": _integer(_ACQUIRE_RELEASE), "syncscope": ir.StringAttr.get(_DEVICE)}
    ir.Operation.create("llvm.fence", [], [], attributes)


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
