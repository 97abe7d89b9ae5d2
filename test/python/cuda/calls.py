"""What the scenarios share: the stub with its programs, calls, and what they raise."""

import ctypes
import pickle
import threading

import numpy as np
import torch
from mlopt.errors import DeviceError
from mlopt.runtime import torch_place
from mlopt.runtime.cuda.executable import GpuExecutable, HostMemory
from mlopt.runtime.cuda.graphs import Replays
from mlopt.runtime.cuda.machine import cuda_machine
from mlopt.test.python.cuda.stub import Stub
from mlopt.torch_module import tensor_call

STREAM = 0x5EAD


class StubGpu(Stub):
    """The stub driver, and the programs to load on it."""

    def __init__(self, folder):
        super().__init__(folder / "libcuda.so.1")
        self.programs = pickle.loads((folder / "programs.pickle").read_bytes())

    def executable(self, name, machine=None, stream=STREAM):
        return GpuExecutable(self.programs[name], machine or cuda_machine(0), HostMemory(lambda: stream))


class Recorder:
    """Captures on the stub's streams; ``stream`` is the current one, ``waits`` are pairs (who, for whom).

    A thread that captures has the stream for that to itself, as torch.cuda.stream does it.
    """

    own = 0xCA

    def __init__(self, stub):
        self.library = stub.library
        self.waits = []
        self._common = STREAM
        self._capturing = threading.local()

    @property
    def stream(self):
        return self.own if getattr(self._capturing, "now", False) else self._common

    @stream.setter
    def stream(self, stream):
        self._common = stream

    def capture(self, launch):
        self._capturing.now = True
        graph = ctypes.c_void_p()
        self.library.cuStreamBeginCapture_v2(ctypes.c_void_p(self.own), 0)
        try:
            status = launch()
        finally:
            failed = self.library.cuStreamEndCapture(ctypes.c_void_p(self.own), ctypes.byref(graph))
            self._capturing.now = False
        if failed:
            raise RuntimeError(f"CUDA error {failed}")
        return status, lambda: self.library.cuGraphLaunch(graph, ctypes.c_void_p(self.stream))

    def current(self):
        return self.stream

    def wait_for(self, stream):
        self.waits.append((self.stream, stream))


def captured(stub, name, empty=torch_place.CPU.empty, record=lambda tensor: None):
    """A program whose calls of tensors are captured: the call, its recorder, and the entry point."""
    recorder = Recorder(stub)
    program = GpuExecutable(stub.programs[name], cuda_machine(0), HostMemory(lambda: recorder.stream))
    program.main.place = torch_place.TorchPlace(
        "here", torch.device("cpu"), "{x}.is_cpu", empty, empty, record
    )
    program.main.replays = Replays(program.main, recorder)
    return tensor_call(program), recorder, program.main


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


def counts(stub):
    """How many kernels were launched, captures made and graphs replayed since the last time."""
    log = stub.log()
    assert not [line for line in log if line.startswith("unexpected")], log
    return tuple(sum(line.startswith(word) for line in log) for word in ("cuLaunch", "captured", "cuGraph"))


def compute(stub):
    """Let kernels add one, or what the second argument is."""

    def kernel(name, grid, block, shared, stream, params):
        out = 2 if name == "add" else 1
        size = pointer(params, out + 1) if name not in ("pack", "use") else 64
        values = [floats(params, number, size) for number in range(out)]
        floats(params, out, size)[:] = values[0] + (values[1] if name == "add" else 1)

    stub.on_launch(kernel)


def entry_graphs(call):
    """What is kept of a call's sizes."""
    return call.__globals__["kept"].graphs.values()


def capture_on(own, recorder, action):
    """Capture ``action`` on the stream of ``own``, which is then current for the calls too."""

    def launch():
        recorder.stream = own.stream
        action()
        recorder.stream = STREAM
        return 0

    return own.capture(launch)
