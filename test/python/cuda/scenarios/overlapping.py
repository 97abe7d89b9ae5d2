"""Hooks, threads, streams and torch's tensors."""

import contextlib
import ctypes
import dataclasses
import threading

import numpy as np
from mlopt.runtime.cuda.executable import GpuExecutable, HostMemory
from mlopt.runtime.cuda.machine import cuda_machine
from mlopt.test.python.cuda.calls import floats, pointer, raises, run
from mlopt.test.python.threads import at_once


def hook(stub):
    """A profiler's hook is entered around each launch."""
    names = []

    class Range:
        def __init__(self, name):
            names.append(name)

        def __enter__(self):
            names.append("in")

        def __exit__(self, *_):
            names.append("out")

    program = stub.executable("two_steps")
    x, out = np.zeros((2, 300), np.float32)
    with program.program.hooked(Range):
        run(program.main, x, out)
    run(program.main, x, out)
    assert names == ["first", "in", "out", "second", "in", "out"]


def hooks_of_threads(stub):
    """A hook is its thread's: calls that overlap neither see another's nor leave one behind."""
    names = {"first": [], "second": []}
    entered, left = threading.Barrier(2), threading.Event()
    program = stub.executable("two_steps")

    def work(thread):
        def note(name):
            names[thread].append(name)
            return contextlib.nullcontext()

        with program.program.hooked(note):
            entered.wait(10)
            run(program.main, *np.zeros((2, 300), np.float32))
            if thread == "second":
                assert left.wait(10)
        left.set()

    at_once(work, *((thread,) for thread in names))
    run(program.main, *np.zeros((2, 300), np.float32))
    assert names == {"first": ["first", "second"], "second": ["first", "second"]}


def threads(stub):
    """Calls in several threads at once."""
    totals = []
    lock = threading.Lock()

    def kernel(name, grid, block, shared, stream, params):
        with lock:
            totals.append(pointer(params, 2))

    stub.on_launch(kernel)
    program = stub.executable("two_steps")

    def work(size):
        x, out = np.zeros((2, size), np.float32)
        for _ in range(50):
            run(program.main, x, out)

    at_once(work, (10,), (20,), (30,))
    assert sorted(totals) == [10] * 100 + [20] * 100 + [30] * 100


def tensors(stub):
    """The call of torch tensors: fresh outputs, a workspace for each call, the current stream, statuses."""
    import torch
    from mlopt.torch_module import tensor_call

    seen = []

    def kernel(name, grid, block, shared, stream, params):
        size = pointer(params, 2)
        seen.append((name, stream, pointer(params, 1)))
        floats(params, 1, size)[:] = floats(params, 0, size) + 1
        if name == "gather" and size == 3:
            ctypes.c_int32.from_address(pointer(params, 3)).value = 1

    stub.on_launch(kernel)
    call = tensor_call(stub.executable("two_steps", stream=7))
    for size in (5, 1000, 5):
        x = torch.randn(size)
        (out,) = call(x)
        assert torch.equal(out, x + 1 + 1)
        assert seen[-1] == ("second", 7, out.data_ptr())
        assert seen[-2][:2] == ("first", 7)
    call = tensor_call(stub.executable("checked"))
    for size in (5, 3, 5):
        try:
            (out,) = call(torch.zeros(size))
        except IndexError:
            assert size == 3
        else:
            assert torch.equal(out, torch.full((size,), 2.0))
    program = stub.executable("fixed")
    call = tensor_call(program)
    stub.fail("cuLaunchKernel", 1)
    raises(lambda: call(torch.zeros(64)), "kernel 'fixed' failed")
    call(torch.zeros(64))


def streams(stub):
    """Each call runs on the stream that is current then."""
    current = 0
    program = GpuExecutable(stub.programs["relu"], cuda_machine(0), HostMemory(lambda: current))
    x, out = np.zeros((2, 8), np.float32)
    for stream in (1, 0, 2**40):
        current = stream
        run(program.main, x, out)
        (words,) = (line.split() for line in stub.log() if "Launch" in line)
        assert int(words[words.index("stream") + 1], 0) == stream


def weights_on_other_streams(stub):
    """What was prepared is not given away while another stream still reads it; once is enough to say so."""
    import torch
    from mlopt.runtime import torch_place
    from mlopt.torch_module import tensor_call

    streams, recorded = [1], []

    class Memory(HostMemory):
        def allocate(self, size):
            return torch_place.TensorBlock(torch.empty(size, dtype=torch.uint8))

    program = GpuExecutable(stub.programs["packed"], cuda_machine(0), Memory(lambda: streams[-1]))
    program.main.place = dataclasses.replace(
        torch_place.CPU, record=lambda tensor: recorded.append((streams[-1], tensor.data_ptr()))
    )
    buffers = []
    stub.on_launch(lambda name, grid, block, shared, stream, params: buffers.append(pointer(params, 1)))
    call = tensor_call(program)
    x, weight = torch.zeros(2, 64)
    for stream in (1, 1, 2, 3, 2, 1):
        streams.append(stream)
        call(x, weight)
    assert recorded == [(2, buffers[0]), (3, buffers[0])]
    recorded.clear()
    buffers.clear()
    weight.add_(1)
    for stream in (3, 1, 3):
        streams.append(stream)
        call(x, weight)
    assert recorded == [(1, buffers[0])]
