"""A pass plug-in that fails as it is told to.

What happens is the text of the file that PLANTED names: nothing if it is empty.
"""

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from mlir import ir
from mlopt.passes.base import Pass

# memref<i1> lowers to memory of one bit a number, which an assertion of upstream's does not like.
I1_MEMREF = """
func.func private @planted(%m: memref<4xi1>, %i: index) -> i1 {
  %0 = memref.load %m[%i] : memref<4xi1>
  return %0 : i1
}
"""


@dataclass(frozen=True)
class Planted(Pass):
    """Abort later on, or take all memory or time."""

    name: ClassVar[str] = "planted"

    def run(self, op: ir.Operation) -> None:
        """Do what is planted."""
        file = Path(os.environ["PLANTED"])
        planted = file.read_text()
        if planted:
            file.with_suffix(".reached").touch()
        if planted == "abort":
            with ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]):
                ir.Operation.parse(I1_MEMREF).clone()
        elif planted == "memory":
            kept = []
            while True:
                kept.append(bytes(64 << 20))
        elif planted:
            # Never gives the interpreter lock away, as a pass of MLIR does not.
            ctypes.PyDLL(None).usleep(int(float(planted) * 1e6))
