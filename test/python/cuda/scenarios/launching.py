"""What a call launches, in which order, with what, on which device."""

import ctypes
import os
import threading
import warnings
from pathlib import Path

import numpy as np
from mlopt.runtime.cuda.machine import cuda_machine
from mlopt.runtime.cuda.status import tell_last
from mlopt.test.python.cuda.calls import STREAM, floats, pointer, raises, run


def launches(stub):
    """Every launch: kernel, grid, block, shared memory, stream, arguments; the module is loaded once."""
    seen = []
    stub.on_launch(
        lambda name, grid, block, shared, stream, params: seen.append(
            (name, grid, block, shared, stream, [pointer(params, number) for number in range(3)])
        )
    )
    program = stub.executable("relu")
    assert stub.log() == ["cuModuleLoadData device 0", "cuModuleGetFunction relu"]
    for size in (1000, 1, 128):
        x, out = np.zeros((2, size), np.float32)
        run(program.main, x, out)
        blocks = -(-size // 128)
        arguments = [x.ctypes.data, out.ctypes.data, size]
        assert seen.pop() == ("relu", [blocks, 1, 1], [128, 1, 1], 0, STREAM, arguments)
    expected = [
        f"cuLaunchKernel relu grid {n} 1 1 block 128 1 1 shared 0 stream 0x5ead device 0" for n in (8, 1, 1)
    ]
    # Only the first call waits.
    assert stub.log() == [expected[0], "cuStreamSynchronize 0x5ead", *expected[1:]]


def results(stub):
    """With kernels that compute, what comes out is right; a workspace between them is used."""

    def kernel(name, grid, block, shared, stream, params):
        size = pointer(params, 2)
        floats(params, 1, size)[:] = floats(params, 0, size) * (2 if name == "first" else -3)

    stub.on_launch(kernel)
    program = stub.executable("two_steps")
    for size in (5, 4096, 1):
        x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        out = np.empty_like(x)
        run(program.main, x, out)
        assert np.array_equal(out, x * -6)


def prepared(stub):
    """@prepare runs as an entry point of its own."""

    def kernel(name, grid, block, shared, stream, params):
        size = pointer(params, 2)
        floats(params, 1, size)[:] = floats(params, 0, size) + 1

    stub.on_launch(kernel)
    program = stub.executable("prepared")
    weight = np.arange(10, dtype=np.float32)
    (buffer,) = program.run_prepare([weight.ctypes.data], [weight.shape], 1)
    x, out = np.zeros((2, 10), np.float32)
    addresses = [x.ctypes.data, weight.ctypes.data, buffer.address]
    program.main.call(addresses, [out.ctypes.data], [(10,)] * 4, 1)
    assert np.array_equal(out, weight + 2)
    assert [line.split()[1] for line in stub.log() if "Launch" in line] == ["pack", "use"]


def status(stub):
    """A failed assert of a kernel is eager's exception: in the first call, later when somebody looks."""
    cells, bad = [], True

    def kernel(name, grid, block, shared, stream, params):
        if name == "gather":
            cells.append(ctypes.c_int32.from_address(pointer(params, 3)))
            cells[-1].value = bad

    def fails():
        try:
            run(program.main, x, out)
        except IndexError as error:
            assert str(error) == "index out of range"
            return "CUDA_LAUNCH_BLOCKING" in "".join(getattr(error, "__notes__", []))
        raise AssertionError("no IndexError")

    stub.on_launch(kernel)
    program = stub.executable("checked")
    x, out = np.zeros((2, 8), np.float32)
    assert not fails(), "it is this call's: kernels were waited for"
    assert fails(), "it may be an earlier call's"
    stub.log()
    bad = False
    run(program.main, x, out)
    assert [line.split()[0] for line in stub.log()] == ["cuLaunchKernel"] * 2
    cells[-1].value = 1  # the kernel comes to it behind the call
    assert fails()
    assert not stub.log(), "what is known to be wrong is not called again"
    run(program.main, x, out)
    stub.library.stub_capturing(1)
    run(program.main, x, out)
    assert not any("Synchronize" in line for line in stub.log())


def status_at_the_end(stub):
    """What no call came to raise is a warning when the process ends; a forked child has nothing to tell."""
    program = stub.executable("checked")
    x, out = np.zeros((2, 8), np.float32)
    run(program.main, x, out)
    stub.log()
    ctypes.c_int32.from_address(program.main.status.address).value = 1
    child = os.fork()
    if not child:
        tell_last()
        os._exit(len(stub.log()))
    assert os.waitpid(child, 0)[1] == 0
    del program
    for expected in (["mlopt: a kernel of the last calls of main: IndexError: index out of range"], []):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tell_last()
        assert [str(each.message) for each in caught] == expected
        assert stub.log() == ["cuCtxSynchronize"]


def blocking_status(stub):
    """CUDA_LAUNCH_BLOCKING: each call waits for its own kernels, and raises what they found."""
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    bad = False

    def kernel(name, grid, block, shared, stream, params):
        if name == "gather" and bad:
            ctypes.c_int32.from_address(pointer(params, 3)).value = 1

    stub.on_launch(kernel)
    program = stub.executable("checked")
    x, out = np.zeros((2, 8), np.float32)
    for bad in (False, True, False, True):
        try:
            run(program.main, x, out)
            assert not bad
        except IndexError as error:
            assert bad and not hasattr(error, "__notes__")
        assert sum("Synchronize" in line for line in stub.log()) == 2


def shared_memory(stub):
    """MLIR's runtime raises the limit of dynamic shared memory itself."""
    stub.library.stub_attribute(97, 300_000)
    program = stub.executable("too_much_shared")
    x, out = np.zeros((2, 64), np.float32)
    run(program.main, x, out)
    assert "cuFuncSetAttribute fixed 8 200000" in stub.log()


def devices(stub):
    """Each device has a module and a context of its own; one that is not there is an error."""
    x, out = np.zeros((2, 64), np.float32)
    for index in (1, 0, 1):
        run(stub.executable("fixed", cuda_machine(index)).main, x, out)
        loaded, _, launched, _ = stub.log()
        assert loaded == f"cuModuleLoadData device {index}"
        assert launched.endswith(f"device {index}")
    raises(lambda: cuda_machine(2), "there is no GPU 2, there are 2")


def capture(stub):
    """In the capture of a CUDA graph nothing is waited for; the next call is the one with care."""
    stub.library.stub_capturing(1)
    program = stub.executable("relu")
    x, out = np.zeros((2, 300), np.float32)
    run(program.main, x, out)
    assert not any("Synchronize" in line for line in stub.log())
    stub.library.stub_capturing(0)
    run(program.main, x, out)
    assert sum("Synchronize" in line for line in stub.log()) == 1


def no_foreign_symbols(stub):
    """MLIR's runtime brings no LLVM into the process."""
    stub.executable("relu")
    assert "libLLVM" not in Path("/proc/self/maps").read_text()
    assert "mlopt-cuda-runtime" in Path("/proc/self/maps").read_text()


def tensor_maps(stub):
    """A map is made of address and sizes, kept by them, and passed by value; a refusal is an error."""
    seen = []

    def kernel(name, grid, block, shared, stream, params):
        seen.append([*(ctypes.c_uint64 * 16).from_address(params[1])])

    stub.on_launch(kernel)
    program = stub.executable("boxes")
    out = np.zeros(64, np.float32)
    inputs = [np.zeros((rows, 64), np.float16) for rows in (100, 101)]

    def encoded():
        return [line for line in stub.log() if "TensorMap" in line]

    def line(x):
        # A type of two bytes; sizes and the box from the innermost on, strides in bytes; 64 bytes of a
        # swizzle, 128 of the L2 cache.
        return (
            f"cuTensorMapEncodeTiled type 1 rank 2 address {x.ctypes.data:#x} dims 64 {len(x)} strides 128"
            " box 32 16 steps 1 1 modes 0 2 2 0"
        )

    for x in inputs:
        run(program.main, x, out)
        assert encoded() == [line(x)]
        for _ in range(3):
            run(program.main, x, out)
        run(program.main, x[:50], out)
        assert encoded() == [line(x[:50])]  # in the same place
        run(program.main, x, out)
        assert encoded() == [line(x)]
        assert seen == [[x.ctypes.data, *(64 * number for number in range(1, 16))]] * 6
        seen.clear()

    def call():
        for _ in range(200):
            run(program.main, inputs[0], out)
            run(program.main, inputs[1], out)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {found[0] for found in seen} == {x.ctypes.data for x in inputs} and len(seen) == 1600
    stub.log()
    seen.clear()
    other = np.zeros((7, 64), np.float16)
    stub.fail("cuTensorMapEncodeTiled", 1)
    try:
        run(program.main, other, out)
    except RuntimeError as error:
        assert "no map" in str(error)
    else:
        raise AssertionError("no RuntimeError")
    assert not seen
    run(program.main, other, out)
    assert encoded() == [line(other)] * 2 and seen[0][0] == other.ctypes.data
