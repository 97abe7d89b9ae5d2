"""What the host part of a GPU program costs: MLIR's CUDA runtime on a driver that does nothing.

    python bench/launch_overhead.py

Twenty kernels, launched by one call of a host function; the same launched one by one from Python
through cuLaunchKernel, as ctypes does it; and a call with torch tensors in all. The driver is the
recording one of the tests, with its log and its callback off: what is left is what every launch costs before
a driver does its own work.
"""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "test" / "python" / "cuda"
KERNELS = 20
BATCH, BATCHES = 2000, 50


def smallest(action) -> float:
    """The microseconds of one call of ``action``, the smallest over batches."""
    return min(timeit.repeat(action, number=BATCH, repeat=BATCHES)) / BATCH * 1e6


def main() -> None:
    sys.path.insert(0, str(TOOLS))
    import stub

    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, "programs.pickle")
        subprocess.run([sys.executable, str(TOOLS / "programs.py"), str(programs)], check=True)
        driver = stub.Stub(stub.build(folder, quiet=True))
        built = pickle.loads(programs.read_bytes())["chain"]

    import torch
    from mlopt.runtime.cuda.executable import GpuExecutable, HostMemory
    from mlopt.runtime.cuda.machine import cuda_machine
    from mlopt.torch_module import tensor_call

    executable = GpuExecutable(built, cuda_machine(0), HostMemory())
    call, x = tensor_call(executable), torch.zeros(1000)
    call(x)
    entry = executable.main
    frame = entry.new_frame()
    out = torch.empty(1000)
    frame.array[:] = [x.data_ptr(), out.data_ptr(), 0, 0, 1000, 1000]

    program = executable.program
    cells = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), ctypes.c_int64(1000)]
    params = (ctypes.c_void_p * 3)(*(ctypes.addressof(cell) for cell in cells))
    launch = driver.library.cuLaunchKernel
    launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
    functions = list(program._state[-KERNELS:])

    def one_by_one() -> None:
        for function in functions:
            launch(function, 8, 1, 1, 128, 1, 1, 0, None, params, None)

    print(f"{KERNELS} kernels, in microseconds")
    print(f"one host function                {smallest(lambda: entry.function(frame.address)):8.2f}")
    print(f"the same with torch tensors      {smallest(lambda: call(x)):8.2f}")
    print(f"one by one, by ctypes            {smallest(one_by_one):8.2f}")


if __name__ == "__main__":
    main()
