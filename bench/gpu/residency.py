"""How many blocks of each kernel a multiprocessor is to hold, as its schedule wants it.

PTX may want fewer: of kernels that spill (`mlopt.runtime.cuda.spills`).
"""

from __future__ import annotations

import re

_WANTED = re.compile(r"llvm\.func @(\w+)\(.*nvvm\.minctasm = (\d+)")


def wanted_blocks(threads: str) -> dict[str, int]:
    """By kernel; ``threads`` is the stage of that name (`Compiled.asm`)."""
    return {name: int(blocks) for name, blocks in _WANTED.findall(threads)}
