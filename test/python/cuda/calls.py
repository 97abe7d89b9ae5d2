"""What the scenarios share: the stub with its programs, calls, and what they raise."""

import ctypes
import pickle

import numpy as np
from mlopt.errors import DeviceError
from mlopt.runtime.cuda.executable import GpuExecutable, HostMemory
from mlopt.runtime.cuda.machine import cuda_machine
from mlopt.test.python.cuda.stub import Stub

STREAM = 0x5EAD


class StubGpu(Stub):
    """The stub driver, and the programs to load on it."""

    def __init__(self, folder):
        super().__init__(folder / "libcuda.so.1")
        self.programs = pickle.loads((folder / "programs.pickle").read_bytes())

    def executable(self, name, machine=None, stream=STREAM):
        return GpuExecutable(self.programs[name], machine or cuda_machine(0), HostMemory(lambda: stream))


def run(entry, *arrays):
    """Call with arrays, the results last."""
    addresses = [array.ctypes.data for array in arrays]
    count = len(entry.signature.args)
    entry.call(addresses[:count], addresses[count:], [array.shape for array in arrays], 1)


def floats(params, number, size):
    """The array that parameter ``number`` of a launch points to."""
    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(pointer(params, number)))


def pointer(params, number):
    return ctypes.c_int64.from_address(params[number]).value


def raises(action, *words):
    """What ``action`` raises, which must be a DeviceError that has these words."""
    try:
        action()
    except DeviceError as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return error
    raise AssertionError("nothing was raised")
