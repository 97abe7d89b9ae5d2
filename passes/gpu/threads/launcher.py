"""The launch of a kernel's device function, in the place of its scf.forall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir import ir
from mlir.dialects import arith, cf, llvm, memref, scf

from ....dialects.attributes import SCHEDULE
from ..layouts.access import WIDE, bytes_of
from ..layouts.boxes import MOST_SIZE, Box
from .device import Devices, dynamic_dims
from .grid import Loops

# Blocks along x, of every GPU since compute capability 3.0 (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"). A number that is constant is compared with the device's at load.
_MOST_BLOCKS = 2**31 - 1
_TOO_MANY = (
    f"needs more than the {_MOST_BLOCKS} blocks that a GPU runs in one launch: call it on fewer elements"
)
_NO_MAP = "got no tensor map from the driver for its arguments: update the driver, or report it"
_PURE = ("arith.", "affine.", "memref.", "ub.", "vector.")


def write_launcher(function: ir.Operation, forall: ir.Operation, module: str, devices: Devices) -> None:
    """Replace ``forall`` by the launch of its blocks; without tasks there is none.

    A number of blocks that is known only at the call is checked there: the driver's refusal would
    only be printed, and the results stay as they were allocated.
    """
    block = function.regions[0].blocks[0]
    loops = Loops.of(forall)
    if loops.static_count() != 0:
        with ir.InsertionPoint(forall), forall.location:
            _launch(block, loops, module, devices, SCHEDULE.get(forall) or {})
    for op in reversed(list(block.operations)[:-1]):
        unused = all(not list(result.uses) for result in op.operation.results)
        if op.operation == forall or (unused and op.operation.name.startswith(_PURE)):
            op.operation.erase()


def _launch(
    block: ir.Block, loops: Loops, module: str, devices: Devices, schedule: Mapping[str, tuple[int, ...]]
) -> None:
    long = ir.IntegerType.get_signless(64)
    count = _count(loops, long, devices.tasks, schedule.get("turns"))
    most = schedule.get("persistent")
    if loops.static_count() is None:
        some = arith.cmpi(arith.CmpIPredicate.sgt, count, _constant(long, 0))
        branch = scf.IfOp(some)
        with ir.InsertionPoint(branch.then_block):
            fits = arith.cmpi(arith.CmpIPredicate.ule, count, _constant(long, _MOST_BLOCKS))
            cf.AssertOp(fits, f"RuntimeError: kernel '{devices.name}' {_TOO_MANY}")
            _launch_some(block, count, module, devices, most)
            scf.YieldOp([])
    else:
        _launch_some(block, count, module, devices, most)


def _count(loops: Loops, long: ir.Type, each: int, turns: tuple[int, ...] | None) -> ir.Value:
    """The blocks, which run ``each`` tasks; or those that take turns along a loop, times the others."""
    known = loops.static_count()
    if known is not None and turns is None:
        return _constant(long, -(-known // each))
    along, most = turns if turns is not None else (None, 0)
    total = None
    for loop, (bound, step) in enumerate(zip(loops.bounds, loops.steps, strict=True)):
        if isinstance(bound, int):
            number = -(-bound // step)
            tasks = _constant(long, min(number, most) if loop == along else number)
        else:
            size = arith.index_cast(long, bound)
            tasks = arith.divui(arith.addi(size, _constant(long, step - 1)), _constant(long, step))
            if loop == along:
                tasks = arith.minui(tasks, _constant(long, most))
        total = tasks if total is None else arith.muli(total, tasks)
    assert total is not None
    if each == 1:
        return total
    return arith.divui(arith.addi(total, _constant(long, each - 1)), _constant(long, each))


def _launch_some(
    block: ir.Block, count: ir.Value, module: str, devices: Devices, most: tuple[int, ...] | None
) -> None:
    """Launch a block for each task; of a persistent grid ``most``, but of its twin."""
    long = ir.IntegerType.get_signless(64)
    pointer = ir.Type.parse("!llvm.ptr")
    arguments: list[ir.Value] = []
    addresses: list[ir.Value] = []
    for argument in block.arguments:
        if isinstance(argument.type, ir.MemRefType):
            index = memref.extract_aligned_pointer_as_index(argument)
            address = arith.index_cast(long, index)
            addresses.append(address)
            arguments.append(llvm.inttoptr(pointer, address))
        elif isinstance(argument.type, ir.IndexType):
            arguments.append(arith.index_cast(long, argument))
        else:
            arguments.append(argument)
    for argument in block.arguments:
        arguments += _dynamic_sizes(argument)
    if devices.unaligned is None:
        _call(module, devices.name, count, arguments, devices.threads, devices.shared)
        return
    for number in devices.multiples:
        addresses.append(_row_bytes(block.arguments[number]))
    together = addresses[0]
    for address in addresses[1:]:
        together = arith.ori(together, address)
    low = arith.andi(together, _constant(long, WIDE - 1))
    aligned = arith.cmpi(arith.CmpIPredicate.eq, low, _constant(long, 0))
    for buffer in dict.fromkeys(block.arguments[box.buffer] for box in devices.boxes):
        for size in _dynamic_sizes(buffer):
            last = arith.subi(size, _constant(long, 1))
            fits = arith.cmpi(arith.CmpIPredicate.ult, last, _constant(long, MOST_SIZE))
            aligned = arith.andi(aligned, fits)
    blocks = count if most is None else arith.minui(count, _constant(long, most[0]))
    branch = scf.IfOp(aligned, has_else=True)
    ways = (
        (branch.then_block, devices.name, blocks, devices.threads, devices.shared, devices.boxes),
        (branch.else_block, devices.unaligned, count, devices.twin_threads, devices.twin_shared, ()),
    )
    for inner, name, launched, threads, shared, boxes in ways:
        with ir.InsertionPoint(inner):
            maps = [_map(block.arguments[box.buffer], arguments[box.buffer], box, name) for box in boxes]
            _call(module, name, launched, [*arguments, *maps], threads, shared)
            scf.YieldOp([])


def _map(buffer: ir.Value, address: ir.Value, box: Box, name: str) -> ir.Value:
    """Where the host has the tensor map of a box; a driver that makes none is an error of the call."""
    kind, word = ir.MemRefType(buffer.type), ir.IntegerType.get_signless(64)
    attributes = {
        "sizes": ir.DenseI64ArrayAttr.get(list(kind.shape)),
        "box": ir.DenseI64ArrayAttr.get(list(box.sizes)),
        "element_bytes": ir.IntegerAttr.get(word, bytes_of(kind.element_type)),
        "span": ir.IntegerAttr.get(word, box.span),
    }
    attributes |= {"rounds": ir.UnitAttr.get()} if box.rounds else {}
    kinds = [address.type, ir.IntegerType.get_signless(1)]
    operands = [address, *_dynamic_sizes(buffer)]
    made = ir.Operation.create("mlopt.tensor_map", kinds, operands, attributes)
    cf.AssertOp(made.results[1], f"RuntimeError: kernel '{name}' {_NO_MAP}")
    return made.results[0]


def _dynamic_sizes(buffer: ir.Value) -> list[ir.Value]:
    long, index = ir.IntegerType.get_signless(64), ir.IndexType.get()
    dims = dynamic_dims(buffer.type)
    return [arith.index_cast(long, memref.dim(buffer, _constant(index, dim))) for dim in dims]


def _row_bytes(buffer: ir.Value) -> ir.Value:
    """The bytes of a row of a buffer."""
    long = ir.IntegerType.get_signless(64)
    kind = ir.MemRefType(buffer.type)
    size = memref.dim(buffer, _constant(ir.IndexType.get(), kind.rank - 1))
    return arith.muli(arith.index_cast(long, size), _constant(long, bytes_of(kind.element_type)))


def _call(
    module: str, name: str, count: ir.Value, arguments: Sequence[ir.Value], threads: int, shared: int
) -> None:
    long = ir.IntegerType.get_signless(64)
    one, wide = _constant(long, 1), _constant(long, threads)
    room = _constant(ir.IntegerType.get_signless(32), shared)
    operands = [count, one, one, wide, one, one, room, *arguments]
    segments = [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, len(arguments), 0]
    ir.Operation.create(
        "gpu.launch_func",
        [],
        operands,
        {
            "kernel": ir.SymbolRefAttr.get([module, name]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
        },
    )


def _constant(kind: ir.Type, value: int) -> ir.Value:
    return arith.constant(kind, value)
