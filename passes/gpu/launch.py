"""Launches become calls of MLIR's CUDA runtime, through a table that the loader fills.

Runs after mlopt-gpu-entry, on host functions that are not lowered yet. Before and after:

    gpu.launch_func <%stream : !llvm.ptr> @kernels::@kernel_0 blocks in (%g, %one, %one)
      threads in (%t, %one, %one) : i64 dynamic_shared_memory_size %s args(%x : !llvm.ptr)

    %state = llvm.load @mlopt_state
    %launch = %state[3]                           // mgpuLaunchKernel
    %function = %state[9]                         // the CUfunction of the first kernel
    … the arguments and their addresses on the stack …
    llvm.call %launch(%function, %g, %one, %one, %t, %one, %one, %s, %stream, %params, null, 1)

`int32_t mlopt_load(int64_t *state)` loads the device code and looks the kernels up, once for
each device. `state` stays in use; `mlopt.dialects.launch_state` says what is in it. The status is 0, -1 if
the code cannot be loaded, or the number (from 1) of the kernel that is not in it.

No function of the driver is looked up, no stream made and nothing waited for in a launch (MLIR's own
lowering does all of that each time), and the table lets several runtimes live in one process.
The module's `mlopt.launches` lists every launch: kernel, threads, grid and bytes of shared
memory, -1 where they are not constant; `mlopt.device_kernels` the kernels in the state's order.
A tensor map is made by a function that keeps the last ones (`map_text`), and is passed by value::

    %map, %made = "mlopt.tensor_map"(%x) {box = array<i64: 128, 64>, element_bytes = 2, …}

    %room = llvm.alloca 16 x i64, on entry
    %made = llvm.call @mlopt_map_0(%room, %x)

Legal for launches with a stream, without tokens and clusters.

Lowering: nothing can be launched without it. 8 ms of compile time for a Linear and a GELU in f16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mlir import ir
from mlir.dialects import arith, llvm

from ...dialects.attributes import DEVICE_KERNELS, LAUNCHES, argument_attributes
from ...dialects.launch_state import FUNCTIONS, LAUNCH
from ..base import Pass, PassError
from ..cpu.functions import defined_functions
from ..operations import ops_named
from .launches import Launch, find_kernel
from .load_text import STATE, load_module_text
from .map_text import WORDS, TensorMap, map_text

DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class GpuLaunch(Pass):
    """Call mgpuLaunchKernel for each launch; add the function that loads the device code."""

    name: ClassVar[str] = "mlopt-gpu-launch"

    def run(self, op: ir.Operation) -> None:
        """Lower all launches; a module without any gets no `mlopt_load`."""
        launches = [
            (Launch(found), function)
            for function in defined_functions(op)
            for found in ops_named(function, "gpu.launch_func")
        ]
        if not launches:
            return
        kernels = {}
        for launch, _ in launches:
            launch.check_plain()
            kernels[launch.kernel[1]] = find_kernel(op, launch)
            if launch.stream is None:
                raise PassError(launch.op, "the launch has no stream; run mlopt-gpu-entry before")
        names = list(kernels)
        LAUNCHES.set(op, tuple(_describe(launch) for launch, _ in launches))
        DEVICE_KERNELS.set(op, tuple(names))
        for launch, function in launches:
            name = launch.kernel[1]
            _lower(launch, function.entry_block, names.index(name), kernels[name])
        texts = list(_lower_maps(op))
        loader = ir.Module.parse("\n".join([load_module_text(names), *texts]))
        for added in list(loader.body.operations):
            op.regions[0].blocks[0].append(added)


def _describe(launch: Launch) -> dict[str, Any]:
    """What is known of a launch before it runs."""
    shared = launch.shared_bytes
    return {
        "kernel": launch.kernel[1],
        "threads": [_constant(value) for value in launch.block],
        "grid": [_constant(value) for value in launch.grid],
        "shared": [0 if shared is None else _constant(shared)],
    }


def _constant(value: ir.Value) -> int:
    """The constant behind ``value``, or -1."""
    op = value.owner
    while isinstance(op, ir.OpView) and op.operation.name in ("arith.index_cast", "arith.extui"):
        op = op.operands[0].owner
    if isinstance(op, ir.Block) or op.name not in ("arith.constant", "llvm.mlir.constant"):
        return -1
    return int(ir.IntegerAttr(op.attributes["value"]).value)


def _lower(launch: Launch, entry: ir.Block, number: int, kernel: ir.Operation) -> None:
    """Call the runtime in the launch's place; what is on the stack is allocated on entry."""
    arguments = launch.arguments
    types = [_stored_type(launch, argument) for argument in arguments]
    by_value = [place for place, marks in enumerate(argument_attributes(kernel)) if "llvm.byval" in marks]
    pointer = ir.Type.parse("!llvm.ptr")
    struct = ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")
    with ir.InsertionPoint.at_block_begin(entry), launch.op.location:
        one = _int(1)
        cells = llvm.alloca(pointer, one, ir.TypeAttr.get(struct))
        array = ir.Type.parse(f"!llvm.array<{len(arguments)} x ptr>")
        params = llvm.alloca(pointer, one, ir.TypeAttr.get(array))
    with ir.InsertionPoint(launch.op), launch.op.location:
        for position, argument in enumerate(arguments):
            place = argument
            if position not in by_value:
                place = _element(cells, [0, position], struct)
                llvm.store(_as_integer(argument), place)
            llvm.store(place, _element(params, [position], pointer))
        state = llvm.load(pointer, llvm.mlir_addressof(pointer, STATE))
        sizes = [_as_integer(size) for size in (*launch.grid, *launch.block)]
        shared = launch.shared_bytes if launch.shared_bytes is not None else _int(0, 32)
        null = llvm.mlir_zero(pointer)
        function = llvm.load(pointer, _element(state, [FUNCTIONS + number], pointer))
        runtime = llvm.load(pointer, _element(state, [LAUNCH], pointer))
        stream = launch.stream
        _call(runtime, [function, *sizes, shared, stream, params, null, _int(len(arguments))])
    launch.op.erase()


def _lower_maps(module: ir.Operation) -> Iterator[str]:
    """Call a function of its own for each tensor map, in room on the stack; the functions' texts."""
    pointer, truth = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(1)
    room = ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{WORDS} x i64>"))
    found = [
        (op, function)
        for function in defined_functions(module)
        for op in ops_named(function, "mlopt.tensor_map")
    ]
    for number, (op, function) in enumerate(found):
        name = f"mlopt_map_{number}"
        with ir.InsertionPoint.at_block_begin(function.entry_block), op.location:
            place = llvm.alloca(pointer, _int(1), room, alignment=64)
        with ir.InsertionPoint(op), op.location:
            made = _call(ir.FlatSymbolRefAttr.get(name), [place, *op.operands], [truth])
        for old, new in zip(op.results, (place, made.results[0]), strict=True):
            old.replace_all_uses_with(new)
        yield map_text(name, _tensor_map(op))
        op.erase()


def _tensor_map(op: ir.Operation) -> TensorMap:
    sizes, box = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in ("sizes", "box"))
    known = tuple(None if size == DYNAMIC else size for size in sizes)
    element_bytes, span = (ir.IntegerAttr(op.attributes[name]).value for name in ("element_bytes", "span"))
    return TensorMap(known, tuple(box), element_bytes, span, "rounds" in op.attributes)


def _call(
    callee: ir.Value | ir.Attribute, arguments: Sequence[ir.Value | None], results: Sequence[ir.Type] = ()
) -> ir.Operation:
    """`callee(arguments)` of a function by its name, or of a function pointer."""
    by_name = isinstance(callee, ir.Attribute)
    operands = [*arguments] if by_name else [callee, *arguments]
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    attributes |= {"callee": callee} if by_name else {}
    return ir.Operation.create("llvm.call", list(results), operands, attributes)


def _stored_type(launch: Launch, argument: ir.Value) -> ir.Type:
    type_ = argument.type
    if isinstance(type_, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    if isinstance(type_, ir.IntegerType | ir.FloatType) or str(type_).startswith("!llvm.ptr"):
        return type_
    raise PassError(launch.op, f"a kernel cannot take a {type_}; pass buffers as !llvm.ptr")


def _as_integer(value: ir.Value) -> ir.Value:
    """``value``, or the i64 of an index."""
    if not isinstance(value.type, ir.IndexType):
        return value
    return arith.index_cast(ir.IntegerType.get_signless(64), value)


def _element(base: ir.Value, indices: Sequence[int], type_: ir.Type) -> ir.Value:
    """The address of an element of what ``base``, seen as ``type_``, points to."""
    constant = ir.DenseI32ArrayAttr.get(list(indices))
    flags = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
    return llvm.getelementptr(ir.Type.parse("!llvm.ptr"), base, [], constant, ir.TypeAttr.get(type_), flags)


def _int(value: int, bits: int = 64) -> ir.Value:
    type_ = ir.IntegerType.get_signless(bits)
    return llvm.mlir_constant(ir.IntegerAttr.get(type_, value))
