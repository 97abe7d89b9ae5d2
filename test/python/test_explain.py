"""`mlopt explain`: every kernel has a line, every edge a reason, numbers add up."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from mlopt.compiler import compile_mlir
from mlopt.errors import InputError
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.fusion.edges import GATHER, PARTS
from mlopt.passes.fusion.legal import RESHAPE
from mlopt.pipelines import explain_edges
from mlopt.pipelines.explain import explain_text as explain_text_of
from mlopt.tools import cli, explain, explain_svg, explain_text, programs
from typer.testing import CliRunner

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

def summed():
    rows = torch.tensor([5, 9000, 5])
    return (lambda i, s: torch.zeros(70000, 512).index_add(0, i, s)), rows, torch.ones(3, 512)

def added():
    rows = torch.tensor([5, 9000, 5])
    return (lambda x, i, s: x.index_add(0, i, s.relu()) * 2), torch.ones(70000, 512), rows, torch.ones(3, 512)

def scattered():
    return (lambda x, y: x.slice_scatter(y.exp(), 0, 2, 6)), torch.ones(300, 512), torch.ones(4, 512)

def sums():
    return (lambda x: (x.sum(0), x.sum(1), (x @ x).relu())), torch.ones(512, 512)

class Heads(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count, self.make = count, nn.Linear(256, 256)

    def forward(self, x):
        return self.make(x).view(*x.shape[:2], self.count, -1).transpose(1, 2) * 2

def heads():
    return Heads(16), torch.ones(2, 128, 256)

class Scores(nn.Module):
    def __init__(self, returned):
        super().__init__()
        # Two of one width that are returned are one kernel, each of them by itself.
        self.returned, self.one = returned, nn.Linear(16, 16)
        self.other = nn.Linear(16, 8 if returned else 16)

    def forward(self, x):
        one, other = self.one(x), self.other(x)
        return (one, other) if self.returned else one @ other.T

class Softmax(nn.Module):
    def forward(self, x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

def softmax():
    return Softmax(), torch.ones(3, 16)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 128, 3, padding=1), nn.BatchNorm2d(128)
        self.last = nn.Conv2d(128, 32, 1)

    def forward(self, x):
        y = self.last(self.norm(self.conv(x)))
        return y.transpose(2, 3) * 2, nn.functional.pad(x, (1, 1)) + 1, x[0, 0].T.contiguous()

def block():
    return Block().eval(), torch.ones(2, 4, 6, 6)

def joined():
    return Scores(False), torch.ones(3, 16)

def apart():
    return Scores(True), torch.ones(3, 16)

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
    text = run(f"{file}:mlp", "--machine", "cpu")
    main, prepare = text.split("@prepare")
    (relu,) = [line for line in main.splitlines() if line.endswith(f"{file}:13")]
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


@pytest.mark.parametrize("name", ["mlp", "attention", "layers", "sums"])
def test_the_drawing_has_each_call_and_each_edge(file: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "kernels.svg"
    data = json.loads(run(f"{file}:{name}", "--machine", "cpu", "--json", "--svg", str(path)))
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
        json.loads(run(source, "--machine", "cpu", "--json")) for source in (f"{file}:mlp", str(path))
    )
    assert exported["kernels"] == given["kernels"]  # with the lines of the module's own file
    assert exported["edges"] == given["edges"]


def test_what_a_gather_reads_is_named(file: Path) -> None:
    found = explain.explain(f"{file}:gather", "main", "cpu", "cpu")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert reasons == [GATHER]


def test_kernels_that_were_tried_side_by_side(file: Path) -> None:
    """A sum of columns and one of rows read one matrix; nothing goes from one to the other."""
    text = run(f"{file}:sums", "--machine", "cpu")
    assert f"not fused:\nkernel_0_sum | kernel_1_sum (1.049 MB, read by both)\n    sum | sum ({file}:" in text
    found = explain.explain(f"{file}:sums", "main", "cpu", "cpu")
    (edge,) = found.edges
    assert (edge["from"], edge["to"], edge["beside"], edge["bytes"]) == (0, 1, True, 4 * 512 * 512)
    (reason,) = edge["reasons"]
    assert reason["ops"] == "sum | sum"
    assert reason["bytes_saved"] == 4 * 512 * 512
    assert reason["seconds_saved"] > 0


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_products_that_read_one_tensor(file: Path, target: str) -> None:
    """Queries and keys are one product; what is returned is not a part of something."""
    lines = FACTORIES[: FACTORIES.index("self.one(x)")].count("\n") + 1
    taken, refused = (
        explain.explain(f"{file}:{name}", "main", target, "cpu" if target == "cpu" else "")
        for name in ("joined", "apart")
    )
    (one,) = taken.as_dict()["products"]
    (two,) = refused.as_dict()["products"]
    assert one["ops"] == two["ops"] == f"{file}:{lines}: matmul | matmul"
    assert one["reason"] == ""
    assert two["reason"].startswith("the caller reads one of them")
    assert one["bytes_saved"] == two["bytes_saved"] == 3 * 16 * 4
    assert one["seconds_saved"] == pytest.approx(two["seconds_saved"], rel=1e-9)
    assert two["seconds_saved"] > 0
    assert f"{one['ops']}: one product, saves 0.000 MB, " in explain_text.text(taken)
    assert f"{two['ops']}: {two['reason']}; would save 0.000 MB, " in explain_text.text(refused)


def test_why_a_product_does_not_make_heads(file: Path) -> None:
    found = explain.explain(f"{file}:heads", "main", "cpu", "cpu")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert reasons == ["in parts of 16 columns, no multiple of 32, a product leaves registers empty"]


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


def test_rewrites_before_kernels_are_decisions_with_numbers(file: Path) -> None:
    """Moves, folded scales, packed weights and pads, made or left; a line of text for all that are alike."""
    found = explain.explain(f"{file}:block", "main", "cpu", "cpu")
    rewrites = found.as_dict()["rewrites"]
    assert all(each["where"][0].startswith(f"{file}:") for each in rewrites)
    told = {(each["pass"], each["ops"], each["reason"]): each for each in rewrites}
    launch, bandwidth = (
        found.machine.launch,
        found.machine.bandwidth * 8,
    )  # of the 16 processors it stands for
    padded = 2 * 2 * 4 * 8 * 8 * 4
    told_apart = 3 / (found.machine.vector["f32"] / 2 * 8)  # seconds of each element's tests
    for key, size in {
        ("mlopt-fold-moves", "transpose", ""): 2 * 2 * 32 * 6 * 6 * 4,
        ("mlopt-fold-moves", "transpose", "the caller gets it"): 2 * 6 * 6 * 4,
        ("mlopt-fuse", "pad read through by conv2d", ""): padded,
        ("mlopt-fuse", "pad computed where it is read", ""): padded * 6 // 8,
    }.items():
        assert told[key]["bytes_saved"] == size, key
        tests = size // (2 * 4) * told_apart if "computed" in key[1] else 0
        assert told[key]["seconds_saved"] == pytest.approx(launch + size / bandwidth - tests), key
    folded = told["mlopt-fold-scales", "conv2d -> mul", ""]
    assert folded["bytes_saved"] == 2 * 128 * 4  # the scale and the shift
    assert folded["bytes_kept"] == (128 * 4 * 9 + 128) * 4 and folded["seconds_saved"] > 0
    assert told["mlopt-pack-weights", "weights of conv2d", ""]["bytes_kept"] == 128 * 4 * 9 * 4
    few = told["mlopt-pack-weights", "weights of conv2d", "32 columns are no multiple of 64"]
    assert (few["bytes_kept"], few["bytes_saved"]) == (128 * 32 * 4, 0)
    text = explain_text.text(found).partition("or left:\n")[2]
    lines = [line.replace(f"{file}:", "") for line in text.splitlines()]
    assert "    mlopt-pack-weights: weights of conv2d (83): keeps 0.018 MB made of weights" in lines
    assert "; would keep 0.016 MB made of weights" in text and ": the caller gets it; would save " in text


def test_loops_of_the_host_function_are_shown(file: Path, tmp_path: Path) -> None:
    """An index_add of more elements than comparisons are worth is a loop, into what a kernel copies."""
    drawing = tmp_path / "kernels.svg"
    text = run(f"{file}:added", "--machine", "cpu", "--svg", str(drawing))
    assert "of 5 kernels and 1 step of the host, " in text
    found = explain.explain(f"{file}:added", "main", "cpu", "cpu")
    hosts = [kernel for kernel in found.kernels if not kernel.is_kernel]
    assert [kernel.name for kernel in hosts] == ["host_0_loop"]
    assert [kernel.cost.bytes for kernel in hosts] == [3 * 512 * (8 + 3 * 4)]
    assert hosts[0].cost.elementwise == {"f32": 3 * 512}
    data = found.as_dict()
    pairs = {(edge["from_kernel"], edge["to_kernel"]): edge for edge in data["edges"]}
    named = {kernel.calls[0]["ops"][0]["op"]: kernel for kernel in found.kernels}
    assert named["copy"].cost.bytes == 2 * 70000 * 512 * 4
    last = named["mul"].name
    added, whole = 3 * 512 * 4, 70000 * 512 * 4
    through = {  # what nobody else reads is not written, either; a buffer is, and read as it is added to
        (named["relu"].name, "host_0_loop"): 2 * added,
        (named["copy"].name, "host_0_loop"): 2 * added,
        ("host_0_loop", last): whole,
    }
    for pair in through:
        writes = f"{explain_edges.HOST}a loop that writes 1536 elements where indices say"
        (reason,) = pairs[pair]["reasons"]
        assert reason["reason"] == writes
        assert reason["bytes_saved"] == through[pair] and reason["seconds_saved"] != 0
    assert pairs["host_0_loop", last]["bytes"] == whole
    assert f"{writes}; would save 0.012 MB and cost " in text
    for name in (named["copy"].name, "host_0_loop"):
        assert f"\n{name} " in text
        assert f">{name}<" in drawing.read_text()


def test_a_part_of_a_copy_is_written_once_by_one_kernel(file: Path) -> None:
    """The copy is made after mlopt-fuse has decided: what it need not write is the part, and a launch."""
    (edge,) = explain.explain(f"{file}:scattered", "main", "cuda:sm_80").edges
    (reason,) = edge["reasons"]
    assert (reason["reason"], reason["bytes_saved"]) == (PARTS, 4 * 512 * 4)
    machine = find_machine("a100")
    assert reason["seconds_saved"] == pytest.approx(machine.launch + 4 * 512 * 4 / machine.bandwidth)


def test_sums_into_zeros_are_made_in_the_result(file: Path) -> None:
    """The zeros are written once, to where the loop adds to them: no copy of them, on no thread."""
    found = explain.explain(f"{file}:summed", "main", "cpu", "cpu")
    assert [kernel.name for kernel in found.kernels if not kernel.is_kernel] == ["host_0_loop"]
    whole = 70000 * 512 * 4
    moved = sum(kernel.cost.bytes for kernel in found.kernels if kernel.function == "main")
    assert whole <= moved < 1.02 * whole


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
    assert "dynamic sizes count as 64" in text
    assert f"{explain_edges.COPY}; would save 0.002 MB, 0.11 µs" in text
    assert f"{path}:7" in text
    explained = json.loads(run(str(path), "--func", "f", "--machine", "cpu", "--json"))
    sizes = {each["bytes"] for each in (*explained["kernels"], *explained["edges"])}
    assert sizes == {
        2 * 64 * 8 * 4,
        64 * 8 * 4,
    }  # a kernel reads and writes; from one to the other goes a tensor
    assert {each["dynamic_sizes_count_as"] for each in explained["kernels"]} == {64}


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
    explained = json.loads(run(str(path), "--func", "roll", "--machine", "cpu", "--json"))
    written = explained["kernels"][-1]
    assert (written["bytes"], written["bytes_unfused"]) == (2 * 64 * 12 * 17 * 4, 2 * 64 * 12 * 17 * 4)
    assert not [each for each in explained["rewrites"] if "dim reads" in each["reason"]]


def test_kernels_are_those_that_are_compiled(file: Path, tmp_path: Path) -> None:
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
    assert "\n@f: 2 calls of 2 kernels" in text
    assert "@main" not in text
    explain_svg.write(found, drawing)
    assert "@f: " in drawing.read_text()
    assert found.as_dict()["entry"] == "f"
