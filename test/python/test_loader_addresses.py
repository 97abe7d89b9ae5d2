"""Loading where the address space is crowded: code and its constants stay within reach of one another."""

import subprocess
import sys

from .executables import generate

TABLE = """
llvm.mlir.global private constant @table(dense<[VALUES]> : tensor<4096xi32>) : !llvm.array<4096 x i32>
llvm.func @f(%i: i64) -> i32 {
  %base = llvm.mlir.addressof @table : !llvm.ptr
  %at = llvm.getelementptr %base[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %value = llvm.load %at : !llvm.ptr -> i32
  llvm.return %value : i32
}
"""

# Holes of a page are left high up; what needs more lies gigabytes below them, as beside large tensors.
PROGRAM = """
import ctypes, mmap, sys
from pathlib import Path
from mlopt.runtime import loader

NORESERVE = 0x4000
code, loaded, taken = Path(sys.argv[1]).read_bytes(), [], []
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
for step in range(60):
    pages = [mmap.mmap(-1, mmap.PAGESIZE, flags=flags) for _ in range(9)]
    taken += pages[::2] + [mmap.mmap(-1, 3 << 30, flags=flags)]
    del pages
    loaded.append(loader.load(code, ["f"]))
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(loaded[-1].address("f"))
    assert [function(i) for i in (0, 1000, 4095)] == [7, 1007, 4102]
"""


def test_code_reaches_its_constants(tmp_path):
    path = tmp_path / "table.o"
    path.write_bytes(generate(TABLE.replace("VALUES", ", ".join(str(7 + i) for i in range(4096)))).object)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
