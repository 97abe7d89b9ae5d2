"""What runs kernels: a GPU through MLIR's CUDA runtime, or something that stands in for one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ...dialects.launch_state import NO_JIT
from ...errors import DeviceError
from .chips import TOO_OLD, best_chip, find_chip
from .driver import DeviceLimits, FunctionNeeds, driver
from .library import CudaRuntime

# The driver's levels are 0 to 4; it compiles at 4 if it is not told.
_JIT_LEVEL = 4


if TYPE_CHECKING:
    from .executable import GpuEntryPoint


class Machine(Protocol):
    """Loads and launches through functions of C, `RUNTIME_FUNCTIONS`.

    ``prints_errors`` says that what goes wrong is only printed to standard error, ``runs_late`` that a launch
    returns before its kernel has run.
    """

    words: str
    prints_errors: bool
    runs_late: bool

    def functions(self) -> Sequence[int]:
        """The addresses of these functions."""
        ...

    def image(self, ptx: str, cubin: bytes, device: Mapping[str, Any]) -> tuple[bytes, int]:
        """What to load of a program's device code, and the level of the driver's compiler.

        ``device`` is what `pipelines.compile_cuda.build_device` says about the code.
        """
        ...

    def context(self) -> AbstractContextManager[None]:
        """The device's context is current inside: mgpuModuleGetFunction makes none current itself."""
        ...

    def limits(self) -> DeviceLimits:
        """What launches may have."""
        ...

    def needs(self, function: int) -> FunctionNeeds:
        """What a loaded kernel needs."""
        ...

    def synchronize(self, stream: int) -> str:
        """Wait for ``stream``; the error, or an empty string."""
        ...

    def finish(self) -> None:
        """Wait for all that runs."""
        ...

    def is_capturing(self, stream: int) -> bool:
        """Whether ``stream`` records a CUDA graph."""
        ...

    def take_error(self) -> BaseException | None:
        """What a load or a launch of this thread raised, once."""
        ...

    def attach(self, entry: GpuEntryPoint, run: Callable[[int], int]) -> Callable[[int], int]:
        """``run`` of the address of an array, with whatever the machine does around it."""
        ...


class CudaMachine:
    """One GPU."""

    prints_errors = True
    runs_late = True

    def __init__(self, index: int) -> None:
        self._driver = driver()
        count = self._driver.count()
        if not 0 <= index < count:
            raise DeviceError(
                f"there is no GPU {index}, there are {count}", remedy="check CUDA_VISIBLE_DEVICES"
            )
        self.index = index
        self.words = f"cuda:{index} ({self._driver.name(index)})"
        self._capability = self._driver.capability(index)
        self._limits = self._driver.limits(index)
        self._runtime = CudaRuntime(index)

    def functions(self) -> Sequence[int]:
        return self._runtime.functions

    def image(self, ptx: str, cubin: bytes, device: Mapping[str, Any]) -> tuple[bytes, int]:
        """Machine code where it was made for this GPU by a toolkit that the driver knows, else PTX."""
        chip, ptxas = device["chip"], device["ptxas"]
        target, release = find_chip(chip), self._driver.version
        if not target.runs_on(self._capability):
            best = best_chip(self._capability)
            raise DeviceError(
                "the program is for {}, {} is sm_{}{}".format(chip, self.words, *self._capability),
                remedy=f'compile for target="cuda:{best.name}"' if best else TOO_OLD,
            )
        known = bool(ptxas) and int(ptxas.split(".")[0]) <= release[0]
        if cubin and known and target.cubin_runs_on(self._capability):
            return cubin, NO_JIT
        needed = _driver_for(target.ptx)
        if release < needed:
            raise DeviceError(
                "the driver is for CUDA {}.{}, PTX for {} needs {}.{}".format(*release, chip, *needed),
                remedy="install a newer NVIDIA driver",
            )
        return ptx.encode() + b"\0", _JIT_LEVEL

    def context(self) -> AbstractContextManager[None]:
        return self._driver.context(self.index)

    def limits(self) -> DeviceLimits:
        return self._limits

    def needs(self, function: int) -> FunctionNeeds:
        return self._driver.needs(self.index, function)

    def synchronize(self, stream: int) -> str:
        return self._driver.synchronize(self.index, stream)

    def finish(self) -> None:
        self._driver.finish(self.index)

    def is_capturing(self, stream: int) -> bool:
        return self._driver.is_capturing(self.index, stream)

    def take_error(self) -> BaseException | None:
        return None

    def attach(self, entry: GpuEntryPoint, run: Callable[[int], int]) -> Callable[[int], int]:  # noqa: ARG002
        return run


def _driver_for(ptx: int) -> tuple[int, int]:
    """The CUDA release whose driver reads PTX of version ``ptx`` (PTX ISA, "Release notes")."""
    releases = {80: (12, 0), 86: (12, 7), 87: (12, 8), 88: (12, 9), 90: (13, 0)}
    return releases[ptx]


@functools.cache
def cuda_machine(index: int) -> CudaMachine:
    """The GPU ``index``, with a runtime of its own; DeviceError says why there is none."""
    return CudaMachine(index)
