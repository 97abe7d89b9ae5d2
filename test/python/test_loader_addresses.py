"""Loading where the address space is crowded: code and its constants stay within reach of one another.

And what the linker keeps of memory.
"""

import subprocess
import sys

import pytest

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

# What it calls is compiled from IR in the process that loads it.
CALLER = """
llvm.func @SYMBOL(TYPES) -> RESULT
llvm.func @f(ARGUMENTS) -> RESULT {
  %r = llvm.call @SYMBOL(VALUES) : (TYPES) -> RESULT
  llvm.return %r : RESULT
}
"""
CALLED = {
    "mlopt_scratch": ("i64, i64", "!llvm.ptr"),
    "__truncsfbf2": ("f32", "bf16"),
}

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

# What is resident of LLVM's library once an object is loaded, in KB: 47000 where nothing is given back.
RESIDENT = """
import re, sys
from pathlib import Path
from mlopt.runtime import loader

loaded = loader.load(Path(sys.argv[1]).read_bytes(), ["f"])
total, of_llvm = 0, False
for line in Path("/proc/self/smaps").read_text().splitlines():
    if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
        of_llvm = "libllvmlite" in line
    elif of_llvm and line.startswith("Rss:"):
        total += int(line.split()[1])
print(total)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The path of an object."""
    path = tmp_path_factory.mktemp("objects") / "table.o"
    path.write_bytes(generate(TABLE.replace("VALUES", ", ".join(str(7 + i) for i in range(4096)))).object)
    return path


def run(program, path):
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_reaches_its_constants(table):
    run(PROGRAM, table)


def test_what_linking_does_not_need_of_llvm_is_not_kept(table):
    assert 0 < int(run(RESIDENT, table)) < 20000


@pytest.mark.parametrize("symbol", CALLED)
def test_what_compiling_ir_does_not_need_of_llvm_is_not_kept(symbol, tmp_path):
    types, result = CALLED[symbol]
    each = types.split(", ")
    text = CALLER.replace("SYMBOL", symbol).replace("TYPES", types).replace("RESULT", result)
    text = text.replace("ARGUMENTS", ", ".join(f"%a{i}: {one}" for i, one in enumerate(each)))
    path = tmp_path / "caller.o"
    path.write_bytes(generate(text.replace("VALUES", ", ".join(f"%a{i}" for i in range(len(each))))).object)
    assert 0 < int(run(RESIDENT, path)) < 20000
