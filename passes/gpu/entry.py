"""The C entry points of a GPU program's host part: `int32_t mlopt_main(int64_t *args)`.

As mlopt-cpu-entry, but the array holds the stream where threads were, and then, if a kernel
can fail, the address of a status cell that the device can write, and if one counts, that of counters:

    func.func private @kernel_0(%x: …) { … gpu.launch_func @kernels::@kernel_0 … }
    func.func @main(%x: …, %out: …) { call @kernel_0(%x) …

    func.func private @kernel_0(%x: …, %stream: !llvm.ptr {mlopt.stream}) {
      … gpu.launch_func <%stream : !llvm.ptr> @kernels::@kernel_0 … }
    func.func private @main(%stream: !llvm.ptr {mlopt.stream}, %args: !llvm.ptr) …
    func.func @mlopt_main(%args: !llvm.ptr) -> i32 …

A kernel whose last argument is marked `mlopt.status` stores there the number of the assert
that failed: its launches get the address as their last operand. One that counts its blocks (`mlopt.counted`)
takes the address of that many counters before it, 0 between launches: kernels of a stream share them.
Asserts of host functions are as on the CPU: their number is what the entry point returns.
Legal where host functions only launch: they may take the sizes and addresses of buffers, not
read, write or allocate them, because buffers are in the device's memory.

Lowering: nothing can be called without it. 0.02 s of compile time for a Linear and a GELU in f16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import func

from ...dialects.attributes import COUNTED, COUNTERS, DEVICE_STATUS, STATUS, STREAM
from ..base import Pass, PassError, UnsupportedError
from ..cpu.entry_points import add_entry, check_host
from ..cpu.functions import (
    callers_of,
    defined_functions,
    is_public,
    marked_argument,
    reaches,
    set_private,
    thread_through,
)
from ..operations import nested_ops, ops_named
from .launches import Launch, counters_of, takes_status

# What host functions may do with buffers and sizes: nothing that touches what is in the buffers.
_ADDRESSING = frozenset(
    {
        "affine.apply", "affine.max", "affine.min",
        "memref.cast", "memref.collapse_shape", "memref.dim", "memref.expand_shape",
        "memref.extract_aligned_pointer_as_index", "memref.extract_strided_metadata",
        "memref.reinterpret_cast", "memref.subview", "memref.view",
    }
)  # fmt: skip
_TOUCHING = ("memref", "linalg", "vector", "affine", "bufferization")


@dataclass(frozen=True)
class GpuEntry(Pass):
    """Add the C entry points; pass the stream and the status cell to the functions that launch."""

    name: ClassVar[str] = "mlopt-gpu-entry"

    def run(self, op: ir.Operation) -> None:
        """Write an entry function for each public function, which becomes private."""
        hosts = [function for function in defined_functions(op) if is_public(function)]
        for function in hosts:
            check_host(function)
        for function in defined_functions(op):
            _check_only_launches(function)
        launches = {
            function.sym_name.value: [Launch(launch) for launch in ops_named(function, "gpu.launch_func")]
            for function in defined_functions(op)
        }
        can_fail = {name for name, found in launches.items() if any(takes_status(op, it) for it in found)}
        counted = {
            name: max((counters_of(op, it) for it in found), default=0) for name, found in launches.items()
        }
        most = max(counted.values(), default=0)
        counting = callers_of(op, {name for name, number in counted.items() if number})
        pointer = ir.Type.parse("!llvm.ptr")
        thread_through(op, reaches(op, "gpu.launch_func"), pointer, STREAM)
        thread_through(op, callers_of(op, can_fail), pointer, DEVICE_STATUS)
        thread_through(op, counting, pointer, COUNTERS)
        thread_through(op, reaches(op, "cf.assert"), ir.Type.parse("memref<i32>"), STATUS)
        sizes = {function.sym_name.value: function for function in defined_functions(op)}
        for function in defined_functions(op):
            for launch in launches[function.sym_name.value]:
                _complete(op, launch, function)
            set_private(function)
            if function.sym_name.value in counting:
                COUNTED.set(function, most)
        for function in hosts:
            add_entry(op, function, sizes.get(f"{function.sym_name.value}_workspace"))


def _check_only_launches(function: func.FuncOp) -> None:
    for op in nested_ops(function):
        if op.name.split(".", 1)[0] in _TOUCHING and op.name not in _ADDRESSING:
            raise UnsupportedError(
                op,
                f"'{op.name}' in the host function @{function.sym_name.value}: "
                "buffers are in the device's memory, only kernels can use them",
                "compile this part for the CPU: loops over tensors (scatters of unknown size) run there only",
            )


def _complete(module: ir.Operation, launch: Launch, function: func.FuncOp) -> None:
    """Give ``launch`` the stream of its function, and the counters and status cell that its kernel takes."""
    if launch.stream is not None:
        raise PassError(launch.op, "the launch has a stream already; mlopt-gpu-entry runs once")
    stream = marked_argument(function, STREAM)
    assert stream is not None
    arguments = launch.arguments
    if counters_of(module, launch):
        counters = marked_argument(function, COUNTERS)
        assert counters is not None
        arguments = [*arguments, counters]
    if takes_status(module, launch):
        cell = marked_argument(function, DEVICE_STATUS)
        assert cell is not None
        arguments = [*arguments, cell]
    launch.replace(arguments, stream)
