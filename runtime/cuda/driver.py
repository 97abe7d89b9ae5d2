"""The CUDA driver: devices, what they allow, and what a loaded kernel needs. By ctypes, no toolkit."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int, c_void_p
from dataclasses import dataclass

from ...errors import DeviceError

LIBRARY = "libcuda.so.1"
NOT_INITIALIZED = "CUDA_ERROR_NOT_INITIALIZED"
FORKED = "this process was forked from one that had used the GPU: start it by spawn, or fork before that"
_REMEDY = 'install the NVIDIA driver; or pass device="emulator", which needs no GPU'

# CUdevice_attribute and CUfunction_attribute of cuda.h.
_DEVICE_ATTRIBUTES = {
    "threads": 1, "block_x": 2, "block_y": 3, "block_z": 4, "grid_x": 5, "grid_y": 6, "grid_z": 7,
    "registers": 12, "major": 75, "minor": 76, "shared": 97,
}  # fmt: skip
_FUNCTION_ATTRIBUTES = {"threads": 0, "shared": 1, "local": 3, "registers": 4}


@dataclass(frozen=True)
class DeviceLimits:
    """What a launch on a device may have at most; ``shared`` is the most that a block can ask for."""

    threads: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    registers: int
    shared: int


@dataclass(frozen=True)
class FunctionNeeds:
    """What a loaded kernel takes: ``threads`` is the most that its block may have; ``shared`` is static."""

    threads: int
    shared: int
    local: int
    registers: int


class Driver:
    """libcuda.so.1, initialized."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise DeviceError(f"there is no NVIDIA driver ({LIBRARY})", remedy=_REMEDY) from None
        self._check("cuInit", 0)
        version = c_int()
        self._check("cuDriverGetVersion", byref(version))
        self.version = (version.value // 1000, version.value % 1000 // 10)

    def count(self) -> int:
        """How many devices this process can see."""
        count = c_int()
        self._check("cuDeviceGetCount", byref(count))
        return count.value

    def capability(self, device: int) -> tuple[int, int]:
        """The compute capability."""
        return self._attribute(device, "major"), self._attribute(device, "minor")

    def name(self, device: int) -> str:
        """What the device is sold as."""
        text = ctypes.create_string_buffer(100)
        self._check("cuDeviceGetName", text, len(text), self._handle(device))
        return text.value.decode(errors="replace")

    def limits(self, device: int) -> DeviceLimits:
        """What launches on the device may have."""
        read = functools.partial(self._attribute, device)
        return DeviceLimits(
            read("threads"),
            (read("block_x"), read("block_y"), read("block_z")),
            (read("grid_x"), read("grid_y"), read("grid_z")),
            read("registers"),
            read("shared"),
        )

    def needs(self, device: int, function: int) -> FunctionNeeds:
        """What the kernel ``function`` (a CUfunction on ``device``) needs."""
        values = {}
        with self.context(device):
            for name, number in _FUNCTION_ATTRIBUTES.items():
                value = c_int()
                self._check("cuFuncGetAttribute", byref(value), number, c_void_p(function))
                values[name] = value.value
        return FunctionNeeds(**values)

    def synchronize(self, device: int, stream: int) -> str:
        """Wait for ``stream``; the error's name, or an empty string."""
        with self.context(device):
            return self._error(self._library.cuStreamSynchronize(c_void_p(stream)))

    def finish(self, device: int) -> None:
        """Wait for all streams; what went wrong there is told by those who wait for one."""
        with self.context(device):
            self._library.cuCtxSynchronize()

    def is_capturing(self, device: int, stream: int) -> bool:
        """Whether ``stream`` records a CUDA graph, in which nothing can be waited for."""
        status = c_int()
        with self.context(device):
            self._check("cuStreamIsCapturing", c_void_p(stream), byref(status))
        return status.value != 0

    @contextmanager
    def context(self, device: int) -> Iterator[None]:
        """The device's primary context, which torch uses too, is current inside."""
        previous = c_void_p()
        self._check("cuCtxPushCurrent_v2", self._primary_context(device))
        try:
            yield
        finally:
            self._check("cuCtxPopCurrent_v2", byref(previous))

    @functools.cache  # noqa: B019 (there is one driver)
    def _primary_context(self, device: int) -> c_void_p:
        context = c_void_p()
        self._check("cuDevicePrimaryCtxRetain", byref(context), self._handle(device))
        return context

    def _attribute(self, device: int, name: str) -> int:
        value = c_int()
        self._check("cuDeviceGetAttribute", byref(value), _DEVICE_ATTRIBUTES[name], self._handle(device))
        return value.value

    def _handle(self, device: int) -> int:
        handle = c_int()
        self._check("cuDeviceGet", byref(handle), device)
        return handle.value

    def _check(self, function: str, *arguments: object) -> None:
        error = self._error(getattr(self._library, function)(*arguments))
        if error:
            raise DeviceError(f"the CUDA driver's {function} failed: {error}", remedy=_remedy(error))

    def _error(self, status: int) -> str:
        if status == 0:
            return ""
        name = c_char_p()
        self._library.cuGetErrorName(status, byref(name))
        return name.value.decode() if name.value else f"error {status}"


def _remedy(error: str) -> str:
    if NOT_INITIALIZED in error:
        return FORKED
    if error == "CUDA_ERROR_NO_DEVICE":
        return 'check CUDA_VISIBLE_DEVICES and nvidia-smi; or pass device="emulator"'
    return "see nvidia-smi: the driver or the device does not work"


@functools.cache
def driver() -> Driver:
    """The driver, or DeviceError with what to do."""
    return Driver()
