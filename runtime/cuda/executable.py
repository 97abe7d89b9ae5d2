"""GPU programs that can be called: entry points with a stream, workspaces, and a status cell.

The array of an entry point holds a pointer for each argument and result, the workspace's pointer, the
stream, the address of a status cell (`status`) if a kernel can fail, that of counters if one counts blocks,
and the dynamic sizes. Pointers
are the device's; this layer knows addresses only, as `mlopt.runtime.executable` does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ...errors import DeviceError
from .. import profiling
from ..executable import AlignedBytes, Block, EntryPoint, Executable, Frame
from ..signature import Signature
from .machine import Machine
from .program import BLOCKING_VARIABLE, Program
from .status import Status


class Memory(Protocol):
    """Where a program's buffers come from, and the stream that it runs on."""

    def allocate(self, size: int) -> Block:
        """Memory on the device, for what is launched next on the stream."""
        ...

    def status_cell(self) -> Block:
        """An int32 that is 0, which both the device and this process can write."""
        ...

    def zeros(self, number: int) -> Block:
        """So many int32s that are 0 for what is launched next on the stream."""
        ...

    def counters(self, number: int) -> Block:
        """The same, left at 0 by all that uses them on the current stream, which nothing else does."""
        ...

    def copy_of(self, values: AlignedBytes) -> Block:
        """What stands in this process's memory, where kernels can read it."""
        ...

    @property
    def stream(self) -> Callable[[], int]:
        """Says which stream is current."""
        ...


class HostMemory:
    """Memory of this process, for machines that share it."""

    def __init__(self, stream: Callable[[], int] = lambda: 0) -> None:
        self.stream = stream
        self._counters: dict[int, AlignedBytes] = {}

    def zeros(self, number: int) -> AlignedBytes:
        block = AlignedBytes(4 * number)
        ctypes.memset(block.address, 0, block.size)
        return block

    def counters(self, number: int) -> AlignedBytes:
        known = self._counters.get(self.stream())
        if known is None or known.size < 4 * number:
            known = self._counters[self.stream()] = self.zeros(number)
        return known

    def copy_of(self, values: AlignedBytes) -> AlignedBytes:
        return values

    def allocate(self, size: int) -> Block:
        return AlignedBytes(size)

    def status_cell(self) -> Block:
        cell = AlignedBytes(4)
        ctypes.c_int32.from_address(cell.address).value = 0
        return cell


class GpuEntryPoint(EntryPoint):
    """One function of a program. Workspaces are allocated for each call: streams differ."""

    workspace_expression = "0"

    def __init__(
        self,
        program: Program,
        memory: Memory,
        name: str,
        described: Mapping[str, Any],
        asserts: Sequence[str],
    ) -> None:
        self.status: Status | None = None
        if described.get("device_status"):
            self.status = Status(memory.status_cell(), asserts, name, program.machine)
        self.counters: int = described.get("counters", 0)
        slots = [] if self.status is None else [str(self.status.address)]
        slots += ["0"] if self.counters else []
        super().__init__(program.code, name, Signature.from_metadata(described), asserts, slots)
        self.program = program
        self.memory = memory
        self.stream = memory.stream
        self._run = program.entry(name, self.threads_slot)
        self._waited = True  # for the kernels of the call that is made: of the first one, at least
        self.function = program.machine.attach(self, self._run if self.status is None else self._run_and_look)

    def new_frame(self) -> Frame:
        frame = Frame(self.length)
        if self.status is not None:
            frame.array[self.threads_slot + 1] = self.status.address
        return frame

    @property
    def fits_workspace(self) -> bool:
        return self.signature.workspace != 0 or self.counters > 0

    def fit_workspace(self, frame: Frame) -> Any:
        """A fresh workspace for the sizes that stand in ``frame``, and the stream's counters.

        They may be dropped after the launches.
        """
        counters = self.memory.counters(self.counters) if self.counters else None
        workspace = None
        if self.signature.workspace != 0:
            workspace = self.memory.allocate(self.workspace_size(frame.address))
        self.give(frame, workspace, counters)
        return workspace, counters

    def give(self, frame: Frame, workspace: Block | None, counters: Block | None) -> None:
        """Write where the workspace and the counters are that a call uses."""
        if workspace is not None:
            frame.array[self.workspace_slot] = workspace.address
        if counters is not None:
            frame.array[self.counters_slot] = counters.address

    @property
    def counters_slot(self) -> int:
        """Where the address of counters stands in the array: last before the sizes."""
        return self.threads_slot + len(self.more_slots)

    def workspace_size(self, address: int) -> int:
        """The bytes for the sizes that stand in the array at ``address``."""
        if self.signature.workspace is not None:
            return self.signature.workspace
        assert self._workspace_bytes is not None
        return int(self._workspace_bytes(address))

    def call(
        self,
        pointers: Sequence[int],
        results: Sequence[int],
        shapes: Sequence[Sequence[int]],
        threads: int,  # noqa: ARG002 (a stream is what counts)
    ) -> None:
        frame = self.new_frame()
        more = [] if self.status is None else [self.status.address]
        more += [0] if self.counters else []
        values = [*pointers, *results, 0, self.memory.stream(), *more, *self.dynamic_sizes(shapes)]
        for slot, value in enumerate(values):
            frame.array[slot] = value
        workspace = self.fit_workspace(frame) if self.fits_workspace else None
        status = (self.profiled if profiling.is_active() else self.function)(frame.address)
        del workspace
        if status:
            self.raise_status(status)

    def profiled(self, address: int) -> int:
        """`function` in a range called ``label``, each launch in a range of its own."""
        with _range(self.label), self.program.hooked(_range):
            return self.function(address)

    def look(self) -> None:
        """Raise what kernels have found wrong by now."""
        if self.status is not None:
            self.status.look(BLOCKING_VARIABLE)

    def _run_and_look(self, address: int) -> int:
        """Run, unless an earlier call was wrong; where kernels are through, their status is the call's."""
        assert self.status is not None
        self.look()
        status = self._run(address)
        if self._waited:
            self._waited = self.program.waits
            # Also where a check of the host's failed: kernels that were launched before it write to the cell.
            found = self.status.take()
            return status or found
        if not status:
            self.look()
        return status


@contextmanager
def _range(name: str) -> Iterator[None]:
    opened = profiling.begin(name)
    try:
        yield
    finally:
        profiling.end(opened)


_BLOCKING = f"set {BLOCKING_VARIABLE}=1 to learn which one"


class GpuExecutable(Executable):
    """A loaded program: ``main``, and ``prepare`` where something depends on weights alone.

    ``label`` is what profilers call it.
    """

    main: GpuEntryPoint

    def __init__(
        self, built: Mapping[str, Any], machine: Machine, memory: Memory, label: str = "main"
    ) -> None:
        metadata = built["metadata"]
        functions = metadata["functions"]
        names = [f"mlopt_{name}" for name in functions]
        names += [
            f"mlopt_{name}_workspace" for name, known in functions.items() if known["workspace"] is None
        ]
        self.program = Program(built, names, machine)
        self.memory = memory
        asserts = metadata.get("asserts", ())
        entries = {
            name: GpuEntryPoint(self.program, memory, name, known, asserts)
            for name, known in functions.items()
        }
        self._set_entries(entries, label)
        self._entries = tuple(entries.values())
        for entry in self._entries:
            if entry.status is not None:
                entry.status.label = entry.label

    def allocate(self, sizes: Sequence[int]) -> Sequence[Block]:
        return [self.memory.allocate(size) for size in sizes]

    def copy_of(self, values: AlignedBytes) -> Block:
        return self.memory.copy_of(values)

    def settle(self) -> None:
        self._refuse_capture()
        machine = self.program.machine
        error = machine.synchronize(self.memory.stream())
        if error:
            raise DeviceError(f"preparing the weights failed on {machine.words}: {error}", remedy=_BLOCKING)
        for entry in self._entries:
            entry.look()

    def run_prepare(
        self, weights: Sequence[int], shapes: Sequence[Sequence[int]], threads: int
    ) -> Sequence[Block]:
        if self.prepare is not None:
            self._refuse_capture()
        return super().run_prepare(weights, shapes, threads)

    def _refuse_capture(self) -> None:
        """What is made of weights would be recorded only, and calls outside of the graph would read it."""
        if self.program.machine.is_capturing(self.memory.stream()):
            raise DeviceError(
                "weights are new or have changed, and a CUDA graph's capture cannot prepare them",
                remedy="call it once before the capture",
            )
