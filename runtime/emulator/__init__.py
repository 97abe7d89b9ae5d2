"""A PTX emulator: runs the text that a GPU would get, checks it, and counts what it does.

    kernel = load(ptx)
    report = kernel.launch("softmax", grid=64, block=128, args=[x, y, 1024])

Arguments are numpy arrays or CPU torch tensors (written in place) and Python numbers. What is
wrong with the kernel raises `KernelError`, unless ``check=False``; ``report.findings`` has it all.
"""

from __future__ import annotations

from .device import Device, Kernels, load, record
from .errors import EmulatorError, KernelError, UnsupportedInstructionError
from .findings import Finding
from .launch import Options, Report

__all__ = [
    "Device",
    "EmulatorError",
    "Finding",
    "KernelError",
    "Kernels",
    "Options",
    "Report",
    "UnsupportedInstructionError",
    "load",
    "record",
]
