"""Rehearsals: what is told apart by them, what has none; a hit needs neither torch.export nor sympy."""

import random
import subprocess
import sys
import textwrap

import mlopt
import numpy as np
import pytest
import torch
from mlopt.frontends import torch as frontend
from mlopt.frontends.module_form import form_of
from mlopt.frontends.rehearsal import follow, record
from mlopt.runtime import cache, cache_key
from mlopt.test.corpus import CASES


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache, which takes programs although files are edited meanwhile."""
    monkeypatch.setenv("MLOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "code_version_now", cache_key.code_version)


@pytest.fixture
def exported(own_cache, monkeypatch):
    """Grows by one with each call of torch.export."""
    calls = []
    original = frontend._export
    monkeypatch.setattr(frontend, "_export", lambda *args: (calls.append(1), original(*args))[1])
    return calls


def found(module, other, args, other_args=None, kwargs=None):
    """Whether ``other`` has the program of ``module``."""
    other_args, kwargs = args if other_args is None else other_args, kwargs or {}
    recorded = record(module, args, kwargs)
    if recorded is None or form_of(module, args, kwargs) != form_of(other, other_args, kwargs):
        return False
    return follow(recorded[0], other, other_args, kwargs) is not None


@pytest.mark.parametrize("name", sorted(CASES)[::5])
def test_modules_do_as_recorded(name):
    case = CASES[name]
    module, inputs = case.module(), case.inputs()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        recorded = record(module, inputs, {})
        assert recorded is not None
        assert follow(recorded[0], case.module(seed=1), inputs, {}) == recorded[1]
    for key, value in module.state_dict().items():
        assert torch.equal(value, state[key]), key


class Module(torch.nn.Module):
    """``function(self, x)``; a linear layer, a buffer, and more attributes."""

    def __init__(self, function, **attributes):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))
        self.function = function
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.function(self, x)


def scaled(self, x):
    return self.linear(x) * self.factor


def branching(self, x):
    return x.relu() if self.training else x.sin()


def nested(self, x):
    return {"y": x + 1, "z": [x, 3]} if self.deep else {"y": x + 1, "z": [x, 4]}


def swapped(self, x):
    return (x + 1, x.sin())[:: self.step]


def padded(self, x):
    return torch.nn.functional.pad(x, (1, 1), value=self.factor)


def without_grad(self, x):
    with torch.set_grad_enabled(not self.off):
        return self.linear(x)


def rehearsing(self, x):
    return x * self.factor if torch.compiler.is_exporting() else x


X = torch.randn(3, 4)


@pytest.mark.parametrize(
    ("function", "name", "one", "other"),
    [
        (scaled, "factor", 2.0, 3.0),
        (scaled, "factor", 0.0, -0.0),
        (scaled, "factor", 2.0, 2),
        (branching, "training", True, False),
        (nested, "deep", True, False),
        (swapped, "step", 1, -1),
        (padded, "factor", 0.0, float("inf")),
        (without_grad, "off", True, False),
        (rehearsing, "factor", 2.0, 3.0),
    ],
)
def test_modules_that_do_something_else_are_told_apart(function, name, one, other):
    assert found(Module(function, **{name: one}), Module(function, **{name: one}), (X,))
    assert not found(Module(function, **{name: one}), Module(function, **{name: other}), (X,))


class Tied(torch.nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        if tied:
            self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


def forms():
    base = torch.randn(8, 4)
    return {
        "shape": (torch.randn(5, 4),),
        "dtype": (X.double(),),
        "strides": (torch.randn(4, 3).t(),),
        "grad": (torch.randn(3, 4, requires_grad=True),),
        "offset": (base[1:4],),
        "number": (2.0,),
        "memory": (base[:3], base[3:6]),
    }


@pytest.mark.parametrize("form", forms())
def test_the_examples_form_tells_apart(form):
    other = forms()[form]
    module = torch.nn.ReLU()
    args = (X, X + 1)[: len(other)]
    assert form_of(module, args, {}) == form_of(module, tuple(each.clone() for each in args), {})
    assert form_of(module, args, {}) != form_of(module, other, {})


def test_the_modules_form_tells_apart():
    module = torch.nn.Linear(4, 4)
    known = form_of(module, (X,), {})
    assert form_of(Tied(True), (X,), {}) != form_of(Tied(False), (X,), {})
    assert form_of(torch.nn.Linear(4, 4, bias=False), (X,), {}) != known
    with torch.no_grad():
        assert form_of(module, (X,), {}) != known
    torch.use_deterministic_algorithms(True)
    assert form_of(module, (X,), {}) != known
    torch.use_deterministic_algorithms(False)
    module.requires_grad_(False)
    assert form_of(module, (X,), {}) != known


GLOBAL = torch.randn(4)


def reads_a_value(self, x):
    return x * 2 if float(self.seen.sum()) > 0 else x


def reads_and_catches(self, x):
    try:
        return x * float(self.seen.sum())
    except Exception:
        return x


def keeps_in_a_dictionary(self, x):
    self.kept.setdefault("mask", x + 1)
    return x + self.kept["mask"]


def assigns_a_buffer(self, x):
    self.seen = self.seen + 1
    return x + self.seen


def assigns_a_number(self, x):
    self.calls += 1
    return x + self.calls


def makes_a_tensor(self, x):
    return x + torch.tensor([1.0, 2.0, 3.0, 4.0])


def reads_a_global(self, x):
    return x + GLOBAL


def resizes(self, x):
    return x.clone().unsqueeze_(0)


@pytest.mark.parametrize(
    "function",
    [
        reads_a_value,
        reads_and_catches,
        keeps_in_a_dictionary,
        assigns_a_buffer,
        assigns_a_number,
        makes_a_tensor,
        reads_a_global,
        resizes,
    ],
)
def test_what_a_rehearsal_would_not_show_has_none(function):
    module = Module(function, kept={}, calls=0)
    buffer, before = module.seen, module.seen.clone()
    assert record(module, (X,), {}) is None
    assert module.seen is buffer and torch.equal(buffer, before)
    assert (module.kept, module.calls) == ({}, 0)


class Counts:
    """Something that a module has, or that its file does."""

    def __init__(self, calls):
        self.calls, self.nested = calls, {"calls": [calls]}


COUNTS = Counts(0)
counted = 0


def counts_in_an_object(self, x):
    self.counts.calls += 1
    return x * self.counts.calls


def counts_in_a_list(self, x):
    self.counts.nested["calls"][0] += 1
    return x * self.counts.nested["calls"][0]


def counts_in_a_global(self, x):
    global counted
    counted += 1
    return x * counted


def counts_in_an_object_of_the_file(self, x):
    COUNTS.calls += 1
    return x * COUNTS.calls


def draws(self, x):
    return x * random.random() + np.random.rand()


@pytest.mark.parametrize(
    "function",
    [counts_in_an_object, counts_in_a_list, counts_in_a_global, counts_in_an_object_of_the_file, draws],
)
@pytest.mark.usefixtures("own_cache")
def test_modules_whose_calls_differ_are_as_without_a_cache(function, monkeypatch):

    def compiled(calls, **options):
        monkeypatch.setattr(sys.modules[__name__], "counted", calls)
        monkeypatch.setattr(COUNTS, "calls", calls)
        random.seed(calls)
        np.random.seed(calls)
        module = Module(function, counts=Counts(calls))
        return mlopt.jit(module, X, **options)(X), random.random(), np.random.rand()

    for calls in (0, 1, 1, 5):
        (kept, *numbers), (fresh, *others) = compiled(calls), compiled(calls, cache=False)
        assert torch.equal(kept, fresh) and numbers == others, calls


def test_modules_of_one_form_are_kept_beside_each_other(exported):
    for factor in (2.0, 3.0, 2.0, 3.0):
        module = Module(scaled, factor=factor).requires_grad_(False)
        torch.testing.assert_close(mlopt.jit(module, X)(X), module(X))
    assert len(exported) == 2


def plain_sum(self, x):
    return self.linear(x) + 1


def put_rows(self, x):
    places = torch.arange(0, 200, 2)
    return torch.zeros(200, 4).index_put((places,), x.repeat(34, 1)[:100], accumulate=True)


@pytest.mark.parametrize(("function", "times"), [(plain_sum, 1), (put_rows, 2)])
def test_targets_share_what_does_not_depend_on_loops(function, times, exported):
    """Nor do other options count; a program with loops over tensors is no GPU's."""
    for options in (
        {},
        {"target": "cuda:sm_80", "device": "emulator"},
        {"opt_level": 1},
        {"fast_math": True},
    ):
        module = Module(function).requires_grad_(False)
        torch.testing.assert_close(mlopt.jit(module, X, **options)(X), module(X))
    assert len(exported) == times


def test_other_modes_look_too():
    with torch.device("meta"):
        assert record(torch.nn.ReLU(), (X,), {}) is None


def test_mutations_of_buffers_are_seen(exported):
    with torch.no_grad():
        for _ in range(2):
            module, reference = torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)
            compiled = mlopt.jit(module, X)
            torch.testing.assert_close(compiled(X), reference(X))
            torch.testing.assert_close(module.running_mean, reference.running_mean)
            assert module.num_batches_tracked == 1
    assert len(exported) == 1


IN_A_PROCESS = """
import sys
import torch
import mlopt
from mlopt.runtime import cache, cache_key, pool

# Files that are edited while the tests run do not count.
cache.code_version = cache.code_version_now = cache_key.code_version = lambda: "the same"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)).eval()
x = torch.randn(3, 8)
with torch.no_grad():
    result = mlopt.jit(model, x)(x)
heavy = [name for name in ("mlir", "torch_mlir", "sympy", "torch._dynamo") if name in sys.modules]
assert heavy == (["sympy", "torch._dynamo"] if sys.argv[1] == "cold" else []), heavy
assert bool(pool.pids("compile")) == (sys.argv[1] == "cold")
sys.stdout.write(result.numpy().tobytes().hex())
"""


def test_a_warm_process_imports_and_starts_nothing(tmp_path):
    results = []
    for kind in ("cold", "warm"):
        command = [sys.executable, "-c", textwrap.dedent(IN_A_PROCESS), kind]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        results.append(done.stdout)
    assert results[0] == results[1]
