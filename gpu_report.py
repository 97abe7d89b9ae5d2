"""What a report says of the kernels of a GPU program: threads, registers, memory, occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from .runtime.cuda.chips import find_chip
from .runtime.cuda.occupancy import Occupancy, occupancy
from .tables import aligned

_UNKNOWN = "?"
_NO_PTXAS = "no ptxas that knows the chip: PTX only, which the driver compiles (pip install 'mlopt[cuda]')"


@dataclass(frozen=True)
class GpuKernel:
    """One kernel as it is launched; what only ptxas knows is None without it.

    ``threads`` of a block and ``grid`` (blocks by dimension) are None where they depend on sizes;
    ``shared`` are a block's bytes, static and dynamic; ``spills`` the bytes that a thread stores and loads
    because registers ran out.
    """

    name: str
    threads: int | None
    grid: tuple[int, int, int] | None
    shared: int
    registers: int | None = None
    spills: int | None = None
    occupancy: Occupancy | None = None


@dataclass(frozen=True)
class GpuReport:
    """The kernels for ``chip``; ``ptxas`` is its version, empty without; ``warnings`` are its own."""

    chip: str
    ptxas: str
    kernels: tuple[GpuKernel, ...]
    warnings: tuple[str, ...]

    @staticmethod
    def from_metadata(device: Mapping[str, Any]) -> GpuReport:
        """``device`` as pipelines/compile_cuda.py writes it."""
        kernels = tuple(_kernel(name, device) for name in device["kernels"])
        return GpuReport(device["chip"], device["ptxas"], kernels, tuple(device["warnings"]))

    @property
    def spills(self) -> int:
        """The bytes of all spills."""
        return sum(kernel.spills or 0 for kernel in self.kernels)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("on the GPU", "threads", "blocks", "registers", "spills", "shared", "occupancy")
        ]
        rows += [_row(kernel) for kernel in self.kernels]
        by = f"{self.chip}, ptxas {self.ptxas}" if self.ptxas else f"{self.chip}, {_NO_PTXAS}"
        return "\n".join([by, *aligned(rows, left=(0, 6)), *self.warnings])


def _kernel(name: str, device: Mapping[str, Any]) -> GpuKernel:
    launches = [launch for launch in device["launches"] if launch["kernel"] == name]
    threads, grid = launches[0]["threads"], launches[0]["grid"]
    code = device["code"].get(name)
    dynamic = max(max(launch["shared"][0], 0) for launch in launches)
    shared = dynamic + (code["shared"] if code else 0)
    known = GpuKernel(
        name,
        None if -1 in threads else prod(threads),
        None if -1 in grid or len(launches) > 1 else tuple(grid),
        shared,
    )
    if code is None or known.threads is None:
        return known
    fits = occupancy(find_chip(device["chip"]).limits, known.threads, code["registers"], shared)
    spills = code["spill_stores"] + code["spill_loads"]
    return GpuKernel(name, known.threads, known.grid, shared, code["registers"], spills, fits)


def _row(kernel: GpuKernel) -> tuple[str, ...]:
    found = (
        kernel.threads,
        "×".join(str(size) for size in kernel.grid if size > 1) or 1 if kernel.grid else None,
        kernel.registers,
        kernel.spills,
        kernel.shared,
        kernel.occupancy,
    )
    return (kernel.name, *(_UNKNOWN if value is None else str(value) for value in found))
