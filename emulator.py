"""``mlopt.emulator``: run PTX without a GPU, check it, and count what it does (docs/emulator.md).

    kernel = load(ptx)
    report = kernel.launch("softmax", grid=64, block=128, args=[x, y, 1024])

Arguments are numpy arrays or CPU torch tensors (written in place) and Python numbers. What is
wrong with the kernel raises `KernelError`, unless ``check=False``; ``report.findings`` has it all.
"""

from __future__ import annotations

from .runtime.emulator.device import Device, Kernels, load, record
from .runtime.emulator.errors import EmulatorError, KernelError, UnsupportedInstructionError
from .runtime.emulator.findings import Finding
from .runtime.emulator.launch import Options, Report
from .runtime.emulator.tensor_maps import im2col, tiled

__all__ = [
    "Device",
    "EmulatorError",
    "Finding",
    "KernelError",
    "Kernels",
    "Options",
    "Report",
    "UnsupportedInstructionError",
    "im2col",
    "load",
    "record",
    "tiled",
]
