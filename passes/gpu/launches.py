"""gpu.launch_func by its parts: kernel, grid, block, shared memory, arguments, stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ...dialects.attributes import COUNTED, STATUS, argument_attributes
from ..base import PassError
from ..operations import attributes_of

_SEGMENTS = "operandSegmentSizes"
# The operand groups of gpu.launch_func in order: dependencies, grid x y z, block x y z,
# cluster x y z, dynamic shared memory, arguments, stream.
_DEPENDENCIES, _GRID, _BLOCK, _CLUSTER, _SHARED, _ARGUMENTS, _STREAM = 0, 1, 4, 7, 10, 11, 12


@dataclass(frozen=True)
class Launch:
    """A view of one gpu.launch_func."""

    op: ir.Operation

    @property
    def kernel(self) -> tuple[str, str]:
        """The names of the gpu.module and of the kernel in it."""
        names = ir.SymbolRefAttr(self.op.attributes["kernel"]).value
        return names[0], names[-1]

    @property
    def grid(self) -> list[ir.Value]:
        return self._group(_GRID, 3)

    @property
    def block(self) -> list[ir.Value]:
        return self._group(_BLOCK, 3)

    @property
    def shared_bytes(self) -> ir.Value | None:
        """The size of the dynamic shared memory, an i32."""
        found = self._group(_SHARED)
        return found[0] if found else None

    @property
    def arguments(self) -> list[ir.Value]:
        return self._group(_ARGUMENTS)

    @property
    def stream(self) -> ir.Value | None:
        found = self._group(_STREAM)
        return found[0] if found else None

    def check_plain(self) -> None:
        """Raise `PassError` for a launch with tokens or in clusters, which have no lowering."""
        if self._group(_DEPENDENCIES) or list(self.op.results):
            raise PassError(self.op, "launches with async tokens are not lowered; launch on a stream")
        if self._group(_CLUSTER, 3):
            raise PassError(self.op, "launches in clusters are not lowered")

    def replace(self, arguments: Sequence[ir.Value], stream: ir.Value) -> None:
        """Put the same launch with these arguments and this stream in the op's place."""
        operands = [*self._group(0, _ARGUMENTS), *arguments, stream]
        sizes = [*self._sizes[:_ARGUMENTS], len(arguments), 1]
        attributes = attributes_of(self.op)
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(sizes)
        with ir.InsertionPoint(self.op), self.op.location:
            ir.Operation.create(self.op.name, operands=operands, attributes=attributes)
        self.op.erase()

    @property
    def _sizes(self) -> list[int]:
        return list(ir.DenseI32ArrayAttr(self.op.attributes[_SEGMENTS]))

    def _group(self, first: int, count: int = 1) -> list[ir.Value]:
        sizes = self._sizes
        start = sum(sizes[:first])
        return list(self.op.operands)[start : start + sum(sizes[first : first + count])]


def find_kernel(module: ir.Operation, launch: Launch) -> ir.Operation:
    """The device function that ``launch`` starts, or `PassError`."""
    device, name = launch.kernel
    for op in _operations(module):
        if op.name == "gpu.module" and _symbol(op) == device:
            for kernel in _operations(op):
                if _symbol(kernel) == name:
                    return kernel
    raise PassError(launch.op, f"there is no kernel @{device}::@{name}")


def takes_status(module: ir.Operation, launch: Launch) -> bool:
    """Whether the kernel's last argument is the address of the status cell."""
    attributes = argument_attributes(find_kernel(module, launch))
    return bool(attributes) and bool(STATUS.get(attributes[-1]))


def counters_of(module: ir.Operation, launch: Launch) -> int:
    """How many counters of blocks the kernel has, whose address is its last argument, but for the status."""
    return COUNTED.get(find_kernel(module, launch)) or 0


def _operations(op: ir.Operation) -> list[ir.Operation]:
    return [inner.operation for inner in op.regions[0].blocks[0].operations]


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""
