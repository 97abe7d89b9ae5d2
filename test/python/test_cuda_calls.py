"""Modules and MLIR text compiled for GPUs and called: on the emulator, and on a GPU where there is one."""

import threading

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, DeviceError, InputError
from mlopt.frontends.program import Input
from mlopt.options import Options
from mlopt.runtime import opening, torch_inputs
from mlopt.runtime.cuda import driver
from mlopt.runtime.torch_place import cuda_place
from mlopt.test.python import gpu_devices
from mlopt.test.python.gpu_devices import DEVICES, jit, there
from mlopt.test.python.threads import at_once

pytestmark = pytest.mark.usefixtures("inference")

ADD = """
func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


class Net(torch.nn.Module):
    """Kernels of each kind, a buffer between them, and weights that are prepared."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(24, 40)
        self.norm = torch.nn.LayerNorm(40)
        self.second = torch.nn.Linear(40, 7)

    def forward(self, x):
        return self.second(self.norm(torch.nn.functional.gelu(self.first(x))))


@pytest.fixture(scope="module", params=DEVICES)
def compiled(request):
    """A module, what it was compiled to, and the device."""
    torch.manual_seed(1)
    module = there(request.param, Net().eval())
    sizes = {"x": {0: torch.export.Dim("batch", min=1, max=1000)}}
    example = there(request.param, torch.randn(5, 24))
    with torch.no_grad():
        return module, jit(request.param, module, example, dynamic_shapes=sizes), request.param


def test_module(compiled):
    module, call, device = compiled
    for batch in (5, 1, 33):
        x = there(device, torch.randn(batch, 24))
        torch.testing.assert_close(call(x), module(x), rtol=1e-5, atol=1e-5)


def test_weights_that_change_are_prepared_again(compiled):
    module, call, device = compiled
    x = there(device, torch.randn(3, 24))
    before = call(x)
    module.first.weight.mul_(1.5)
    torch.testing.assert_close(call(x), module(x), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(before, call(x))


def test_inputs_of_other_forms(compiled):
    module, call, device = compiled
    x = there(device, torch.randn(24, 6)).t()
    torch.testing.assert_close(call(x), module(x), rtol=1e-5, atol=1e-5)
    storage = there(device, torch.randn(24 * 3 + 1))
    x = storage[1:].view(3, 24)  # not aligned to 16 bytes
    torch.testing.assert_close(call(x), module(x), rtol=1e-5, atol=1e-5)
    with pytest.raises(InputError, match="is on meta"):
        call(torch.empty(3, 24, device="meta"))


def test_stages_and_report(compiled):
    _, call, device = compiled
    chip = gpu_devices.target(device).removeprefix("cuda:")
    assert f".target {chip}" in call.asm["ptx"]
    assert "nvvm.kernel" in call.asm["nvvm"]
    assert "EXIT" in call.asm["cubin"]
    assert call.asm.cubin[:4] == b"\x7fELF"
    gpu = call.report.gpu
    assert gpu.chip == chip
    assert gpu.spills == 0
    assert gpu.warnings == ()
    assert {kernel.threads for kernel in gpu.kernels} == {32, 128}  # a warp for a row, four for a product
    assert all(kernel.registers > 0 and kernel.occupancy.blocks >= 1 for kernel in gpu.kernels)
    assert "occupancy" in str(call.report)


def test_profilers_see_each_kernel(compiled):
    _, call, device = compiled
    x = there(device, torch.randn(3, 24))
    call(x)
    with torch.profiler.profile() as profile:
        call(x)
    names = [event.key for event in profile.key_averages() if event.key.startswith("mlopt::")]
    kernels = [kernel.name for kernel in call.kernels if kernel.function == "main"]
    assert "mlopt::Net" in names
    # A kernel is launched by its own name, or as the one for unaligned memory.
    assert all(any(name.startswith(f"mlopt::{kernel}") for name in names) for kernel in kernels)


@pytest.mark.parametrize("device", DEVICES)
def test_an_index_out_of_range_is_an_error_as_in_eager(device):
    module = there(device, torch.nn.Embedding(10, 4))
    good, bad = (there(device, torch.tensor(rows)) for rows in ([9, 0, 3], [9, 10, 3]))
    call = jit(device, module, good)
    for _ in range(2):
        assert torch.equal(call(good), module(good))
        with pytest.raises(IndexError, match="index out of range"):
            call(bad)
            if device != "emulator":  # there at once; a GPU's next call raises what this one's kernels find
                torch.cuda.synchronize()
                call(good)


def test_mlir_text_on_numpy_arrays():
    call = mlopt.compile_mlir(ADD, "add", target="cuda:sm_90a", device="emulator")
    for size in (0, 1, 1000):
        x, y = np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)
        assert np.array_equal(call(x, y), x + y)
    assert np.array_equal(call(x, x), x + x)  # one buffer passed twice


def test_an_assert_of_the_host_part_is_an_error():
    call = mlopt.compile_mlir(ADD, "add", target="cuda:sm_80", device="emulator")
    x = np.ones(5, np.float32)
    assert np.array_equal(call(x, x), x + x)
    for other in (x[:4], np.ones(6, np.float32)):
        with pytest.raises(RuntimeError, match="dim 0 of operand 0 and dim 0 of operand 1 differ in size"):
            call(x, other)


@pytest.mark.parametrize("device", DEVICES)
def test_mlir_text_on_tensors(device):
    call = mlopt.compile_mlir(ADD, "add", target=gpu_devices.target(device), device=device)
    x, y = there(device, torch.randn(2, 77))
    assert torch.equal(call(x, y), x + y)


@pytest.mark.parametrize("device", DEVICES)
def test_torch_compile(device):
    module = there(device, torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).eval())
    options = {"target": gpu_devices.target(device), "device": device}
    call = torch.compile(module, backend="mlopt", options=options)
    x = there(device, torch.randn(3, 8))
    torch.testing.assert_close(call(x), module(x), rtol=1e-5, atol=1e-5)


def test_a_program_is_opened_once_for_each_gpu_that_it_is_called_on(monkeypatch):
    """The first tensor on a GPU decides; calls whose first ones overlap go on with one program."""
    opened, entered = [], threading.Barrier(2)

    class OnGpu:
        is_cuda = True

        def __init__(self, gpu):
            self.get_device = lambda: gpu

    def open_executable(built, options, label, gpu):
        opened.append(gpu)
        if gpu == 1:
            entered.wait(10)
        return gpu

    monkeypatch.setattr(opening, "open_executable", open_executable)
    options = Options.resolve(target="cuda:sm_80")
    call = opening.open_call({}, options, "main", lambda gpu: lambda *values: (gpu, len(opened)))
    assert [call(3, OnGpu(gpu))[0] for gpu in (0, 2, 0, 2)] == [0, 2, 0, 2]
    assert opened == [0, 2]
    at_once(lambda: call(OnGpu(1)), (), ())
    assert call(OnGpu(1), OnGpu(0)) == (1, 4)
    assert opened == [0, 2, 1, 1]


def test_tensors_of_another_gpu_are_refused():
    place, other = cuda_place(1), torch.empty(3)
    spec = Input("x", 0, torch.float32, (3,), (3,), {})
    assert eval(place.condition.format(x="x"), {"x": other}) is False
    with pytest.raises(InputError, match="is on the CPU, the code runs on GPU 1"):
        torch_inputs.adapt(None, [spec], (), (), lambda *_: None, None, [other], place)


def test_without_a_driver_compiling_works_and_calling_says_what_to_do(monkeypatch):
    monkeypatch.setattr(driver, "LIBRARY", "libcuda-that-is-not-there.so.1")
    driver.driver.cache_clear()
    call = mlopt.jit(torch.nn.Linear(3, 4), torch.randn(2, 3), target="cuda:sm_90a")
    assert ".target sm_90a" in call.asm["ptx"]
    with pytest.raises(DeviceError, match=r"(?s)no NVIDIA driver.*remedy: install.*emulator"):
        call(torch.randn(2, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "cuda:sm_81"}, "'cuda:sm_81' is not known; did you mean 'cuda:sm_8"),
        ({"target": "cuda"}, "remedy: use one of: cpu, cuda:sm_80"),
        ({"target": "cuda:sm_80", "device": "tpu"}, "remedy: use one of: gpu, emulator"),
        ({"device": "emulator"}, 'remedy: pass target="cuda:sm_80" too'),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(CompileError, match=message):
        mlopt.jit(torch.nn.Linear(3, 4), torch.randn(2, 3), **options)
