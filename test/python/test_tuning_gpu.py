"""tune=True on GPUs: blocks of products are measured, what won is remembered by kernel and chip."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlopt
import pytest
import torch
from mlopt.errors import CompileError
from mlopt.pipelines.candidates import candidate_schedules
from mlopt.runtime import cache, cache_key, tuning, tuning_device
from mlopt.runtime.cuda import driver
from mlopt.test.python.gpu_devices import DEVICES, jit, target, there

RELU = """
func.func @main(%a: tensor<{rows}x64xf16>{more}, %b: tensor<64x128xf16>) -> tensor<{rows}x128xf16> {{
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<{rows}x128xf16>
  %start = linalg.fill ins(%zero : f16) outs(%empty : tensor<{rows}x128xf16>) -> tensor<{rows}x128xf16>
  %product = linalg.matmul ins(%a, %b : tensor<{rows}x64xf16>, tensor<64x128xf16>)
      outs(%start : tensor<{rows}x128xf16>) -> tensor<{rows}x128xf16>
  %result = arith.maximumf %product, %start : tensor<{rows}x128xf16>
  return %result : tensor<{rows}x128xf16>
}}
"""


def relu_of_product(rows: int = 128, more: str = "") -> str:
    return RELU.format(rows=rows, more=more)


class Planted:
    """Times as they are measured, and then others: one candidate is the fastest by far."""

    def __init__(self) -> None:
        self.fastest = 2
        self.programs: list[int] = []  # of each measurement
        self._measure = tuning._times

    def __call__(self, *args: Any) -> list[dict[str, float]]:
        found = self._measure(*args)
        assert all(seconds > 0 for each in found for seconds in each.values())
        self.programs.append(len(found))
        return [
            dict.fromkeys(each, 1.0 if number == self.fastest else 9.0) for number, each in enumerate(found)
        ]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    monkeypatch.setenv("MLOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "code_version_now", cache_key.code_version)
    monkeypatch.setattr(tuning, "_SECONDS", 0.0)
    monkeypatch.setattr(tuning, "_FEWEST_ROUNDS", 1)
    times = Planted()
    monkeypatch.setattr(tuning, "_times", times)
    return times


def tuned(text: str, device: str = "emulator", target: str = "cuda:sm_80", **options: Any) -> mlopt.Compiled:
    return mlopt.compile_mlir(text, target=target, device=device, **{"tune": True, **options})


def schedule(compiled: mlopt.Compiled) -> str:
    (kernel,) = compiled.kernels
    return kernel.schedule


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("error")  # such as that it was not measured
def test_the_fastest_block_is_taken_and_used_again(device: str, planted: Planted) -> None:
    text, chip = relu_of_product(), target(device)
    found = candidate_schedules(text, chip=chip.removeprefix("cuda:"))["schedules"]
    candidates = [one for each in found for one in each.values()]
    assert len(set(candidates)) == len(candidates) == 4
    programs = [tuned(text, device, chip, tune=False), tuned(text, device, chip)]
    assert planted.programs == [4]
    programs.append(tuned(text, device, chip))
    assert planted.programs == [4]
    assert list(map(schedule, programs)) == [candidates[0], candidates[2], candidates[2]]
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator).half() for shape in ((128, 64), (64, 128)))
    made = [compiled(there(device, a), there(device, b)).cpu() for compiled in programs]
    torch.testing.assert_close(made[1], torch.relu(a.float() @ b.float()).half())
    torch.testing.assert_close(made[1], made[0], rtol=0, atol=0)  # each element's sum is as long
    torch.testing.assert_close(made[2], made[1], rtol=0, atol=0)


@pytest.mark.filterwarnings("error")
def test_what_won_is_remembered_by_kernel_and_chip(planted: Planted) -> None:
    first = tuned(relu_of_product())
    planted.fastest = 1
    # Another program, of the same kernel: nothing is measured.
    assert schedule(tuned(relu_of_product(more=", %more: tensor<3xf32>"))) == schedule(first)
    assert len(planted.programs) == 1
    plain = relu_of_product().replace("%result = arith.maximumf", "%result = arith.addf")
    for number, (text, options) in enumerate(
        [(plain, {}), (relu_of_product(rows=192), {}), (relu_of_product(), {"target": "cuda:sm_86"})], 2
    ):
        assert schedule(tuned(text, **options)) != schedule(first)
        assert len(planted.programs) == number


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("error")
def test_a_module_with_prepared_weights_and_a_number(device: str, planted: Planted) -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.linear = torch.nn.Linear(64, 96).half()

        def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
            return (self.linear(x) * factor).softmax(-1)

    module, x = Scaled(), torch.randn(64, 64).half()
    with torch.no_grad():
        compiled = jit(device, there(device, module), there(device, x), 2.0, tune=True)
        assert planted.programs
        made = compiled(there(device, x), 2.0).cpu()
        wanted = module.cpu().float()(x.float(), 2.0).half()
    torch.testing.assert_close(made, wanted, rtol=4e-3, atol=4e-3)


def test_kernels_without_other_blocks_are_not_measured(planted: Planted) -> None:
    text = "func.func @main(%x: tensor<999xf32>) -> tensor<999xf32> {\n"
    text += "  %y = math.exp %x : tensor<999xf32>\n  return %y : tensor<999xf32>\n}"
    tuned(text)
    assert planted.programs == []


def test_times_of_twins_and_of_sums_count_for_their_product() -> None:
    joined = {"kernel_0_exp": 1.0, "kernel_1_matmul_sum_add": 5.0, "kernel_3_mul": 2.0}
    apart = {
        "kernel_0_exp": 1.0,
        "kernel_1_matmul_unaligned": 4.0,
        "kernel_2_sum_add": 3.0,
        "kernel_3_mul": 2.0,
    }
    found = [tuning._by_scheduled(each, ["kernel_1_matmul"], [joined, apart]) for each in (joined, apart)]
    assert found == [{"kernel_1_matmul": 5.0}, {"kernel_1_matmul": 7.0}]


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(driver, "LIBRARY", "libcuda-that-is-not-there.so.1")
    driver.driver.cache_clear()
    yield
    driver.driver.cache_clear()


@pytest.mark.usefixtures("no_driver")
def test_without_a_gpu_there_is_nothing_to_measure_on() -> None:
    with pytest.raises(
        CompileError, match=r"(?s)a GPU, and for cuda:sm_80 .* no NVIDIA driver.*remedy: leave out"
    ):
        tuned(relu_of_product(), "gpu")


def test_a_gpu_that_does_not_run_the_code_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    old = types.SimpleNamespace(name=lambda _: "GPU of a test", capability=lambda _: (8, 0))
    monkeypatch.setattr(driver, "driver", lambda: old)
    monkeypatch.setattr(tuning_device, "default_gpu", lambda: 0)
    with pytest.raises(CompileError, match=r'GPU of a test, does not run cuda:sm_90a\n.*target="cuda:sm_80"'):
        tuned(relu_of_product(), "gpu", target="cuda:sm_90a")
