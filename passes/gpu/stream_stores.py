"""Stores of results that are not read again while a GPU's L2 cache has them do not stay there.

Before, a kernel that writes 64 MB, and its caller::

    func.func private @kernel_0_relu(%x: memref<4096x4096xf32>, %out: memref<4096x4096xf32>) attributes {…}
    func.func @main(%x: …, %out: … {mlopt.result = 0 : i64}) { call @kernel_0_relu(%x, %out) … }

After, the argument is marked, and mlopt-gpu-distribute writes `st.global.cs` (evict first) for it::

    func.func private @kernel_0_relu(%x: …, %out: memref<4096x4096xf32> {mlopt.streamed}) attributes {…}

What else is in the cache, such as weights or a result that the next kernel reads, is not pushed out for what
would be pushed out itself. Done where a buffer and what other kernels move (mlopt.bytes) until the buffer's
next use do not fit the cache of ``machine`` together. Nobody knows who reads the results of the program, or
when: they are taken to be read when it returns. A buffer of dynamic size stays, and so does one that its
kernel also reads, or whose caller has loops.

Legal for any buffer that a kernel only writes: the hint changes no value. Runs before mlopt-gpu-distribute.

Effect on sm_80: of the 208 kernels of `bench/results/gpu_gates.md` the stores of 50 stream, of rows of the
benchmark; ptxas makes the same registers and instructions of their PTX as without the hint. What the cache
gains shows on a GPU only, and is not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BYTES, KERNEL, STREAMED, argument_attributes
from ..base import Pass
from ..costs.machine import DEFAULT_GPU, machine_of
from ..cpu.functions import hosts_of
from ..operations import callee_of, defining_op, ops_named
from .layouts.access import bytes_of

_STORES = ("vector.transfer_write", "memref.store")
_VIEWS = (
    "memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.reinterpret_cast",
    "memref.subview", "memref.view",
)  # fmt: skip


@dataclass(frozen=True)
class StreamStores(Pass):
    """Mark what is written and not read again soon; ``machine``: whose cache would have to hold it."""

    name: ClassVar[str] = "mlopt-gpu-stream-stores"
    machine: str = DEFAULT_GPU

    def run(self, op: ir.Operation) -> None:
        """Mark arguments of kernels, as all their callers allow."""
        cache = int(machine_of(op, self.machine).cache)
        functions = [each.operation for each in op.regions[0].blocks[0].operations]
        kernels = {_name(each): each for each in functions if each.name == "func.func" and KERNEL.get(each)}
        verdicts: dict[tuple[str, int], bool] = {}
        for function in hosts_of(op):
            for key, streams in _verdicts(function, kernels, cache):
                verdicts[key] = verdicts.get(key, True) and streams
        for name, kernel in kernels.items():
            _mark(kernel, [number for number in range(_rank(kernel)) if verdicts.get((name, number))])


def can_stream(argument: ir.Value) -> bool:
    """Whether a kernel only writes to an argument, whose size is known."""
    kind = argument.type
    if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
        return False
    users = [use.owner.operation for use in argument.uses]
    return bool(users) and all(
        can_stream(user.results[0]) if user.name == "memref.cast" else _writes(user, argument)
        for user in users
    )


def should_stream(size: int, between: int, cache: int) -> bool:
    """Whether ``size`` bytes, and what is moved before their use, are more than fit a cache."""
    return size + between > cache


def _verdicts(
    host: ir.Operation, kernels: Mapping[str, ir.Operation], cache: int
) -> Iterable[tuple[tuple[str, int], bool]]:
    """For each kernel's argument that a host function's call writes, whether its stores should stream."""
    calls = ops_named(host, "func.call")
    moved = [_moved(call, kernels) for call in calls]
    for at, call in enumerate(calls):
        kernel = kernels.get(callee_of(call))
        for number, buffer in enumerate(call.operands if kernel is not None else ()):
            argument = kernel.regions[0].blocks[0].arguments[number]  # type: ignore[union-attr]
            if can_stream(argument):
                root = _root(buffer)
                later = range(at + 1, len(calls))
                used = next((each for each in later if root in map(_root, calls[each].operands)), len(calls))
                size = prod(argument.type.shape) * bytes_of(argument.type.element_type)
                once = call.parent.operation == host  # not in a loop
                yield (
                    (callee_of(call), number),
                    once and should_stream(size, sum(moved[at + 1 : used]), cache),
                )


def _moved(call: ir.Operation, kernels: Mapping[str, ir.Operation]) -> int:
    kernel = kernels.get(callee_of(call))
    return 0 if kernel is None else BYTES.get(kernel) or 0


def _writes(user: ir.Operation, argument: ir.Value) -> bool:
    """Whether an op writes to a buffer, and does nothing else with it."""
    return user.name in _STORES and user.operands[1] == argument and user.operands[0] != argument


def _root(buffer: ir.Value) -> ir.Value:
    """The memory that a view shows."""
    while (view := defining_op(buffer, *_VIEWS)) is not None:
        buffer = view.operands[0]
    return buffer


def _name(function: ir.Operation) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def _rank(function: ir.Operation) -> int:
    return len(function.regions[0].blocks[0].arguments)


def _mark(kernel: ir.Operation, numbers: list[int]) -> None:
    if not numbers:
        return
    attributes = argument_attributes(kernel)
    for number in numbers:
        attributes[number] = STREAMED.added(attributes[number], True)
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
