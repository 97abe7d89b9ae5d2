"""`mlopt explain`: reductions to few results, in parts, and why what reads them waits."""

from pathlib import Path

import pytest
from mlopt.passes.costs.machine import find_machine
from mlopt.test.python.explained import reasons_in
from mlopt.tools import explain, explain_text

FACTORIES = """
import torch

ones = torch.ones

def all_of_it():
    return (lambda x: x / x.sum()), ones(512, 517)

def large_total():
    return (lambda x: x / x.var()), ones(4096, 4096)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


def test_a_total_is_the_parts_that_other_tasks_reduce(file: Path) -> None:
    assert reasons_in(f"{file}:all_of_it") == ["a reduction reads what tasks of other rows reduce"]


def test_a_total_in_parts_says_what_they_save(file: Path) -> None:
    """Of one task the bytes at one processor's share of the bandwidth, of 64 at all of it."""
    found = explain.explain(f"{file}:all_of_it", "main", "cpu", "cpu")
    (each,) = found.as_dict()["totals"]
    assert each["ops"] == f"{each['where'][0]}: sum in 64 parts"
    assert (each["reason"], each["bytes_saved"]) == ("", -2 * 64 * 4)  # they are written and read
    machine = find_machine("cpu")
    memory = 4 * 512 * 517 / machine.bandwidth
    shares = machine.processors - machine.processors / machine.tasks
    assert each["seconds_saved"] == pytest.approx(memory * shares - machine.launch, rel=0.01)
    line = f"    {each['ops']}: saves -0.001 MB, {each['seconds_saved'] * 1e6:.2f} µs"
    assert f"reductions of few results:\n{line}" in explain_text.text(found)


def test_how_often_work_is_done_again_has_all_of_its_digits(file: Path) -> None:
    """Not 8.19e+03: once for each task that divides by the variance, of one part a row."""
    found = explain.explain(f"{file}:large_total", "main", "cuda:sm_80")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert "what would be computed again costs more than is saved: sum, 8192 times" in reasons


UNKNOWN = """
func.func @main(%x: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x33xf32>
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.reduce {arith.addf} ins(%x : tensor<?x33xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
  %3 = tensor.empty(%n) : tensor<?x33xf32>
  %4 = linalg.broadcast ins(%2 : tensor<f32>) outs(%3 : tensor<?x33xf32>) dimensions = [0, 1]
  %5 = arith.divf %x, %4 : tensor<?x33xf32>
  return %5 : tensor<?x33xf32>
}
"""


def test_a_total_of_unknown_length_leaves_what_reads_it_to_more_tasks(tmp_path: Path) -> None:
    path = tmp_path / "total.mlir"
    path.write_text(UNKNOWN)
    assert reasons_in(path) == ["one task would make all of div, and nobody knows how much that is"]
