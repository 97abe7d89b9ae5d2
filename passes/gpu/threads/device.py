"""The device functions of one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from mlir import ir

from ....dialects.attributes import (
    COUNTED,
    COUNTERS,
    EQUAL_SIZES,
    SCHEDULE,
    STATUS,
    STREAMED,
    argument_attributes,
)
from ....dialects.layouts import WARP
from ...base import PassError
from ...operations import defining_op, nested_ops, ops_named
from ..layouts.boxes import Box, boxes_of
from ..layouts.warps import blocks_with_registers, consumers_of, producers_of, registers_of, warps_of
from .asserts import told_last
from .builder import Builder, Number
from .consecutive import emit_consecutive
from .emitter import Buffer, Emitter
from .grid import Loops
from .index_type import index_type
from .inner import emit_inner
from .late import should_slice
from .neighbours import bind_places, emit_neighbours
from .straight import emit_straight
from .striped import can_stripe
from .turns import emit_turns
from .wait_for_loads import emit_after_loads

DYNAMIC = ir.ShapedType.get_dynamic_size()
# 128 bytes by value, which TMA reads where they were passed.
_TENSOR_MAP = "{llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant, llvm.align = 64 : i64}"


@dataclass(frozen=True)
class Devices:
    """What a launch needs to know.

    The functions' names (None: no unaligned one), their threads and shared bytes, and the arguments whose
    innermost size must be a multiple of 16 bytes, or else the unaligned one runs; the tasks that a block
    runs; and what divides the address of a block's shared memory. The aligned function takes tensor maps of
    ``boxes``, too, behind its other arguments.
    """

    name: str
    unaligned: str | None
    threads: int
    twin_threads: int
    shared: int
    twin_shared: int
    multiples: tuple[int, ...]
    tasks: int
    alignment: int
    boxes: tuple[Box, ...]

    @property
    def most_shared(self) -> int:
        """The shared bytes of the function that has more of them."""
        return max(self.shared, self.twin_shared)


def emit_device(
    function: ir.Operation, forall: ir.Operation, messages: Sequence[str], shared: int
) -> Devices:
    """Write the device functions of a kernel at the insertion point; ``shared``: a block's bytes, at most."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    first = _emit(function, forall, messages, name, shared, aligned=True)
    twin = f"{name}_unaligned" if first.wide else None
    second = first if twin is None else _emit(function, forall, messages, twin, shared, aligned=False)
    multiples = tuple(sorted(buffer.number for buffer in first.multiples if buffer.number is not None))
    (tasks,) = (SCHEDULE.get(forall) or {}).get("tasks", (1,))
    used = first.shared.used, second.shared.used
    alignment = max(first.shared.alignment, second.shared.alignment)
    boxes = tuple(first.maps)
    threads = first.warps * WARP
    return Devices(name, twin, _threads(forall), threads, *used, multiples, tasks, alignment, boxes)


def _emit(
    function: ir.Operation,
    forall: ir.Operation,
    messages: Sequence[str],
    name: str,
    shared: int,
    *,
    aligned: bool,
) -> Emitter:
    block = function.regions[0].blocks[0]
    schedule = SCHEDULE.get(forall) or {}
    warps = warps_of(forall)
    written = _written(block)
    kinds, attributes = _signature(block, written, _exchanged(block))
    boxes = boxes_of(forall) if aligned else []
    kinds += [ir.Type.parse("!llvm.ptr")] * len(boxes)
    attributes += [ir.Attribute.parse(_TENSOR_MAP)] * len(boxes)
    arrivals = ops_named(block, "mlopt.last_arrival")
    if arrivals:
        kinds.append(ir.Type.parse("!llvm.ptr"))
        attributes.append(COUNTERS.added(None, True))
    asserts = any(op.name == "cf.assert" for op in nested_ops(block))
    if asserts:
        kinds.append(ir.Type.parse("!llvm.ptr"))
        attributes.append(STATUS.added(None, True))
    threads = _threads(forall) if aligned else warps * WARP
    device = _function(name, kinds, attributes, threads, blocks_with_registers(forall, aligned))
    if arrivals:
        COUNTED.set(device, ir.IntegerAttr(arrivals[0].attributes["tiles"]).value)
    (cluster,) = schedule.get("cluster", (1,)) if aligned else (1,)
    if cluster > 1:
        device.attributes["nvvm.cluster_dim"] = ir.DenseI32ArrayAttr.get([cluster, 1, 1])
    for most in schedule.get("most_registers", ()):
        device.attributes["nvvm.maxnreg"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), most)
    body = device.regions[0].blocks.append(*kinds)
    with ir.InsertionPoint(body), function.location:
        entry = ir.Operation.create("llvm.return")
        with ir.InsertionPoint(entry):
            marker = ir.Operation.create("llvm.mlir.zero", [ir.IntegerType.get_signless(32)])
            build = Builder(marker, index_type(function))
            word = ir.IntegerType.get_signless(32)
            with build.at_entry():
                thread = build.op("nvvm.read.ptx.sreg.tid.x", [], word)
                number = build.op("nvvm.read.ptx.sreg.ctaid.x", [], word)
            arguments = list(body.arguments)
            status = arguments.pop() if asserts else None
            counters = arguments.pop() if arrivals else None
            em = Emitter(build, thread, warps, aligned, messages, status, shared)
            if aligned:
                em.divide(consumers_of(forall))
            em.counters = counters
            em.maps = dict(zip(boxes, arguments[len(arguments) - len(boxes) :], strict=True))
            _bind(em, function, arguments, written)
            ops = [op.operation for op in block.operations]
            em.alone, em.cluster = "tasks" in schedule, cluster
            em.registers = registers_of(forall)
            em.striped = not aligned and can_stripe(forall)
            em.sliced = not aligned or should_slice(forall)
            em.emit(ops[: ops.index(forall)])
            inner = forall.regions[0].blocks[0]
            work = [op.operation for op in list(inner.operations)[:-1]]
            if em.alone:
                _emit_tasks_of_threads(em, forall, number, work)
            elif "turns" in schedule:
                along, blocks = schedule["turns"]
                emit_turns(em, forall, _index(build, number), work, (along, blocks))
            else:
                _bind_tasks(em, forall, _index(build, number))
                with told_last(em):
                    if aligned and "wait_for_loads" in schedule:
                        emit_after_loads(em, work)
                    else:
                        em.emit(work)
        marker.erase()
        em.shared.close()
    return em


def _threads(forall: ir.Operation) -> int:
    """Those of a block: each that multiplies, and those that copy."""
    return (consumers_of(forall) * warps_of(forall) + producers_of(forall)) * WARP


def _written(block: ir.Block) -> set[int]:
    """The numbers of the arguments that tiles are written to."""
    found = set()
    for op in nested_ops(block):
        if op.name in ("vector.transfer_write", "memref.store"):
            buffer = op.operands[1]
            while defining_op(buffer, "memref.cast") is not None:
                buffer = buffer.owner.operands[0]
            if isinstance(buffer, ir.BlockArgument):
                found.add(buffer.arg_number)
            elif buffer.owner.name != "memref.alloca":
                raise PassError(op, "distribute: a tile is written into an argument of the kernel")
    return found


def dynamic_dims(kind: ir.Type) -> list[int]:
    """The dims of a memref whose sizes are arguments of the device function."""
    if not isinstance(kind, ir.MemRefType):
        return []
    return [dim for dim, size in enumerate(ir.MemRefType(kind).shape) if size == DYNAMIC]


def _exchanged(block: ir.Block) -> set[int]:
    """The numbers of the arguments that blocks read of what others have written in the same launch."""
    if not ops_named(block, "mlopt.last_arrival"):
        return set()
    read = {op.operands[0] for op in ops_named(block, "vector.transfer_read")}
    return {each.arg_number for each in block.arguments if each in read} & _written(block)


def _signature(
    block: ir.Block, written: set[int], exchanged: set[int]
) -> tuple[list[ir.Type], list[ir.Attribute]]:
    """Types and marks of the arguments.

    No llvm.align: it would let LLVM join the last, single elements of a row into a wide access that
    ends outside of the buffer. Wide accesses state their own alignment. No llvm.noalias for what blocks
    exchange: nothing but what the thread writes would change it, and its loads could move over barriers.
    """
    pointer, long = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    kinds: list[ir.Type] = []
    attributes: list[ir.Attribute] = []
    for number, argument in enumerate(block.arguments):
        kind = argument.type
        marks: dict[str, ir.Attribute] = {}
        if isinstance(kind, ir.MemRefType):
            if number not in exchanged:
                marks["llvm.noalias"] = ir.UnitAttr.get()
            if number not in written:
                marks["llvm.readonly"] = ir.UnitAttr.get()
            kind = pointer
        kinds.append(long if isinstance(kind, ir.IndexType) else kind)
        attributes.append(ir.DictAttr.get(marks))
    for argument in block.arguments:
        for _ in dynamic_dims(argument.type):
            kinds.append(long)
            attributes.append(ir.DictAttr.get({}))
    return kinds, attributes


def _function(
    name: str, kinds: Sequence[ir.Type], attributes: Sequence[ir.Attribute], threads: int, resident: int
) -> ir.Operation:
    text = ", ".join(map(str, kinds))
    word = ir.IntegerType.get_signless(32)
    return ir.Operation.create(
        "llvm.func",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.Type.parse(f"!llvm.func<void ({text})>")),
            "arg_attrs": ir.ArrayAttr.get(list(attributes)),
            "CConv": ir.Attribute.parse("#llvm.cconv<ccc>"),
            "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
            "gpu.kernel": ir.UnitAttr.get(),
            "nvvm.kernel": ir.UnitAttr.get(),
            "nvvm.maxntid": ir.DenseI32ArrayAttr.get([threads, 1, 1]),
            "nvvm.minctasm": ir.IntegerAttr.get(word, resident),
        },
        regions=1,
    )


def _bind(em: Emitter, function: ir.Operation, arguments: list[ir.Value], written: set[int]) -> None:
    """The kernel's arguments as those of the device function."""
    block = function.regions[0].blocks[0]
    attributes = argument_attributes(function)
    lengths = iter(arguments[len(block.arguments) :])
    # Of sizes that are equal only the first is asked.
    equal = [group.split(" = ") for group in EQUAL_SIZES.get(function) or ()]
    first = {size: sizes[0] for sizes in equal for size in sizes}
    known: dict[str, ir.Value] = {}
    for number, argument in enumerate(block.arguments):
        kind = argument.type
        if isinstance(kind, ir.MemRefType):
            memref = ir.MemRefType(kind)
            shape: list[Number] = list(memref.shape)
            for dim in dynamic_dims(memref):
                name = f"a{number}_{dim}"
                shape[dim] = known.setdefault(first.get(name, name), next(lengths))
            em.buffers[argument] = Buffer(
                number,
                arguments[number],
                tuple(shape),
                memref.element_type,
                number not in written,
                STREAMED.get(attributes[number]) is not None,
            )
        else:
            em.set_scalar(argument, arguments[number])


def _index(build: Builder, number: ir.Value) -> ir.Value:
    return number if build.index == number.type else build.op("arith.extui", [number], build.index)


def _emit_tasks_of_threads(
    em: Emitter, forall: ir.Operation, block: ir.Value, work: Sequence[ir.Operation]
) -> None:
    """The thread's tasks, as far as there are any left; there are where all threads of all blocks have some.

    Those of a thread lie as far from each other as there are threads: neighbours are for neighbouring lanes,
    unless the schedule says that a thread has ``neighbours``, or ``consecutive`` ones, and wide accesses of
    them are aligned, or has all that ``inner`` loops make.
    """
    build, threads = em.build, em.warps * WARP
    loops = Loops.of(forall)
    schedule = SCHEDULE.get(forall) or {}
    (tasks,) = schedule["tasks"]
    if em.aligned and "inner" in schedule:
        emit_inner(em, forall, _index(build, block), work)
        return
    if em.aligned and {"neighbours", "consecutive"} & schedule.keys():
        emit = emit_neighbours if "neighbours" in schedule else emit_consecutive
        group = build.add(build.mul(_index(build, block), threads), _index(build, em.thread_number))
        emit(em, forall, group, tasks // threads, work)
        return
    total: Number = 1
    for loop in range(loops.rank):
        total = build.mul(total, loops.count(build, loop, em.number))
    first = build.add(build.mul(_index(build, block), tasks), _index(build, em.thread_number))
    full = isinstance(total, int) and total % tasks == 0
    straight = full and not any(op.regions for op in work)
    own = [build.add(first, number * threads) for number in range(tasks // threads)]
    if straight:
        emit_straight(em, work, [partial(_bind_tasks, em, forall, task) for task in own])
        return
    for task in own:

        def run(task: Number = task) -> list[ir.Value]:
            _bind_tasks(em, forall, task)
            em.emit(work)
            return []

        with em.task():
            em.choose(full or build.less(task, total), [], run)


def _bind_tasks(em: Emitter, forall: ir.Operation, task: Number) -> None:
    """The induction variables from the task's number."""
    loops = Loops.of(forall)
    counts = [loops.count(em.build, loop, em.number) for loop in range(loops.rank)]
    bind_places(em, forall, loops.places(em.build, task, counts))
    for argument, bound in zip(forall.regions[0].blocks[0].arguments, loops.bounds, strict=False):
        if isinstance(bound, ir.Value) and em.build.index.width > 32:
            em.ends[em.number(argument)] = em.scalar(bound)
