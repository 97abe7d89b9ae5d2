"""torch's profilers see a compiled call, and in it each kernel by its name."""

import json
import subprocess
import sys
from collections import Counter

import mlopt
import numpy as np
import pytest
import torch
from mlopt.runtime import profiling
from mlopt.test.python.threads import at_once
from torch.profiler import ProfilerActivity, profile

CPU = [ProfilerActivity.CPU]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(48), torch.nn.Linear(48, 32)

    def forward(self, x):
        return torch.softmax(torch.nn.functional.gelu(self.linear(self.norm(x))), -1)


@pytest.fixture(scope="module")
def block():
    torch.manual_seed(0)
    module, x = Block().eval(), torch.randn(16, 48)
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
        compiled(x)
    return compiled, x


def traced(profiler, path):
    """The events of the exported Chrome trace that are mlopt's, by start."""
    profiler.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    ours = [e for e in events if str(e.get("name", "")).startswith("mlopt::") and e.get("ph") == "X"]
    return sorted(ours, key=lambda e: (e["ts"], -e["dur"]))


def kernels_of(compiled, function="main"):
    return Counter({f"mlopt::{k.name}": k.calls for k in compiled.kernels if k.function == function})


def test_the_table_has_each_kernel_as_often_as_it_is_called(block):
    compiled, x = block
    with torch.no_grad(), profile(activities=CPU) as profiler:
        for _ in range(3):
            compiled(x)
    counts = {e.key: e.count for e in profiler.key_averages() if e.key.startswith("mlopt::")}
    expected = {name: 3 * calls for name, calls in kernels_of(compiled).items()}
    assert counts == {"mlopt::Block": 3, **expected}
    table = profiler.key_averages().table(max_name_column_width=100)
    assert all(name in table for name in expected)


def test_the_trace_nests_kernels_in_the_call(block, tmp_path):
    compiled, x = block
    with torch.no_grad(), profile(activities=CPU) as profiler:
        compiled(x)
    outer, *kernels = traced(profiler, tmp_path / "trace.json")
    assert outer["name"] == "mlopt::Block"
    assert Counter(kernel["name"] for kernel in kernels) == kernels_of(compiled)
    end = outer["ts"]
    for kernel in kernels:
        assert kernel["ts"] >= end  # one after the other
        end = kernel["ts"] + kernel["dur"]
    assert end <= outer["ts"] + outer["dur"]
    assert sum(kernel["dur"] for kernel in kernels) <= outer["dur"]
    assert {kernel["cat"] for kernel in kernels} == {"cpu_op"}  # beside eager's ops


def test_results_are_the_same_with_and_without(block):
    compiled, x = block
    with torch.no_grad():
        plain = compiled(x)
        with profile(activities=CPU):
            assert torch.equal(compiled(x), plain)
        with torch.autograd.profiler.profile() as older:
            assert torch.equal(compiled(x), plain)
    assert "mlopt::Block" in {event.name for event in older.function_events}


def test_the_users_own_ranges_stay_around_it(block):
    compiled, x = block
    with torch.no_grad(), profile(activities=CPU) as profiler:
        with torch.profiler.record_function("mine"):
            compiled(x)
        torch.add(x, 1)
    events = {event.name: event for event in profiler.events()}
    assert events["mlopt::Block"].cpu_parent.name == "mine"
    assert events["aten::add"].cpu_parent is None


def test_nothing_is_told_without_a_profiler(block, monkeypatch):
    compiled, x = block

    def refuse(*_):
        raise AssertionError("no profiler is on")

    monkeypatch.setattr(profiling, "run", refuse)
    with torch.no_grad():
        compiled(x)
        with profile(activities=CPU), pytest.raises(AssertionError, match="no profiler"):
            compiled(x)
        compiled(x)


def test_prepare_is_seen_when_it_runs():
    module, x = torch.nn.Linear(64, 64).eval(), torch.randn(3, 64)
    with torch.no_grad(), profile(activities=CPU) as profiler:
        compiled = mlopt.jit(module, x)
        compiled(x)
        compiled(x)
    counts = Counter(e.name for e in profiler.events() if e.name.startswith("mlopt::"))
    prepare = kernels_of(compiled, "prepare")
    assert prepare
    assert counts["mlopt::Linear.prepare"] == 1
    assert counts["mlopt::Linear"] == 2
    assert all(counts[name] == calls for name, calls in prepare.items())


def test_a_kernel_that_fails_ends_its_range(tmp_path):
    class Embedding(torch.nn.Module):
        def forward(self, indices, table):
            return torch.nn.functional.embedding(indices, table)

    good, table = torch.tensor([1, 2]), torch.randn(4, 8)
    compiled = mlopt.jit(Embedding(), good, table)
    with profile(activities=CPU) as profiler:
        with pytest.raises(IndexError):
            compiled(torch.tensor([1, 9]), table)
        compiled(good, table)
        torch.add(table, 1)
    assert profiling._open.ranges == []
    counts = Counter(event["name"] for event in traced(profiler, tmp_path / "trace.json"))
    assert counts["mlopt::Embedding"] == 2
    assert all(counts[name] >= 2 for name in kernels_of(compiled))
    (add,) = (event for event in profiler.events() if event.name == "aten::add")
    assert add.cpu_parent is None


def test_threads_do_not_mix(block, tmp_path):
    compiled, x = block

    def work():
        with torch.no_grad():
            for _ in range(20):
                compiled(x)

    everywhere = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with profile(activities=CPU, experimental_config=everywhere) as profiler:
        at_once(work, (), (), ())
    events = traced(profiler, tmp_path / "trace.json")
    for thread in {event["tid"] for event in events}:
        own = [event for event in events if event["tid"] == thread]
        outer = [event for event in own if event["name"] == "mlopt::Block"]
        for kernel in own:
            inside = [o for o in outer if o["ts"] <= kernel["ts"] <= o["ts"] + o["dur"]]
            assert len(inside) == 1
    assert Counter(e["name"] for e in events) == Counter(
        {"mlopt::Block": 60, **{name: 60 * calls for name, calls in kernels_of(compiled).items()}}
    )


RELU = """
func.func @act(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %y = arith.maximumf %x, %zero : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
"""


def test_arrays_are_seen_too():
    compiled = mlopt.compile_mlir(RELU, "act")
    with profile(activities=CPU) as profiler:
        compiled(np.ones((4, 8), np.float32))
        compiled(torch.ones(4, 8))
    counts = Counter(e.name for e in profiler.events() if e.name.startswith("mlopt::"))
    assert counts == Counter({"mlopt::act": 2, **dict.fromkeys(kernels_of(compiled), 2)})


@pytest.mark.parametrize("options", [{}, {"target": "cuda:sm_80", "device": "emulator"}])
def test_emit_nvtx_gets_each_kernel(options, monkeypatch):
    """torch makes NVTX ranges of what is recorded inside, in builds with CUDA."""
    seen = []

    class Range:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(self.name)

        def __exit__(self, *_):
            seen.append("end")

    profiler = torch.autograd.profiler
    for name in ("_enable_profiler", "_disable_profiler"):
        monkeypatch.setattr(profiler, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(profiling, "_range_type", lambda: Range)
    compiled = mlopt.compile_mlir(RELU, "act", **options)
    x = np.ones((4, 8), np.float32)
    compiled(x)
    assert not seen
    with profiler.emit_nvtx():
        compiled(x)
    (kernel,) = kernels_of(compiled)
    (outer, inner, *ends) = seen
    assert outer == "mlopt::act"
    assert inner.startswith(kernel)  # or the one for memory that is not aligned
    assert ends == ["end", "end"]
    compiled(x)
    assert len(seen) == 4


def test_torch_compile_is_seen_too():
    module, x = Block().eval(), torch.randn(5, 48)
    with torch.no_grad():
        compiled = torch.compile(module, backend="mlopt")
        compiled(x)
        with profile(activities=CPU) as profiler:
            compiled(x)
    names = [event.name for event in profiler.events() if event.name.startswith("mlopt::")]
    assert len(names) > 1
    assert any("kernel" in name for name in names)


def test_without_torch_nothing_of_it_is_imported():
    code = f"""
import sys
import numpy as np
import mlopt
compiled = mlopt.compile_mlir('''{RELU}''', "act")
compiled(np.ones((4, 8), np.float32))
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_example_writes_table_and_trace(tmp_path, capsys):
    from mlopt.examples.profiling import CALLS, main

    trace = tmp_path / "profile.json"
    profiler = main(str(trace))
    shown = capsys.readouterr().out
    for name in ("eager", "aten::linear", "mlopt::Block", "mlopt::kernel_"):
        assert name in shown
    counts = {e.key: e.count for e in profiler.key_averages()}
    assert counts["mlopt::Block"] == counts["eager"] == CALLS
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"mlopt::Block", "aten::addmm"} <= names
