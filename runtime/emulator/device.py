"""A device without a GPU: memory, modules, launches."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import families  # registers the instructions
from .chips import chip
from .errors import EmulatorError, KernelError
from .launch import Launch, Options, Report, triple
from .loaded import Loaded
from .memory import Allocation, GlobalMemory
from .ptx import Array, Variable

assert families


class Device:
    """An emulated GPU. ``name`` is the chip (sm_80) whose limits hold; by default the module's target."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.memory = GlobalMemory()

    def load(self, ptx: str) -> Kernels:
        """A PTX module on this device. Raises EmulatorError with the line of what it cannot read."""
        return Kernels(self, Loaded(ptx, self.memory))

    def alloc(self, size: int, name: str = "allocation") -> int:
        """The address of ``size`` new bytes; reading them before they are written is a finding."""
        return self.memory.allocate(size, name).base

    def free(self, address: int) -> None:
        """Give an allocation back."""
        self.memory.free(address)

    def write(self, address: int, array: Array) -> None:
        """Copy an array to the device."""
        allocation, start, raw = self._range(address, array.nbytes)
        raw[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if allocation.written is not None:
            allocation.written[start : start + array.nbytes] = 1

    def read(self, address: int, array: Array) -> None:
        """Copy from the device into a contiguous array."""
        _, _, raw = self._range(address, array.nbytes)
        array.reshape(-1).view(np.uint8)[:] = raw

    def _range(self, address: int, size: int) -> tuple[Allocation, int, Array]:
        allocation = self.memory.find(address)
        if allocation is None or address + size > allocation.end:
            raise EmulatorError(f"{size} bytes at {address:#x} are not allocated")
        start = address - allocation.base
        return allocation, start, allocation.data[start : start + size]


class Kernels:
    """The kernels of a module on a device."""

    def __init__(self, device: Device, loaded: Loaded) -> None:
        self.device = device
        self.loaded = loaded

    @property
    def names(self) -> list[str]:
        """The kernels' names."""
        functions = self.loaded.module.functions.values()
        return [function.name for function in functions if function.entry and function.body]

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        dynamic_smem: int = 0,
        *,
        cluster: int | Sequence[int] | None = None,
        check: bool = True,
        options: Options | None = None,
    ) -> Report:
        """Run a kernel.

        ``grid``, ``block`` and ``cluster`` (in blocks) are one to three sizes. ``args`` are, for each
        parameter, a contiguous numpy array or CPU torch tensor (its memory is the device's for the
        launch), a number, or bytes for a struct. A finding raises `KernelError` after the kernel has
        ended, unless ``check=False``.
        """
        function = self.loaded.function(name)
        if len(args) != len(function.params):
            raise EmulatorError(f"{name} takes {len(function.params)} arguments, {len(args)} given")
        placed: dict[int, Allocation] = {}
        offsets, size = self.loaded.parameter_layout(function)
        buffer = bytearray(size)
        try:
            for parameter, value in zip(function.params, args, strict=True):
                raw = self._argument(parameter, value, placed)
                start = offsets[parameter.name]
                buffer[start : start + parameter.size] = raw
            return self.launch_raw(
                name, grid, block, bytes(buffer), dynamic_smem, cluster=cluster, check=check, options=options
            )
        finally:
            for allocation in placed.values():
                self.device.memory.free(allocation.base)

    def launch_raw(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: bytes,
        dynamic_smem: int = 0,
        *,
        cluster: int | Sequence[int] | None = None,
        check: bool = True,
        options: Options | None = None,
    ) -> Report:
        """The same with the parameters as the bytes that the kernel gets."""
        function = self.loaded.function(name)
        limits = chip(self.device.name or self.loaded.module.target)
        launch = Launch(
            self.loaded,
            function,
            triple(grid),
            triple(block),
            arguments,
            dynamic_smem,
            limits,
            _as_recorded(name, options or Options()),
            None if cluster is None else triple(cluster),
        )
        report = launch.run()
        for recording in _recordings:
            recording.reports.append(report)
        if check and report.findings:
            raise KernelError(report.findings, report)
        return report

    def _argument(self, parameter: Variable, value: Any, placed: dict[int, Allocation]) -> bytes:
        """A parameter's bytes; memory that comes with an array is placed on the device."""
        if hasattr(value, "detach") and hasattr(value, "data_ptr"):
            value = _tensor_bytes(value, parameter.name)
        if isinstance(value, np.ndarray) and value.ndim == 0 and parameter.size == value.nbytes < 8:
            return value.tobytes()
        if isinstance(value, np.ndarray):
            return self._place(parameter, value, placed).to_bytes(8, "little")
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bytes | bytearray):
            if len(value) != parameter.size:
                raise EmulatorError(f"{parameter.name} has {parameter.size} bytes, {len(value)} given")
            return bytes(value)
        return _scalar(parameter, value)

    def _place(self, parameter: Variable, value: Array, placed: dict[int, Allocation]) -> int:
        if parameter.size != 8:
            raise EmulatorError(f"{parameter.name} has {parameter.size} bytes, an array is an address of 8")
        if not value.flags.c_contiguous:
            raise EmulatorError(
                f"the array for {parameter.name} is not contiguous", remedy="pass numpy.ascontiguousarray(…)"
            )
        pointer = value.ctypes.data
        if pointer not in placed:
            data = value.reshape(-1).view(np.uint8)
            placed[pointer] = self.device.memory.place(data, parameter.name, writable=value.flags.writeable)
        return placed[pointer].base


def _tensor_bytes(tensor: Any, name: str) -> Array:
    """The memory of a torch tensor on the CPU."""
    if tensor.device.type != "cpu":
        raise EmulatorError(f"the tensor for {name} is on {tensor.device}", remedy="pass a CPU tensor")
    if not tensor.is_contiguous():
        raise EmulatorError(f"the tensor for {name} is not contiguous", remedy="pass tensor.contiguous()")
    import torch

    array: Array = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return array


def _scalar(parameter: Variable, value: Any) -> bytes:
    size = parameter.size
    if isinstance(value, float):
        formats = {2: "<e", 4: "<f", 8: "<d"}
        if size not in formats:
            raise EmulatorError(f"{parameter.name} has {size} bytes, no float has")
        return struct.pack(formats[size], value)
    if isinstance(value, int):
        if parameter.type.kind == "f":
            return _scalar(parameter, float(value))
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    raise EmulatorError(f"{value!r} cannot be the argument {parameter.name}")


@dataclass(frozen=True, eq=False)
class _Recording:
    reports: list[Report]
    trace: bool
    blocks: Mapping[str, int]


_recordings: list[_Recording] = []


@contextmanager
def record(trace: bool = False, blocks: Mapping[str, int] | None = None) -> Iterator[list[Report]]:
    """A list that gets the report of every launch on an emulated device while the context is open.

    ``trace`` keeps in each which sectors its blocks have touched (`Report.trace`). Of the kernels that are
    named in ``blocks`` only so many blocks run, the first ones: what they compute is then of no use, but
    what is counted is. What such a launch has begun to write counts as written.
    """
    recording = _Recording([], trace, blocks or {})
    _recordings.append(recording)
    try:
        yield recording.reports
    finally:
        _recordings.remove(recording)


def _as_recorded(name: str, options: Options) -> Options:
    """The options of a launch with what those want that record it."""
    trace = options.trace or any(each.trace for each in _recordings)
    blocks = [each.blocks[name] for each in _recordings if name in each.blocks]
    return replace(options, trace=trace, blocks=min(blocks, default=options.blocks))


def load(ptx: str, chip: str = "") -> Kernels:
    """The kernels of a PTX text, on a device of their own."""
    return Device(chip).load(ptx)
