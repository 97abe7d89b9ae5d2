"""`mlopt emulate`, `mlopt.emulator`, and the tables of docs/emulator.md."""

from __future__ import annotations

import json
from pathlib import Path

import mlopt.emulator
import numpy as np
import pytest
import torch
from mlopt.runtime.emulator import coverage
from mlopt.tools.cli import app
from typer.testing import CliRunner

HERE = Path(__file__).parent
SOFTMAX = str(HERE / "triton" / "softmax.ptx")
ROWS = ["-a", "f32[4,100]", "-a", "zeros:f32[4,100]", "-a", "100", "-a", "0", "-a", "0"]


def emulate(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["emulate", *arguments])
    return done.exit_code, done.output


def test_counters_and_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 100), np.float32))
    arguments = ["-a", str(tmp_path / "x.npy"), *ROWS[2:]]
    status, text = emulate(SOFTMAX, *arguments, "--grid", "4", "--smem", "16", "-o", str(tmp_path))
    assert status == 0
    for label in ("warp instructions", "sectors each", "occupancy", "roofline", "kernels.py:"):
        assert label in text
    np.testing.assert_allclose(np.load(tmp_path / "argument_1.npy"), 0.01, rtol=1e-6)


def test_findings_are_printed_and_fail() -> None:
    status, text = emulate(SOFTMAX, *ROWS, "--grid", "5", "--smem", "16")
    assert status == 1
    assert "out-of-bounds" in text


def test_json() -> None:
    status, text = emulate(SOFTMAX, *ROWS, "--grid", "5", "--smem", "16", "--json")
    found = json.loads(text)
    assert status == 1
    assert found["kernel"] == "softmax" and found["grid"] == [5, 1, 1]
    assert {finding["kind"] for finding in found["findings"]} == {"out-of-bounds"}
    assert found["lines"] and found["time"] > 0 and found["sectors_per_request"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.ptx"], "cannot be read"),
        ([SOFTMAX, "-a", "f99[3]"], "is not an argument"),
        ([SOFTMAX, "--grid", "a"], "is not a size"),
        ([SOFTMAX, "-a", "missing.npy"], "cannot be read"),
        ([SOFTMAX], "takes 5 arguments, 0 given"),
        ([str(HERE / "cuda" / "memory.ptx")], "pass --kernel, one of transpose_conflicts"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["emulate", *arguments])
    assert done.exit_code == 1
    assert message in str(done.exception)


MODULE = """
func.func @main(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x33xf32>
  %e = tensor.empty(%d) : tensor<?x33xf32>
  %y = linalg.exp ins(%x : tensor<?x33xf32>) outs(%e : tensor<?x33xf32>) -> tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}
"""


def test_profile(tmp_path: Path) -> None:
    source = tmp_path / "module.mlir"
    source.write_text(MODULE)
    done = CliRunner().invoke(app, ["profile", "--emulate", str(source), "--size", "20", "--json"])
    (kernel,) = json.loads(done.output)
    assert "exp" in kernel["kernel"]
    assert kernel["bytes"] == {"global": 2 * 20 * 33 * 4}
    done = CliRunner().invoke(app, ["profile", "--emulate", str(source)])
    assert done.exit_code == 0 and "roofline" in done.output
    assert "--emulate" in str(CliRunner().invoke(app, ["profile", str(source)]).exception)


def test_occupancy_is_that_of_the_report() -> None:
    """Both go by ptxas's registers, which alone limit the product."""
    module, x = torch.nn.Linear(256, 256), torch.randn(256, 256)
    compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
    known = {kernel.name: kernel for kernel in compiled.report.gpu.kernels}
    with mlopt.emulator.record() as reports, torch.no_grad():
        compiled(x)
    assert reports
    for report in reports:
        told = known[report.kernel].occupancy
        counters = report.counters
        assert counters is not None
        found = counters.blocks_per_processor, counters.occupancy, counters.limited_by
        assert found == (told.blocks, told.share, told.limit)
    assert "registers" in [report.counters.limited_by for report in reports if report.counters]


def test_record() -> None:
    x, y = np.ones((2, 100), np.float32), np.zeros((2, 100), np.float32)
    kernels = mlopt.emulator.load(Path(SOFTMAX).read_text())
    with mlopt.emulator.record() as reports:
        kernels.launch("softmax", 2, 128, [x, y, 100, 0, 0], dynamic_smem=16)
    kernels.launch("softmax", 2, 128, [x, y, 100, 0, 0], dynamic_smem=16)
    assert [report.kernel for report in reports] == ["softmax"]


def test_tensors_are_written_in_place() -> None:
    x, y = torch.ones(2, 100), torch.zeros(2, 100)
    kernels = mlopt.emulator.load(Path(SOFTMAX).read_text())
    kernels.launch("softmax", 2, 128, [x, y, 100, 0, 0], dynamic_smem=16)
    torch.testing.assert_close(y, torch.full((2, 100), 0.01))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([np.ones((4, 4), np.float32).T, np.zeros(4), 4, 0, 0], "not contiguous"),
        ([torch.ones(4, 4).t(), np.zeros(4), 4, 0, 0], "not contiguous"),
        ([np.ones(4), np.ones(4), np.ones(4), 0, 0], "an array is an address of 8"),
        ([np.ones(4), np.ones(4), "four", 0, 0], "cannot be the argument"),
        ([np.ones(4)], "takes 5 arguments, 1 given"),
    ],
)
def test_arguments_that_a_kernel_cannot_take(arguments: list, message: str) -> None:
    kernels = mlopt.emulator.load(Path(SOFTMAX).read_text())
    with pytest.raises(mlopt.emulator.EmulatorError, match=message):
        kernels.launch("softmax", 1, 128, arguments, dynamic_smem=16)
    with pytest.raises(mlopt.emulator.EmulatorError, match="no kernel 'other'"):
        kernels.launch("other", 1, 128, arguments)


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    path = HERE.parent.parent.parent / "docs" / "emulator.md"
    text = path.read_text()
    assert coverage.filled(text) == text, f"run python -m mlopt.runtime.emulator.coverage {path}"
