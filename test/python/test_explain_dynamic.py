"""`mlopt explain` of .mlir files: dynamic sizes, functions of any name, kernels as they are compiled."""

import json
from pathlib import Path

from mlopt.compiler import compile_mlir
from mlopt.pipelines import explain_edges
from mlopt.tools import explain, explain_svg, explain_text

from .explained import printed

DYNAMIC = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = math.exp %a : f32
    linalg.yield %y : f32
  } -> tensor<?x8xf32>
  return %r, %r : tensor<?x8xf32>, tensor<?x8xf32>
}
"""


def test_dynamic_sizes_are_said(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC)
    text = printed(str(path), "--func", "f", "--machine", "cpu")
    assert "dynamic sizes count as 64" in text
    assert f"{path}:7" in text
    explained = json.loads(printed(str(path), "--func", "f", "--machine", "cpu", "--json"))
    assert not explained["edges"]
    (kernel,) = explained["kernels"]
    assert kernel["bytes"] == 3 * 64 * 8 * 4  # it reads a tensor, and writes two
    assert {each["dynamic_sizes_count_as"] for each in explained["kernels"]} == {64}


COPIED = """
func.func @copied(%x: tensor<?x8xf32>, %y: tensor<2x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = tensor.insert_slice %y into %r[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<?x8xf32>
  return %c, %r : tensor<?x8xf32>, tensor<?x8xf32>
}
"""


def test_copies_of_what_is_written_into_are_said(tmp_path: Path) -> None:
    path = tmp_path / "copied.mlir"
    path.write_text(COPIED)
    text = printed(str(path), "--func", "copied", "--machine", "cpu")
    assert f"{explain_edges.COPY}; would save 0.002 MB, 0.11 µs" in text
    explained = json.loads(printed(str(path), "--func", "copied", "--machine", "cpu", "--json"))
    assert 64 * 8 * 4 in {each["bytes"] for each in explained["edges"]}


ROLL = """func.func @roll(%x: tensor<?x12x17xf32>) -> tensor<?x12x17xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x12x17xf32>
  %a = tensor.extract_slice %x[0, 11, 0] [%n, 1, 17] [1, 1, 1] : tensor<?x12x17xf32> to tensor<?x1x17xf32>
  %b = tensor.extract_slice %x[0, 0, 0] [%n, 11, 17] [1, 1, 1] : tensor<?x12x17xf32> to tensor<?x11x17xf32>
  %y = tensor.concat dim(1) %a, %b : (tensor<?x1x17xf32>, tensor<?x11x17xf32>) -> tensor<?x12x17xf32>
  return %y : tensor<?x12x17xf32>
}
"""


def test_asking_for_a_size_reads_nothing(tmp_path: Path) -> None:
    """Parts that are written into a buffer of a dynamic size: each element is read and written once."""
    path = tmp_path / "roll.mlir"
    path.write_text(ROLL)
    explained = json.loads(printed(str(path), "--func", "roll", "--machine", "cpu", "--json"))
    written = explained["kernels"][-1]
    assert (written["bytes"], written["bytes_unfused"]) == (2 * 64 * 12 * 17 * 4, 2 * 64 * 12 * 17 * 4)
    assert not [each for each in explained["rewrites"] if "dim reads" in each["reason"]]


def test_kernels_are_those_that_are_compiled(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC)
    found = explain.explain(str(path), "f", "cpu", "cpu")
    compiled = compile_mlir(DYNAMIC, "f")
    # The report of what was compiled has the static part: of one row, where explain takes 64.
    assert [(kernel.name, kernel.cost.bytes, kernel.cost.flops) for kernel in found.kernels] == [
        (kernel.name, 64 * (kernel.bytes or 0), 64 * (kernel.flops or 0)) for kernel in compiled.kernels
    ]


def test_the_function_has_its_own_name(tmp_path: Path) -> None:
    path, drawing = tmp_path / "dynamic.mlir", tmp_path / "kernels.svg"
    path.write_text(DYNAMIC)
    found = explain.explain(str(path), "f", "cpu", "cpu")
    text = explain_text.text(found)
    assert "\n@f: 1 call of 1 kernel" in text
    assert "@main" not in text
    explain_svg.write(found, drawing)
    assert "@f: " in drawing.read_text()
    assert found.as_dict()["entry"] == "f"
