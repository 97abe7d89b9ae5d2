"""What the machine has: GPUs, a driver, an assembler; what is loaded for it."""

import subprocess

from mlopt.runtime.cuda.driver import driver
from mlopt.runtime.cuda.machine import CudaMachine, cuda_machine
from mlopt.test.python.cuda.calls import raises


def images(stub):
    """Machine code for the GPU that it was made for and a driver that knows it, else PTX; never for less."""

    def loaded(version, capability):
        stub.library.stub_version(version)
        stub.library.stub_attribute(75, capability[0])
        stub.library.stub_attribute(76, capability[1])
        driver.cache_clear()
        stub.executable("relu", CudaMachine(0))
        return stub.log()[0].split()[0]

    assert loaded(13000, (8, 0)) == loaded(13020, (8, 6)) == "cuModuleLoadData"
    assert loaded(12040, (8, 0)) == loaded(13000, (9, 0)) == "cuModuleLoadDataEx"
    stub.fail("cuModuleLoadDataEx", 218)
    raises(lambda: loaded(13000, (9, 0)), "cannot load the kernels", "line 3; fatal")
    raises(
        lambda: loaded(13000, (7, 5)), "the program is for sm_80", "is sm_75", "needs compute capability 8.0"
    )
    raises(lambda: loaded(11080, (8, 0)), "PTX for sm_80 needs 12.0", "newer NVIDIA driver")


def no_ptxas(stub):
    """Without machine code the driver compiles the PTX."""
    stub.programs["relu"]["cubin"] = b""
    stub.programs["relu"]["metadata"]["device"]["ptxas"] = ""
    stub.executable("relu")
    assert stub.log()[0].startswith("cuModuleLoadDataEx")


def no_device(stub):
    stub.library.stub_devices(0)
    raises(lambda: cuda_machine(0), "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES")


def doctor(stub):
    """`mlopt doctor` names each GPU and the target for it."""
    from mlopt.tools import doctor

    doctor._run = lambda *command: subprocess.CompletedProcess(command, 0, "13.0 True\n", "")
    stub.library.stub_attribute(75, 9)
    found = {finding.subject: finding for finding in doctor._gpu()}
    assert found["NVIDIA driver"].found == "CUDA 13.0"
    assert found["GPU 0"].found == 'Stub 0, sm_90, target="cuda:sm_90a"'
    assert found["GPU 1"].fine
    assert found["torch with CUDA"].found == "13.0"
    doctor._run = lambda *command: subprocess.CompletedProcess(command, 0, "None False\n", "")
    assert [finding.found for finding in doctor._gpu()][-1] == "not there"
    stub.library.stub_attribute(75, 7)
    assert "compute capability 8.0" in next(f.remedy for f in doctor._gpu() if f.subject == "GPU 0")
    stub.library.stub_devices(0)
    assert [finding.found for finding in doctor._gpu()] == ["CUDA 13.0", "none"]
