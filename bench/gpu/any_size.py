"""The gates that small kernels must hold, too: from a program's report, its code and a call's launches.

| gate | holds if |
|---|---|
| findings | the emulator has found nothing |
| spills | ptxas kept everything in registers |
| residency | a multiprocessor holds as many blocks as the schedule wants, by registers and shared memory |
| first | no wide load comes after an instruction that waits for another one of its tile or phase |
| nc | every load is of memory that the kernel does not write (ld.global.nc) |
| banks | no conflicts in shared memory |

How wide accesses are, and how many sectors they touch, depends on sizes: `gates` has those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...gpu_report import GpuKernel, GpuReport
from ...runtime.emulator.launch import Report
from .machine_code import Code
from .residency import wanted_blocks

GATES = ("findings", "spills", "residency", "first", "nc", "banks")
_LOAD = "ld.global"


def missed(
    report: GpuReport, threads: str, codes: Mapping[str, Code], launches: Sequence[Report]
) -> dict[str, set[str]]:
    """For each gate that is missed the kernels that miss it.

    ``threads`` is the stage of that name, ``launches`` are a call's on the emulator.
    """
    built = {kernel.name: kernel for kernel in report.kernels}
    wanted = wanted_blocks(threads)
    found: dict[str, set[str]] = {}
    for launch in launches:
        held = _held(built[launch.kernel], wanted[launch.kernel], codes[launch.kernel], launch)
        for gate in (gate for gate, holds in held.items() if not holds):
            found.setdefault(gate, set()).add(launch.kernel)
    return found


def _held(kernel: GpuKernel, blocks: int, code: Code, launch: Report) -> Mapping[str, bool]:
    counters = launch.counters
    assert counters is not None and kernel.occupancy is not None, "ptxas knows the kernel"
    loads = [line.text for line in counters.lines if _LOAD in line.text]
    held = (
        not launch.findings,
        kernel.spills == 0,
        kernel.occupancy.blocks >= blocks,
        code.late_loads() == 0,
        all(f"{_LOAD}.nc" in text for text in loads),
        counters.bank_conflicts == 0,
    )
    return dict(zip(GATES, held, strict=True))
