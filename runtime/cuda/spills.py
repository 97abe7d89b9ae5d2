"""Machine code that spills nothing: ptxas says which kernels do, and these get more registers.

PTX says how many blocks of a kernel a multiprocessor is to hold::

    .visible .entry kernel_0_sin( … )
    .maxntid 128
    .minnctapersm 16

which leaves a thread 32 registers. It is what mlopt-schedule expects to be enough; how many registers a
function of libdevice or a division takes, only ptxas knows. Where it is not enough, half as many blocks are
wanted, and so on; before, a .maxnreg is dropped. The sine of f64 stores and loads 528 bytes a thread for 16
blocks and nothing for 4.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .chips import Chip
from .ptxas import Assembled, Ptxas, assemble

_WANTED = re.compile(r"(\.entry (\w+)\([^)]*\)\s*\.maxntid[^\n]*\s*\.minnctapersm )(\d+)(\s*\.maxnreg \d+)?")


def assemble_unspilled(ptx: str, chip: Chip, ptxas: Ptxas) -> tuple[str, Assembled]:
    """`assemble`, and the PTX that it is of: kernels that spill want fewer blocks, down to one."""
    assembled = assemble(ptx, chip, ptxas)
    while (relaxed := _relaxed(ptx, _spilling(assembled))) != ptx:
        ptx, assembled = relaxed, assemble(relaxed, chip, ptxas)
    return ptx, assembled


def _spilling(assembled: Assembled) -> set[str]:
    return {name for name, code in assembled.kernels.items() if code.spill_stores + code.spill_loads}


def _relaxed(ptx: str, names: Collection[str]) -> str:
    def change(found: re.Match[str]) -> str:
        if found[2] not in names:
            return found[0]
        blocks = int(found[3])
        return f"{found[1]}{blocks if found[4] else max(blocks // 2, 1)}"

    return _WANTED.sub(change, ptx)
