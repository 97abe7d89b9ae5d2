"""`mlopt explain`: every kernel has a line, every edge a reason, numbers add up."""

import json
from pathlib import Path

import pytest
from mlir import ir
from mlopt.compiler import compile_mlir
from mlopt.dialects.attributes import REFUSALS, Refusal
from mlopt.dialects.context import make_context
from mlopt.errors import CompileError, InputError
from mlopt.pipelines import explain_edges
from mlopt.tools import cli, explain
from typer.testing import CliRunner

FACTORIES = f"""
import sys
import torch
from torch import nn
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})

class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(24, 48), nn.Linear(48, 24)

    def forward(self, x):
        y = torch.relu(self.up(x))  # line 13
        return x + self.down(y)

def mlp():
    return Mlp(), torch.ones(5, 24)

def attention():
    from corpus.transformers import SelfAttention
    return SelfAttention(32, 4, causal=True).eval(), torch.ones(2, 6, 32)

def layers():
    return nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)]), torch.ones(3, 16)

def gather():
    return (lambda t, i: torch.nn.functional.embedding(i, t @ t)), torch.ones(8, 8), torch.tensor([1, 2])

def numbers():
    return 3
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, ["explain", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("name", ["mlp", "attention", "layers", "gather"])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_every_kernel_has_a_line_and_every_edge_a_reason(file: Path, name: str, target: str) -> None:
    found = explain.explain(f"{file}:{name}", "main", target, "cpu" if target == "cpu" else "")
    data = json.loads(json.dumps(found.as_dict()))
    text = explain.text(found)
    assert data["kernels"]
    for kernel in data["kernels"]:
        row = next(line for line in text.splitlines() if line.startswith(f"{kernel['name']} "))
        assert kernel["bound_by"] in row
        assert 0 < kernel["bytes"] <= kernel["bytes_unfused"]
        assert kernel["seconds"] > 0
        assert all(op["where"] for call in kernel["calls"] for op in call["ops"])
    for edge in data["edges"]:
        assert f"{edge['from_kernel']} -> {edge['to_kernel']} (" in text
        assert edge["bytes"] > 0
        assert edge["reasons"]
        assert explain_edges.NOT_TRIED not in [each["reason"] for each in edge["reasons"]]
    ids = [call["id"] for kernel in data["kernels"] for call in kernel["calls"]]
    assert sorted(ids) == list(range(len(ids)))
    main = [kernel for kernel in data["kernels"] if kernel["function"] == "main"]
    read = {edge["to"] for edge in data["edges"]} | {edge["from"] for edge in data["edges"]}
    assert len(main) == 1 or {call["id"] for kernel in main for call in kernel["calls"]} <= read


def test_the_users_lines_and_the_kernels_of_prepare(file: Path) -> None:
    text = run(f"{file}:mlp", "--machine", "cpu")
    main, prepare = text.split("@prepare")
    (relu,) = [line for line in main.splitlines() if f"{file}:13" in line]
    assert "relu" in relu
    assert "transpose" in prepare
    assert "whenever weights change" in prepare
    assert "not fused:" in main


def test_equal_kernels_are_one_line(file: Path) -> None:
    data = json.loads(run(f"{file}:layers", "--machine", "cpu", "--json"))
    (main,) = [kernel for kernel in data["kernels"] if kernel["function"] == "main"]
    assert len(main["calls"]) == 4
    assert data["total"]["calls"] == 4
    assert data["total"]["bytes"] == 4 * main["bytes"]
    chain = [(edge["from"], edge["to"]) for edge in data["edges"] if edge["function"] == "main"]
    assert chain == [(0, 1), (1, 2), (2, 3)]


def test_what_a_gather_reads_is_named(file: Path) -> None:
    found = explain.explain(f"{file}:gather", "main", "cpu", "cpu")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert reasons == [explain_edges.GATHER]


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


def test_dynamic_sizes_and_copies_are_said(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC)
    text = run(str(path), "--func", "f", "--machine", "cpu")
    assert "dynamic sizes count as 1" in text
    assert explain_edges.COPY in text
    assert f"{path}:7" in text


def test_kernels_are_those_that_are_compiled(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC)
    found = explain.explain(str(path), "f", "cpu", "cpu")
    compiled = compile_mlir(DYNAMIC, "f")
    assert [(kernel.name, kernel.cost.bytes, kernel.cost.flops) for kernel in found.kernels] == [
        (kernel.name, kernel.bytes, kernel.flops) for kernel in compiled.kernels
    ]


@pytest.mark.parametrize(
    ("source", "target", "machine", "error", "message"),
    [
        (":nothing", "cpu", "cpu", InputError, "has no function 'nothing'"),
        (":numbers", "cpu", "cpu", InputError, "returned a int"),
        ("", "cpu", "cpu", InputError, "is Python"),
        (":mlp", "tpu", "", CompileError, "target='tpu' is not known"),
        (":mlp", "cuda:sm_80", "cpu", InputError, "is a CPU"),
        (":mlp", "cpu", "h100", InputError, "is a GPU"),
        (":mlp", "cpu", "h10", InputError, "no description of a machine 'h10'"),
        (":mlp", "cuda:sm_120", "", InputError, "no description of a GPU with cuda:sm_120"),
    ],
)
def test_what_is_wrong_is_named(
    file: Path, source: str, target: str, machine: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        explain.explain(f"{file}{source}", "main", target, machine)


def test_text_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @main(")
    with pytest.raises(CompileError, match="cannot be parsed"):
        explain.explain(str(path), "main", "cpu", "cpu")


def test_refusals_are_read_as_they_were_written() -> None:
    refused = (Refusal(0, 3, "exp -> add", "because"),)
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        REFUSALS.set(module.operation, refused)
        assert REFUSALS.get(module.operation) == refused
        for wrong in ('"text"', "[1]", "[{from = 0}]", '[{from = 0, to = "a", ops = "", reason = ""}]'):
            module.operation.attributes["mlopt.refusals"] = ir.Attribute.parse(wrong)
            assert REFUSALS.get(module.operation) is None
