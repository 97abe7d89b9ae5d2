"""Captured programs in the cache: found by the exported graph, and the same as newly captured ones."""

import dataclasses
import functools
import json
import subprocess
import sys

import mlopt
import pytest
import torch
from mlopt.frontends import torch as frontend
from mlopt.frontends.decomposing.target import for_target
from mlopt.options import Options
from mlopt.runtime import cache, cache_key, pool
from mlopt.runtime.kept_programs import KeptProgram
from mlopt.test.corpus import CASES

NAMES = sorted(CASES)[::6]


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("MLOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "code_version_now", cache_key.code_version)


@pytest.fixture
def decomposed(monkeypatch):
    """The graphs that were decomposed, which a hit saves."""
    seen = []
    original = frontend._decompose

    def decompose(exported, name):
        seen.append(name)
        return original(exported, name)

    monkeypatch.setattr(frontend, "_decompose", decompose)
    return seen


def capture(module, *inputs, dynamic=None):
    options = Options.resolve()
    return frontend.capture(
        module, inputs, dynamic, keeper=lambda exported: KeptProgram(exported, options, "test", lambda: None)
    )


def assert_same(one, other):
    for field in dataclasses.fields(one):
        if field.name != "weights":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    for a, b in zip(one.weights, other.weights, strict=True):
        assert (a.name, a.kind, a.names) == (b.name, b.kind, b.names)


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_program_is_the_captured_one(name, decomposed):
    module, inputs = CASES[name].module(), CASES[name].inputs()
    with torch.no_grad():
        first, second = capture(module, *inputs), capture(module, *inputs)
        fresh = frontend.capture(module, inputs)
    assert_same(second, first)
    assert_same(second, fresh)
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for weight in second.weights:
        assert weight.kind == "constant" or weight.tensor is state[weight.name]
    assert len(decomposed) in (2, 3)


def test_most_programs_are_kept(decomposed):
    with torch.no_grad():
        for name in ("mlp", "resnet_small", "llama_block", "embedding"):
            module, inputs = CASES[name].module(), CASES[name].inputs()
            capture(module, *inputs)
            before = len(decomposed)
            capture(module, *inputs)
            assert len(decomposed) == before, name


class Tied(torch.nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        if tied:
            self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


def test_weights_are_the_new_modules(decomposed):
    x = torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(2):
            module = Tied(tied=False)
            torch.testing.assert_close(mlopt.jit(module, x)(x), module(x))
    assert decomposed == ["Tied"]


def test_ties_are_in_the_key(decomposed):
    x = torch.randn(2, 4)
    assert len(capture(Tied(True), x).weights) == 3
    assert len(capture(Tied(False), x).weights) == 4
    assert len(capture(Tied(True), x).weights) == 3
    assert len(decomposed) == 2


class Put(torch.nn.Module):
    def forward(self, x):
        return torch.zeros(200, 4).index_put((torch.arange(0, 200, 2),), x, accumulate=True)


@pytest.mark.parametrize(("module", "times"), [(Tied(False), 1), (Put(), 2)])
def test_targets_share_graphs_that_do_not_ask_for_loops(module, times, decomposed):
    for target in ("cpu", "cuda:sm_80", "cpu", "cuda:sm_90a"):
        options = Options.resolve(target=target)
        keeper = functools.partial(KeptProgram, options=options, label="test", missed=lambda: None)
        with for_target(target):
            program = frontend.capture(module, (torch.randn(100, 4),), keeper=keeper)
        assert program.loops == (None if times == 1 else target == "cpu")
    assert len(decomposed) == times


class Scaled(torch.nn.Module):
    def __init__(self, factor, table):
        super().__init__()
        self.factor, self.table = factor, table

    def forward(self, x):
        return x * self.factor + torch.tensor(self.table)


@pytest.mark.parametrize(
    "other",
    [Scaled(3.0, [1.0, 2.0, 3.0]), Scaled(-0.0, [1.0, 2.0, 3.0]), Scaled(2, [1.0, 2.0, 3.0])],
    ids=["value", "sign of zero", "type"],
)
def test_numbers_in_the_code_are_in_the_key(other, decomposed):
    capture(Scaled(2.0, [1.0, 2.0, 3.0]), torch.randn(3))
    capture(other, torch.randn(3))
    assert len(decomposed) == 2


def test_constants_keep_their_values():
    x = torch.randn(3)
    for table in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]):
        module = Scaled(2.0, table)
        torch.testing.assert_close(mlopt.jit(module, x)(x), module(x))


def forms():
    x = torch.randn(4, 6)
    return {
        "shape": torch.randn(4, 7),
        "dtype": x.double(),
        "strides": torch.randn(6, 4).t(),
        "grad": torch.randn(4, 6, requires_grad=True),
    }


@pytest.mark.parametrize("form", forms())
def test_the_examples_form_is_in_the_key(form, decomposed):
    module = torch.nn.ReLU()
    capture(module, torch.randn(4, 6))
    capture(module, forms()[form])
    capture(module, forms()[form])
    assert len(decomposed) == 2


def test_dynamic_sizes_are_in_the_key(decomposed):
    module, x = torch.nn.ReLU(), torch.randn(4, 6)
    batch = torch.export.Dim("batch", min=2, max=64)
    small = torch.export.Dim("batch", min=2, max=32)
    for dynamic in (None, ({0: batch},), ({0: small},), ({1: batch},)):
        first, second = capture(module, x, dynamic=dynamic), capture(module, x, dynamic=dynamic)
        assert_same(second, first)
    assert len(decomposed) == 4


class Views(torch.nn.Module):
    def forward(self, x, y):
        return {"t": x.t(), "same": x, "y": (y + 1, None, 3)}


def test_structure_and_aliases_survive(decomposed):
    x, y = torch.randn(2, 3), torch.randn(2)
    first, second = capture(Views(), x, y), capture(Views(), x, y)
    assert_same(second, first)
    assert [output.alias is not None for output in second.outputs[:2]] == [True, True]
    got = mlopt.jit(Views(), x, y)(x, y)
    assert got["y"][1:] == (None, 3)
    assert torch.equal(got["t"], x.t())


def test_custom_ops_are_not_kept(decomposed):
    library = torch.library.Library("mlopt_cache_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")

    class Custom(torch.nn.Module):
        def forward(self, x):
            return torch.ops.mlopt_cache_test.twice(x)

    x = torch.randn(3)
    capture(Custom(), x)
    capture(Custom(), x)
    # Whoever decomposes it while exporting leaves aten ops only; else each capture does it again.
    graph = str(torch.export.export(Custom(), (x,)).graph)
    assert len(decomposed) == (2 if "mlopt_cache_test" in graph else 1)


def test_other_lines_are_other_programs_with_the_same_code(tmp_path, monkeypatch, decomposed):
    made = []
    original = pool.call
    monkeypatch.setattr(pool, "call", lambda role, *a, **k: (made.append(role), original(role, *a, **k))[1])
    source = (
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x.sin() + 1\n"
    )
    lines = []
    for number, text in enumerate((source, "\n\n" + source)):
        path = tmp_path / "model.py"
        path.write_text(text)
        names = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        x = torch.randn(5)
        compiled = mlopt.jit(names["M"](), x)
        torch.testing.assert_close(compiled(x), x.sin() + 1)
        lines.append({line.rsplit(":", 1)[1] for _, line in compiled.report.ops})
        assert f'model.py":{4 + 2 * number}:' in compiled.asm["torch"]
    assert lines == [{"4"}, {"6"}]
    assert made == ["import", "compile"]
    assert len(decomposed) == 2


IN_A_PROCESS = """
import json, os, subprocess, sys
import torch
import mlopt
from mlopt.runtime import cache, cache_key, pool

# Files that are edited while the tests run do not count.
cache.code_version = cache.code_version_now = cache_key.code_version = lambda: "the same"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)).eval()
x = torch.randn(3, 8)
# What torch starts for itself is not meant.
torch.export.export(model, (x,))
torch.compile(model, backend="eager")(x)
torch._dynamo.reset()
if sys.argv[1] == "warm":
    def refuse(*args, **kwargs):
        raise AssertionError("a process was started")
    subprocess.Popen = refuse
results = {}
for how in sys.argv[2:]:
    os.environ["MLOPT_CACHE_DIR"] = how  # what one keeps is not for the other
    with torch.no_grad():
        compiled = mlopt.jit(model, x) if how == "jit" else torch.compile(model, backend="mlopt")
        result = compiled(x)
    assert bool(pool.pids("compile")) == (sys.argv[1] != "warm"), how
    pool.shutdown()
    results[how] = result.numpy().tobytes().hex()
print(json.dumps(results))
"""
WAYS = ("jit", "torch.compile")


@pytest.fixture(scope="module")
def of_processes(tmp_path_factory):
    """What a process gives that finds nothing in the cache, and then one that finds all, by way."""
    folder, results = tmp_path_factory.mktemp("processes"), []
    for kind in ("cold", "warm"):
        command = [sys.executable, "-c", IN_A_PROCESS, kind, *WAYS]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    assert all(any((folder / way).iterdir()) for way in WAYS)
    return results


@pytest.mark.parametrize("how", WAYS)
def test_a_warm_process_starts_no_worker(how, of_processes):
    cold, warm = of_processes
    assert cold[how] == warm[how]
