"""What a kernel for memory must be like, found without a GPU: its machine code, and what the emulator counts.

| gate | holds if |
|---|---|
| spills | ptxas kept everything in registers |
| wide | every access to global memory has 128 bits (64-bit elements: two of them) |
| first | no wide load comes after an instruction that waits for another one of the same piece of code |
| nc | every load is of memory that the kernel does not write (ld.global.nc) |
| bytes | the sectors of all requests are at most 2 % above what must be moved |
| banks | no conflicts in shared memory |
| sectors | no access touches more sectors than its bytes fill: 4 for 4 bytes a lane, 16 for 16 |

What must be moved is each sector that the kernel touches, once: the emulator's ``dram_read`` and
``dram_written``; beside it the table shows the bytes of what the kernel needs (`Kernel.bytes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlopt
import torch
from mlopt import emulator

from ...runtime.cuda.chips import find_chip
from ...runtime.cuda.ptxas import find_ptxas, tool_paths
from ...runtime.emulator.counters import Counters, Line
from .machine_code import Code, parse
from .operations import Operation

MOST_OVER = 1.02
GATES = ("spills", "wide", "first", "nc", "bytes", "banks", "sectors")
SECTOR = 32


@dataclass(frozen=True)
class Found:
    """One kernel of an operation as it was launched. Bytes are a launch's; ``misses`` the gates it misses."""

    operation: str
    kernel: str
    registers: int
    spills: int
    occupancy: float
    instructions: int
    wide: tuple[int, int]  # accesses of 128 bits, of all
    late: int
    nc: tuple[int, int]
    needed: int
    least: int
    moved: int
    conflicts: int
    sectors: float  # of the worst access, over what its bytes fill

    @property
    def misses(self) -> tuple[str, ...]:
        """The gates that do not hold."""
        holds = (
            self.spills == 0,
            self.wide[0] == self.wide[1],
            self.late == 0,
            self.nc[0] == self.nc[1],
            self.moved <= MOST_OVER * self.least,
            self.conflicts == 0,
            self.sectors <= 1,
        )
        return tuple(gate for gate, held in zip(GATES, holds, strict=True) if not held)


def measure(operation: Operation, chip: str) -> list[Found]:
    """The kernels of an operation in code for ``chip`` ("sm_80"), in the order of their launches."""
    inputs = operation.inputs()
    with torch.no_grad():
        compiled = mlopt.jit(
            operation.module(),
            *inputs,
            dynamic_shapes=operation.case.dynamic_shapes(),
            target=f"cuda:{chip}",
            device="emulator",
        )
        with emulator.record() as reports:
            compiled(*inputs)
    gpu = compiled.report.gpu
    assert gpu is not None, "the target is a GPU"
    codes = parse(compiled.asm["cubin"])
    built = {kernel.name: kernel for kernel in gpu.kernels}
    needed = {kernel.name: kernel.bytes or 0 for kernel in compiled.kernels}
    found = []
    for report in reports:
        code, counters, kernel = codes[report.kernel], report.counters, built[report.kernel]
        assert counters is not None and kernel.occupancy is not None
        found.append(
            _found(
                operation.name,
                report.kernel,
                (kernel.registers or 0, kernel.spills or 0),
                kernel.occupancy.share,
                code,
                counters,
                needed[report.kernel],
            )
        )
    return found


def _found(
    operation: str,
    name: str,
    built: tuple[int, int],
    occupancy: float,
    code: Code,
    counters: Counters,
    needed: int,
) -> Found:
    loads, stores = code.named("LDG"), code.named("STG")
    return Found(
        operation,
        name,
        *built,
        occupancy,
        len(code.instructions),
        (sum(each.bits == 128 for each in (*loads, *stores)), len(loads) + len(stores)),
        code.late_loads(),
        (sum(".CONSTANT" in each.name for each in loads), len(loads)),
        needed,
        counters.dram_read + counters.dram_written,
        counters.l2_bytes,
        counters.bank_conflicts,
        max(map(_waste, counters.lines), default=0.0),
    )


def _waste(line: Line) -> float:
    """The sectors of a line's requests over what their bytes fill (lanes of one place fill one sector)."""
    if not line.requests or not line.sectors:
        return 0.0
    fills = max(line.bytes / SECTOR, line.requests)
    return line.sectors / fills


def problems(found: Sequence[Found]) -> set[str]:
    """The gates that some kernel of an operation misses."""
    return {gate for each in found for gate in each.misses}


def missing(chip: str) -> str | None:
    """What is missing for `measure`, or None."""
    if find_ptxas(find_chip(chip)) is None or next(tool_paths("nvdisasm"), None) is None:
        return "ptxas and nvdisasm: pip install 'mlopt[cuda]'"
    return None
