"""The PTX emulator in a GPU's place: the same host object, the same launches, kernels on the CPU.

The functions that the object calls are callbacks here. Before each call the buffers in its array
become the emulator's memory, at their own addresses: kernels may read arguments, and write results and
workspace; what they do beyond, or read before it is written, is an error.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.launch_state import NO_JIT
from ..emulator.chips import Chip
from ..emulator.chips import chip as emulated_chip
from ..emulator.device import Device, Kernels
from ..emulator.errors import EmulatorError, KernelError
from ..emulator.findings import Finding
from ..emulator.launch import Options, Report
from ..emulator.tensor_maps import FILLS, INTERLEAVES, PROMOTIONS, SWIZZLES, TYPES, tiled
from .driver import DeviceLimits, FunctionNeeds
from .program import LAUNCH_TYPE

if TYPE_CHECKING:
    from .executable import GpuEntryPoint

_LOAD = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_LOAD_JIT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t)
_GET_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_ENCODE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32, *[ctypes.c_void_p] * 5, *[ctypes.c_int32] * 4
)
_KEPT_REPORTS = 1000


class EmulatedMachine:
    """A GPU ``chip`` ("sm_80") of its own for one program.

    ``reports`` has what the emulator found and counted in the last launches, one each.
    """

    prints_errors = False
    runs_late = False

    def __init__(self, chip: str) -> None:
        self.words = f"the emulator of {chip}"
        self.reports: deque[Report] = deque(maxlen=_KEPT_REPORTS)
        self._chip: Chip = emulated_chip(chip)
        self._device = Device(chip)
        self._kernels: Kernels | None = None
        self._names: list[str] = []
        self._registers: dict[str, int] = {}
        self._errors = threading.local()
        self._lock = threading.RLock()
        self._counters: np.ndarray[Any, Any] | None = None  # of blocks, of the call that runs now
        self._callbacks = (
            _LOAD(self._load),
            _LOAD_JIT(lambda image, _, size: self._load(image, size)),
            _GET_FUNCTION(self._get_function),
            LAUNCH_TYPE(self._launch),
            _ENCODE(_encode),
        )

    def functions(self) -> Sequence[int]:
        return [ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in self._callbacks]

    def image(self, ptx: str, cubin: bytes, device: Mapping[str, Any]) -> tuple[bytes, int]:  # noqa: ARG002
        self._registers = {name: code["registers"] for name, code in device["code"].items()}
        return ptx.encode(), NO_JIT

    def context(self) -> AbstractContextManager[None]:
        return nullcontext()

    def limits(self) -> DeviceLimits:
        chip = self._chip
        return DeviceLimits(
            chip.threads_in_block, chip.block, chip.grid, chip.registers, chip.shared_in_block
        )

    def needs(self, function: int) -> FunctionNeeds:
        """Registers as ptxas says; 0 without it: PTX has any number of them."""
        assert self._kernels is not None
        name = self._names[function - 1]
        kernel = self._kernels.loaded.function(name)
        threads = math.prod(kernel.directives.get("maxntid", (self._chip.threads_in_block,)))
        return FunctionNeeds(
            threads, self._kernels.loaded.shared_layout(kernel)[1], 0, self._registers.get(name, 0)
        )

    def synchronize(self, stream: int) -> str:  # noqa: ARG002
        return ""

    def finish(self) -> None:
        pass

    def is_capturing(self, stream: int) -> bool:  # noqa: ARG002
        return False

    def take_error(self) -> BaseException | None:
        error: BaseException | None = getattr(self._errors, "last", None)
        self._errors.last = None
        return error

    def attach(self, entry: GpuEntryPoint, run: Callable[[int], int]) -> Callable[[int], int]:
        """``run`` with the buffers of its array as the emulator's memory."""

        def call(address: int) -> int:
            with self._lock, self._placed(entry, address):
                return run(address)

        return call

    @contextmanager
    def _placed(self, entry: GpuEntryPoint, address: int) -> Iterator[None]:
        placed = []
        try:
            for base, size, name, writes in _merged(_buffers(entry, address)):
                data = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(base))
                fresh = np.zeros(size, np.uint8) if writes == "fresh" else None
                self._device.memory.place(data, name, fresh, base=base, writable=bool(writes))
                placed.append(base)
            array = (ctypes.c_int64 * entry.length).from_address(address)
            counters = array[entry.counters_slot] if entry.counters else 0
            if counters:
                memory = (ctypes.c_int32 * entry.counters).from_address(counters)
                self._counters = np.ctypeslib.as_array(memory)
            yield
        finally:
            if self._counters is not None:  # a kernel that failed may have left something there
                self._counters[:] = 0
                self._counters = None
            for base in placed:
                self._device.memory.free(base)

    def _load(self, image: int, size: int) -> int:
        def load() -> int:
            self._kernels = self._device.load(ctypes.string_at(image, size).decode())
            self._names = self._kernels.names
            return 1

        return self._guarded(load) or 0

    def _get_function(self, module: int, name: bytes) -> int:  # noqa: ARG002
        """The number of the kernel, from 1: 0 says that there is none."""
        return self._names.index(name.decode()) + 1 if name.decode() in self._names else 0

    def _launch(self, function: int, *rest: Any) -> None:
        self._guarded(lambda: self._launch_one(self._names[function - 1], *rest))

    def _launch_one(self, name: str, *rest: Any) -> None:
        assert self._kernels is not None
        loaded = self._kernels.loaded
        kernel = loaded.function(name)
        offsets, size = loaded.parameter_layout(kernel)
        given = (ctypes.c_int64 * len(kernel.params)).from_address(rest[8]) if kernel.params else ()
        arguments = bytearray(size)
        for parameter, place in zip(kernel.params, given, strict=True):
            start = offsets[parameter.name]
            arguments[start : start + parameter.size] = ctypes.string_at(place, parameter.size)
        options = Options(registers=self._registers.get(name, 0))
        report = self._kernels.launch_raw(
            name, rest[0:3], rest[3:6], bytes(arguments), rest[6], options=options
        )
        self.reports.append(report)
        left = [] if self._counters is None else np.flatnonzero(self._counters).tolist()
        if left and report.blocks == math.prod(rest[0:3]):
            detail = (
                f"counter {left[0]} of the blocks that have come is not 0: the next launch goes on from there"
            )
            raise KernelError([Finding("counter", name, detail)], report)

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Nothing may be raised through the C code that calls; `take_error` has it."""
        try:
            return action()
        except BaseException as error:
            self._errors.last = error
            return None


def _encode(
    to: int, kind: int, rank: int, address: int, dims: int, strides: int, box: int, steps: int, *modes: int
) -> None:
    """Write a tensor map; as MLIR's runtime, nothing where the driver refuses."""

    def numbers(place: int, each: Any, count: int = rank) -> list[int]:
        return [*(each * count).from_address(place)]

    long, word = ctypes.c_uint64, ctypes.c_uint32
    interleave, swizzle, promotion, fill = modes
    try:
        made = tiled(
            list(TYPES)[kind],
            address,
            numbers(dims, long),
            numbers(strides, long, rank - 1),
            numbers(box, word),
            numbers(steps, word),
            interleave=INTERLEAVES[interleave],
            swizzle=SWIZZLES[swizzle],
            promotion=PROMOTIONS[promotion],
            fill=FILLS[fill],
        )
    except EmulatorError:
        return
    ctypes.memmove(to, made, len(made))


_Buffer = tuple[int, int, str, str]  # address, bytes, name, "" for arguments, else "fresh" or "any"


def _buffers(entry: GpuEntryPoint, address: int) -> Iterator[_Buffer]:
    """What the pointers in the array at ``address`` point to."""
    array = (ctypes.c_int64 * entry.length).from_address(address)
    dynamic = iter(array[entry.first_size :])
    signature = entry.signature
    for number, buffer in enumerate((*signature.args, *signature.results)):
        sizes = [next(dynamic) if size is None else size for size in buffer.shape]
        is_result = number >= entry.first_result
        if not buffer.scalar:
            name = f"result {number - entry.first_result}" if is_result else f"argument {number}"
            yield array[number], math.prod(sizes) * buffer.itemsize, name, "fresh" if is_result else ""
    if array[entry.workspace_slot]:
        yield array[entry.workspace_slot], entry.workspace_size(address), "the workspace", "fresh"
    if entry.status is not None:
        yield array[entry.threads_slot + 1], ctypes.sizeof(ctypes.c_int32), "the status cell", "any"
    if entry.counters:
        yield array[entry.counters_slot], 4 * entry.counters, "the counters of blocks", "any"


def _merged(buffers: Iterator[_Buffer]) -> list[_Buffer]:
    """Buffers that overlap, such as one tensor that is passed twice, as one."""
    merged: list[_Buffer] = []
    for base, size, name, writes in sorted(buffer for buffer in buffers if buffer[1]):
        if merged and base < merged[-1][0] + merged[-1][1]:
            first, before, names, either = merged.pop()
            end = max(first + before, base + size)
            writes = "any" if writes != either else writes
            base, size, name = first, end - first, f"{names} and {name}"
        merged.append((base, size, name, writes))
    return merged
