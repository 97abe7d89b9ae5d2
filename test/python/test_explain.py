"""`mlopt explain`: every kernel has a line, every edge a reason, numbers add up."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from mlopt.errors import InputError
from mlopt.passes.fusion.edges import GATHER
from mlopt.passes.fusion.legal import RESHAPE
from mlopt.pipelines import explain_edges
from mlopt.pipelines.explain import explain_text as explain_text_of
from mlopt.tools import explain, explain_svg, explain_text, programs

from .explained import printed
from .fuzz.graphs import batch
from .fuzz.ops import make_graph

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

def convolutions():
    return nn.Sequential(nn.Conv1d(4, 8, 3), nn.Sequential(nn.Conv1d(8, 8, 3))), torch.ones(2, 4, 18)

def sums():
    return (lambda x: (x.sum(0), x.sum(1), (x @ x).relu())), torch.ones(512, 512)

class Softmax(nn.Module):
    def forward(self, x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

def softmax():
    return Softmax(), torch.ones(3, 16)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


@pytest.mark.parametrize("name", ["mlp", "attention", "layers", "gather", "sums"])
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_every_kernel_has_a_line_and_every_edge_a_reason(file: Path, name: str, target: str) -> None:
    found = explain.explain(f"{file}:{name}", "main", target, "cpu" if target == "cpu" else "")
    data = json.loads(json.dumps(found.as_dict()))
    text = explain_text.text(found)
    assert data["kernels"]
    for kernel in data["kernels"]:
        row = next(line for line in text.splitlines() if line.startswith(f"{kernel['name']} "))
        assert kernel["bound_by"] in row
        assert 0 < kernel["bytes"] <= kernel["bytes_unfused"]
        assert kernel["seconds"] > 0
        assert all(op["where"] for call in kernel["calls"] for op in call["ops"])
    for edge in data["edges"]:
        between = "|" if edge["beside"] else "->"
        assert f"{edge['from_kernel']} {between} {edge['to_kernel']} (" in text
        assert edge["bytes"] > 0
        assert edge["reasons"]
        assert explain_edges.NOT_TRIED not in [each["reason"] for each in edge["reasons"]]
    ids = [call["id"] for kernel in data["kernels"] for call in kernel["calls"]]
    assert sorted(ids) == list(range(len(ids)))
    main = [kernel for kernel in data["kernels"] if kernel["function"] == "main"]
    read = {edge["to"] for edge in data["edges"]} | {edge["from"] for edge in data["edges"]}
    assert (
        len(main) == 1
        or name == "sums"
        or {call["id"] for kernel in main for call in kernel["calls"]} <= read
    )


@pytest.mark.parametrize("chip", ["", "sm_80"])
def test_every_edge_of_random_graphs_has_a_decision_with_numbers(chip: str) -> None:
    """Copies of results too, and buffers that come filled: they are made after mlopt-fuse has decided."""
    reasons: set[str] = set()
    for first in range(2):
        found = explain_text_of(batch([make_graph(seed) for seed in range(first, 60, 2)]), chip=chip)
        for edge in found["edges"]:
            assert edge["reasons"]
            for each in edge["reasons"]:
                assert "bytes_saved" in each and "seconds_saved" in each, each
                reasons.add(each["reason"])
    assert any(each.startswith(f"{RESHAPE}: ") for each in reasons)


def test_the_users_lines_and_the_kernels_of_prepare(file: Path) -> None:
    text = printed(f"{file}:mlp", "--machine", "cpu")
    main, prepare = text.split("@prepare")
    (relu,) = [line for line in main.splitlines() if line.endswith(f"{file}:13")]
    assert "relu" in relu
    assert "transpose" in prepare
    assert "whenever weights change" in prepare
    assert "not fused:" in main


def test_equal_kernels_are_one_line(file: Path) -> None:
    data = json.loads(printed(f"{file}:layers", "--machine", "cpu", "--json"))
    (main,) = [kernel for kernel in data["kernels"] if kernel["function"] == "main"]
    assert len(main["calls"]) == 4
    assert data["total"]["calls"] == 4
    assert data["total"]["bytes"] == 4 * main["bytes"]
    chain = [(edge["from"], edge["to"]) for edge in data["edges"] if edge["function"] == "main"]
    assert chain == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("name", ["mlp", "attention", "layers", "sums"])
def test_the_drawing_has_each_call_and_each_edge(file: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "kernels.svg"
    data = json.loads(printed(f"{file}:{name}", "--machine", "cpu", "--json", "--svg", str(path)))
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    for kernel in data["kernels"]:
        calls = [k["calls"] for k in data["kernels"] if k["name"] == kernel["name"]]
        assert texts.count(kernel["name"]) == sum(map(len, calls))
    tips = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    for edge in data["edges"]:
        assert f"{edge['bytes'] / 1e6:.3f} MB{', read by both' if edge['beside'] else ''}" in texts
        assert any(edge["reasons"][0]["reason"] in tip for tip in tips)
    assert len([e for e in root.iter() if e.tag.endswith("path")]) == 2 * len(data["edges"])


def test_a_drawing_that_cannot_be_written_is_an_error(file: Path, tmp_path: Path) -> None:
    found = explain.explain(f"{file}:gather", "main", "cpu", "cpu")
    with pytest.raises(InputError, match="cannot be written"):
        explain_svg.write(found, tmp_path / "no" / "folder.svg")


def test_an_exported_program(file: Path, tmp_path: Path) -> None:
    module, example = programs.call_factory(file, "mlp")
    path = tmp_path / "mlp.pt2"
    torch.export.save(torch.export.export(module, example), path)
    given, exported = (
        json.loads(printed(source, "--machine", "cpu", "--json")) for source in (f"{file}:mlp", str(path))
    )
    assert exported["kernels"] == given["kernels"]  # with the lines of the module's own file
    assert exported["edges"] == given["edges"]


def test_what_a_gather_reads_is_named(file: Path) -> None:
    found = explain.explain(f"{file}:gather", "main", "cpu", "cpu")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert reasons == [GATHER]


def test_kernels_that_were_tried_side_by_side(file: Path) -> None:
    """A sum of columns and one of rows read one matrix; nothing goes from one to the other."""
    text = printed(f"{file}:sums", "--machine", "cpu")
    assert f"not fused:\nkernel_0_sum | kernel_1_sum (1.049 MB, read by both)\n    sum | sum ({file}:" in text
    found = explain.explain(f"{file}:sums", "main", "cpu", "cpu")
    (edge,) = found.edges
    assert (edge["from"], edge["to"], edge["beside"], edge["bytes"]) == (0, 1, True, 4 * 512 * 512)
    (reason,) = edge["reasons"]
    assert reason["ops"] == "sum | sum"
    assert reason["bytes_saved"] == 4 * 512 * 512
    assert reason["seconds_saved"] > 0


def test_a_named_op_says_what_it_consists_of(file: Path) -> None:
    line = FACTORIES[: FACTORIES.index("x.amax")].count("\n") + 1
    found = explain.explain(f"{file}:softmax", "main", "cpu", "cpu")
    (kernel,) = found.as_dict()["kernels"]
    assert kernel["name"] == "kernel_0_softmax"
    (op,) = kernel["calls"][0]["ops"]
    assert (op["op"], op["where"]) == ("softmax", f"{file}:{line}, {line + 1}")
    lines = {"amax": line, "sub": line, "exp": line, "sum": line + 1, "div": line + 1}
    assert op["members"] == [{"op": name, "where": f"{file}:{at}"} for name, at in lines.items()]
    told = f"softmax (amax, sub, exp, sum, div)  {op['where']}"
    assert f"kernel_0_softmax\n     {told}\n" in explain_text.text(found)
    assert f"tile\n{told}</title>" in explain_svg.svg(found)


def test_modules_of_torch_are_named_by_their_paths(file: Path) -> None:
    """No line of the user's calls them: an nn.Sequential does."""
    found = explain.explain(f"{file}:convolutions", "main", "cpu", "cpu")
    places = {op["where"] for kernel in found.kernels for call in kernel.calls for op in call["ops"]}
    assert places == {"Sequential.0: Conv1d", "Sequential.1.0: Conv1d"}
