"""From what a compile worker made to something that can be called, on whatever it was compiled for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..options import Options
from .cuda.chips import chip_of, is_cuda
from .executable import Executable


def open_executable(
    built: Mapping[str, Any], options: Options, label: str = "main", gpu: int | None = None
) -> Executable:
    """``built`` loaded into this process; ``label`` is what profilers call it.

    A program for a GPU runs on the emulator if ``options.device`` says so, else on the GPU with the
    number ``gpu``: `DeviceError` if it cannot.
    """
    if not is_cuda(options.target):
        return Executable(built["object"], built["metadata"], label)
    from .cuda.executable import GpuExecutable, HostMemory

    if gpu is None:
        from .cuda.emulated import EmulatedMachine

        return GpuExecutable(built, EmulatedMachine(chip_of(options.target).name), HostMemory(), label)
    from .cuda.machine import cuda_machine

    machine = cuda_machine(gpu)
    from .torch_place import CudaMemory, cuda_place

    executable = GpuExecutable(built, machine, CudaMemory(gpu), label)
    for entry in (executable.main, executable.prepare):
        if entry is not None:
            entry.place = cuda_place(gpu)
    from .cuda.program import is_blocking

    if options.cuda_graph and not is_blocking():
        from .cuda.graphs import Replays, TorchRecorder

        executable.main.replays = Replays(executable.main, TorchRecorder(gpu))
    return executable


def open_call(
    built: Mapping[str, Any],
    options: Options,
    label: str,
    make: Callable[[Executable], Callable[..., Any]],
) -> Callable[..., Any]:
    """What ``make`` makes of the executable. For GPUs that is put off: it needs one, and to know which."""
    if needs_gpu(options):
        return _CallsByGpu(lambda gpu: make(open_executable(built, options, label, gpu)))
    return make(open_executable(built, options, label))


def notes(options: Options) -> tuple[str, ...]:
    """What was asked for and is not done, for reports."""
    if not options.cuda_graph:
        return ()
    if not needs_gpu(options):
        where = "the emulator" if is_cuda(options.target) else "the CPU"
        return (f"cuda_graph changes nothing: calls run on {where}",)
    return ()


def needs_gpu(options: Options) -> bool:
    """Whether calls run on a GPU."""
    return is_cuda(options.target) and options.device == "gpu"


class _CallsByGpu:
    """Calls on the GPU that the arguments are on, or on the current one if they are on none."""

    def __init__(self, make: Callable[[int], Callable[..., Any]]) -> None:
        self._make = make
        self._calls: dict[int, Callable[..., Any]] = {}

    def __call__(self, *values: Any) -> Any:
        for value in values:
            if getattr(value, "is_cuda", False):
                gpu: int = value.get_device()
                break
        else:
            gpu = default_gpu()
        call = self._calls.get(gpu)
        if call is None:
            # Threads whose first calls overlap make one each; all go on with the same one.
            call = self._calls.setdefault(gpu, self._make(gpu))
        return call(*values)


def default_gpu() -> int:
    """The current GPU; DeviceError with what to do if there is none."""
    from .cuda.driver import driver

    driver()
    from .torch_place import current_gpu

    return current_gpu()
