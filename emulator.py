"""``mlopt.emulator``: run PTX without a GPU, check it, and count what it does (docs/emulator.md)."""

from __future__ import annotations

from .runtime.emulator import (
    Device,
    EmulatorError,
    Finding,
    KernelError,
    Kernels,
    Options,
    Report,
    UnsupportedInstructionError,
    load,
    record,
)

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
