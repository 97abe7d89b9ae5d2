"""Errors of the driver and limits of the device become exceptions."""

import os
import sys

import numpy as np
from mlopt.runtime.cuda.machine import CudaMachine
from mlopt.test.python.cuda.calls import raises, run


def load_fails(stub):
    stub.fail("cuModuleLoadData", 200)
    raises(
        lambda: stub.executable("relu"), "cuda:0 (Stub 0) cannot load the kernels", "CUDA_ERROR_INVALID_IMAGE"
    )


def function_fails(stub):
    stub.fail("cuModuleGetFunction", 500, after=1)
    raises(lambda: stub.executable("two_steps"), "cannot load kernel 'second'", "CUDA_ERROR_NOT_FOUND")


def launch_fails(stub):
    """A launch that the driver refuses names the kernel; those after it are not made."""
    program = stub.executable("two_steps")
    x, out = np.zeros((2, 300), np.float32)
    stub.fail("cuLaunchKernel", 1)
    error = raises(
        lambda: run(program.main, x, out), "kernel 'first' failed on cuda:0", "CUDA_ERROR_INVALID_VALUE"
    )
    assert "3×1×1 blocks of 128×1×1 threads" in str(error)
    assert not any("second" in line for line in stub.log() if "Launch" in line)
    run(program.main, x, out)  # still made with care
    assert sum("Synchronize" in line for line in stub.log()) == 2


def kernel_faults(stub):
    """An error that shows only when the kernel is waited for names the kernel, too."""
    program = stub.executable("two_steps")
    x, out = np.zeros((2, 300), np.float32)
    stub.fail("cuStreamSynchronize", 700, after=1)
    raises(lambda: run(program.main, x, out), "kernel 'second' failed", "CUDA_ERROR_ILLEGAL_ADDRESS")


def later_failures(stub):
    """Later calls do not wait, unless the environment says so."""
    program = stub.executable("relu")
    x, out = np.zeros((2, 300), np.float32)
    run(program.main, x, out)
    stub.log()
    run(program.main, x, out)
    assert not any("Synchronize" in line for line in stub.log())
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    program = stub.executable("relu")
    run(program.main, x, out)
    stub.fail("cuLaunchKernel", 719)
    raises(lambda: run(program.main, x, out), "kernel 'relu' failed", "CUDA_ERROR_LAUNCH_FAILED")


def a_forked_child_calls(stub):
    """What the parent has loaded is not the child's: a plain call says so, as a first and a checked one do.

    Launches that fail in a plain call are printed only, and results would be what was in their memory.
    """
    programs = [stub.executable(name) for name in ("relu", "checked", "two_steps")]
    x, out = np.zeros((2, 300), np.float32)
    for program in programs[:2]:
        run(program.main, x, out)
    stub.log()
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        run(programs[0].main, x, out)
        assert [line.split()[0] for line in stub.log()] == ["cuLaunchKernel"]
        return
    try:
        for program in programs:
            raises(lambda program=program: run(program.main, x, out), "was forked", "start it by spawn")
        assert not any("cuLaunchKernel" in line for line in stub.log())
    except BaseException as error:
        print(error, flush=True)
        os._exit(1)
    os._exit(0)


def limits(stub):
    """What cannot be launched is refused before anything is, in words."""
    for name, words in {
        "too_many_threads": "2048 threads along x, the device allows 1 to 1024",
        "too_much_shared": "200000 bytes of shared memory, the device allows 166912",
    }.items():
        raises(lambda name=name: stub.executable(name), "kernel 'fixed' cannot run on cuda:0", words)
    stub.library.stub_function_attribute(4, 255)
    stub.library.stub_attribute(12, 16384)
    raises(
        lambda: stub.executable("fixed", CudaMachine(0)), "32768 registers a block, the device allows 16384"
    )
    stub.library.stub_attribute(12, 65536)
    stub.library.stub_function_attribute(0, 64)
    raises(lambda: stub.executable("fixed"), "128 threads a block, its code allows 64")
    stub.library.stub_function_attribute(0, 1024)
    assert not any("Launch" in line for line in stub.log())


def grid_limits(stub):
    """Grids that depend on the size are checked with the first call's."""
    stub.library.stub_attribute(5, 4)
    program = stub.executable("relu")
    x, out = np.zeros((2, 1000), np.float32)
    raises(lambda: run(program.main, x, out), "8 blocks along x, the device allows 1 to 4")
    assert not any("Launch" in line for line in stub.log())


def later_grids(stub):
    """Of a later call the host part checks the number of blocks: the driver would only print."""
    program = stub.executable("negate")
    x, out = np.zeros((2, 1000), np.float32)
    run(program.main, x, out)
    stub.log()
    for size, fits in ((2**30, True), (2**52, False), (1000, True)):
        try:
            program.main.call([x.ctypes.data], [out.ctypes.data], [(size,)] * 2, 1)
        except RuntimeError as error:
            assert "needs more than the 2147483647 blocks" in str(error) and not fits, error
        else:
            assert fits
        assert any("Launch" in line for line in stub.log()) == fits


def no_standard_error(stub):
    """A process that has closed its standard streams, or has no sys.stderr, is called all the same."""
    kept, before = os.dup(2), sys.stderr
    sys.stderr = None
    for file in (0, 1, 2):
        os.close(file)
    try:
        program = stub.executable("relu")
        x, out = np.zeros((2, 300), np.float32)
        stub.fail("cuLaunchKernel", 1)
        error = raises(lambda: run(program.main, x, out), "kernel 'relu' failed", "CUDA_ERROR_INVALID_VALUE")
        run(program.main, x, out)
        free = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]
    finally:
        os.dup2(kept, 2)
        sys.stderr = before
    assert free == [0, 1, 2], free
    assert "3×1×1" in str(error)
