"""The benchmark: its arithmetic, what its peers compute, its processes. Nothing here depends on time."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from mlopt import compile_mlir
from mlopt.bench import ceilings, summary
from mlopt.bench.child import error_of
from mlopt.bench.groups import MATMUL, ROWS
from mlopt.bench.limits import Facts, Limit, limit_of
from mlopt.bench.peers import NAME, PEERS, Task, missing
from mlopt.bench.prepare import export, prepare, work_of
from mlopt.bench.records import Figures, Record, Round, Run
from mlopt.bench.turns import Contestants, Pace
from mlopt.bench.workloads import WORKLOADS, Workload
from mlopt.test.corpus import CASES
from mlopt.test.corpus.basic import Function
from mlopt.test.corpus.cases import Case, randn, with_indices
from torch.nn import functional as F

NAMES = (
    "attention_causal bert_block conv_bn_relu gpt2_small layer_norm linear_gelu normalize_by_sum relu_scale"
    " resnet_small rms_norm softmax"
)
SMALL = {
    **{name: CASES[name] for name in NAMES.split()},
    "nll": Case("nll", lambda: Function(F.cross_entropy), with_indices(10, (6,), (6, 10))),
    "sum": Case("sum", lambda: Function(lambda x: x.sum(0)), randn((7, 33))),
    "turned": Case("turned", lambda: Function(lambda x: x.t().contiguous()), randn((7, 33))),
    "product": Case(
        "product", lambda: Function(lambda x, w, b: torch.relu(x @ w + b)), randn((5, 7), (7, 3), (3,))
    ),
}
INSTALLED = [name for name, peer in PEERS.items() if not missing(peer)]
FACTS = Facts(bytes=2000, flops=100, special={"exp": 10, "div": 20})


def record(threads=1, group=ROWS, faults=True, streams=False, name="row", limit=None, **seconds):
    peers = {peer.replace("_", "."): Figures(seconds=each) for peer, each in seconds.items()}
    return Record(name, f"the {name}", group, threads, faults, streams, limit, peers=peers)


def test_ratio_is_the_best_peers_time_over_ours():
    row = record(mlopt=2.0, eager=5.0, torch_compile=3.0, JAX=None, limit=1.5)
    assert summary.best_peer(row) == ("torch.compile", 3.0)
    assert summary.ratio(row) == 1.5
    assert summary.ratio_to(row, "eager") == 2.5
    assert summary.ratio_to(row, "JAX") is None
    assert summary.share(row) == summary.share_of_best(row) == 0.75


def test_a_share_is_of_what_the_machine_did_beside_the_turn():
    row = record(mlopt=2.0, limit=0.5)
    row.peers[NAME].turns = [2.0, 4.0, 1.0]
    row.rounds = [Round(limit, "memory", {"read": 1 / limit}) for limit in (1.6, 1.0, 0.6)]
    assert summary.share(row) == 0.6  # of 0.8, 0.25, 0.6
    assert summary.share_of_best(row) == 0.25


def test_without_figures_there_is_no_ratio():
    assert summary.ratio(record(mlopt=1.0)) is None
    assert summary.ratio(record(mlopt=None, eager=1.0)) is None
    assert summary.share(record(mlopt=1.0)) is None


def test_geometric_mean():
    assert summary.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isnan(summary.geometric_mean([]))


def test_goals_are_told_by_group_and_threads():
    lines = "\n".join(
        summary.goals(
            [
                record(name="a", mlopt=1.0, eager=2.0, torch_compile=4.0),
                record(name="b", mlopt=1.0, eager=0.5, torch_compile=0.9),
                record(name="c", threads=2, mlopt=1.0, eager=3.0),
                record(name="d", group=MATMUL, mlopt=1.0, eager=0.96),
                record(name="e", faults=False, streams=True, mlopt=2.0, limit=1.5),
                record(name="e", streams=True, mlopt=9.0, limit=1.5),
                record(name="softmax", mlopt=2.0, limit=1.2),
                record(name="matmul-1024", threads=2, mlopt=2.0, limit=1.8),
            ]
        )
    )
    assert f"{ROWS}        1     2  1.00  1.25   0.50  1.00  the b" in lines
    assert f"{ROWS}        2     1  3.00  1.25   3.00  1.00  the c" in lines
    assert "ahead of torch.compile: 1 of 2 rows; behind: b/1 (0.90)" in lines
    assert "streaming rows (goal 85%): e/1 memory kept 75%\n" in lines
    assert "rows of exp and of norms (goal 70%): softmax/1 60%\n" in lines
    assert lines.endswith("the FMA peak of products (goal 93%): matmul-1024/2 90%")


def test_memory_is_compared():
    rows = [record(name=name, mlopt=1.0, torch_compile=1.0) for name in "ab"]
    for row, ours in zip(rows, (100, 125), strict=True):
        row.peers[NAME].memory, row.peers["torch.compile"].memory = ours, 100
    told = "\n".join(summary.goals([*rows, record(mlopt=1.0, torch_compile=1.0, faults=False)]))
    assert "no more memory than torch.compile: 1 of 2 rows; behind: b/1 (0.80)" in told


def test_compile_times_of_the_model_are_compared():
    row = record(name=summary.COMPILE_ROW, threads=2, group=MATMUL)
    row.peers = {NAME: Figures(build=3.0, warm=0.5), "torch.compile": Figures(build=10.0, warm=5.0)}
    assert "torch.compile's: 0.30 (goal 0.50), from the cache 0.10 (goal 0.20)" in summary.goals([row])[-1]
    table = summary.compilations([row, record(name="other", threads=1)])
    assert len(table) == 2 and "3.0 / 0.5" in table[1] and "kernels" not in table[0]


def test_kernels_stand_beside_those_of_peers_that_tell():
    row = record(mlopt=1.0, eager=1.0, torch_compile=1.0)
    row.peers[NAME].kernels, row.peers["torch.compile"].kernels = 1, 3
    head, line = summary.compilations([row])
    assert head.endswith("mlopt, kernels  torch.compile, kernels")
    assert line.split()[-2:] == ["1", "3"]


def test_a_limit_is_the_largest_part():
    rates = {"read": 60.0, "copy": 100.0, "flops": 10.0, "exp": 10.0, "div": 5.0}
    assert limit_of(FACTS, rates) == limit_of(FACTS, {**rates, "flops": 1e3, "exp": 1e9, "div": 1e9})
    assert limit_of(FACTS, rates) == Limit(20, "memory")
    assert limit_of(FACTS, {**rates, "read": 1e9}) == Limit(10, "compute")
    assert limit_of(FACTS, {**rates, "copy": 1e9, "flops": 1e9}) == Limit(4.0, "special functions")


def test_a_run_is_kept_and_told(tmp_path):
    rows = [record(mlopt=1e-3, eager=2e-3, limit=1e-3), record(mlopt=1e-3, eager=None)]
    rows[0].peers[NAME].turns = [1e-3]
    rows[0].rounds = [Round(0.9e-3, "memory", {"read": 1.0})]
    rows[1].peers["eager"].problem = "it broke"
    run = Run("2026-11-21", "a processor", "wall", {"torch": "2"}, {"IREE": "not here"}, records=rows)
    run.write(tmp_path / "new" / "run.json")
    assert Run.read(tmp_path / "new" / "run.json") == run
    told = summary.text(run)
    assert "not installed: IREE (not here)" in told
    assert "no figure: row, 1 thread: eager: it broke" in told
    assert "eager   2.00  1.000    90%     100%" in told


def test_rows_that_are_run_again_have_their_date():
    first = Run(
        "one", "a processor", "wall", {}, {}, records=[record(mlopt=2.0), record(mlopt=3.0, name="other")]
    )
    rows = [record(mlopt=1.0), record(mlopt=4.0, threads=2)]
    first.take(Run("two", "a processor", "wall", {}, {}, records=rows))
    found = [(row.name, row.threads, row.peers[NAME].seconds, row.again) for row in first.records]
    assert found == [("row", 1, 1.0, "two"), ("other", 1, 3.0, ""), ("row", 2, 4.0, "two")]
    assert [line.count("(two)") for line in summary.times(first.records)] == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="on another are not put among those by wall time on a processor"):
        first.take(Run("three", "another", "wall", {}, {}))


def test_errors_are_found():
    exact = np.array([1.0, -4.0, 2.0])
    assert error_of(np.float32([1.0, -4.0, 2.5]), exact) == 0.125
    assert error_of(np.float32([1.0, np.nan, 2.0]), exact) == math.inf
    assert error_of(np.float32([[1.0, -4.0, 2.0]]), exact) == math.inf
    assert error_of(np.float32([1.0, -4.0, 2.0]), exact) == 0


@pytest.fixture
def own_settings():
    threads, grad = torch.get_num_threads(), torch.is_grad_enabled()
    yield
    torch.set_num_threads(threads)
    torch.set_grad_enabled(grad)


@pytest.mark.parametrize("peer", INSTALLED)
def test_peers_are_right(peer, tmp_path, monkeypatch, own_settings):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # what is cached tells no kernels
    for name in SMALL if peer != "torch.compile" else ["softmax"]:  # it takes seconds for each
        workload = Workload(name, name, ROWS, SMALL[name])
        monkeypatch.setitem(WORKLOADS, name, workload)
        folder = tmp_path / name
        folder.mkdir()
        for number, each in enumerate(workload.inputs()):
            np.save(folder / f"input-{number}.npy", each.numpy())
        if PEERS[peer].exported:
            export(workload.module(), workload.inputs(), folder / "model.onnx")
        with torch.no_grad():
            exact = workload.module().double()(
                *(each.double() if each.is_floating_point() else each for each in workload.inputs())
            )
        runner = PEERS[peer]()
        runner.load(1)
        call = runner.build(Task(name, 1, folder))
        assert (runner.kernels is None) != (peer in ("mlopt", "torch.compile")), name
        for _ in range(2):
            assert error_of(runner.array(call()), exact.numpy()) < 1e-5, name


def test_work_is_counted_as_the_cost_model_does():
    case = CASES["matmuls"]
    work = work_of(torch.nn.Linear(13, 19).eval(), (torch.randn(7, 13),))
    assert work.contracted == {"f32": 2 * 7 * 13 * 19}
    assert work_of(torch.nn.Softmax(-1), case.inputs()[:1]).special["exp"] == 7 * 13


def test_the_process_of_a_peer(tmp_path):
    prepare(WORKLOADS["linear-1"], tmp_path, onnx=False)
    facts = Facts(**json.loads((tmp_path / "facts.json").read_text()))
    assert facts.bytes == 4 * (768 + 768 * 768 + 768 + 768)
    assert facts.flops == 2 * 768 * 768 + 2 * 768
    row = record(name="linear-1")

    class Meter:  # of a machine that is twice as fast in the second round that counts
        asked = 0

        def ask(self, name, functions):
            assert (name, functions) == ("turn", [])
            self.asked += 1
            return {"read": 2e9 if self.asked == 5 else 1e9, "copy": 1.0, "flops": 1e18}

    contestants = Contestants(row, ["eager", NAME], facts, tmp_path)
    try:
        contestants.build(cold=True)
        wrong = np.load(tmp_path / "exact.npy") + 1
        contestants.race(Meter(), Pace(2, 0.001))
        contestants.weigh()
        np.save(tmp_path / "exact.npy", wrong)
        contestants.build_again()
    finally:
        contestants.close()
    assert len(row.peers["eager"].turns) == 2
    assert [each.limit for each in row.rounds] == [facts.bytes / 1e9, facts.bytes / 2e9]
    assert row.limit == facts.bytes / 2e9 and row.ceilings["read"] == 2e9 and row.bound == "memory"
    assert row.peers["eager"].seconds > 0 and row.peers["eager"].warm is None
    assert row.peers["eager"].memory > 50e6
    assert row.peers["eager"].error < 1e-6
    assert (row.peers["eager"].kernels, row.peers[NAME].kernels) == (None, 1)
    assert "its result is wrong" in row.peers[NAME].problem  # of the second time
    assert row.peers["eager"].problem == ""


@pytest.mark.parametrize("lanes", [8, 16] if ceilings.llvm.get_host_cpu_features().get("avx512f") else [8])
def test_the_loops_that_measure_the_machine(lanes):
    functions = ceilings.loaded(ceilings.program(lanes))
    source, target = (ceilings._lines(4096) for _ in range(2))
    source.view(np.float32)[:] = np.arange(1024)
    copy = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    copy(functions.address("copy"))(source.ctypes.data, target.ctypes.data, 4096)
    assert (source == target).all()
    assert target.base[-64:].tobytes() != bytes(64)  # nothing after it was written
    add = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)(functions.address("sum"))
    vectors = np.arange(1024).reshape(-1, 8, lanes).sum(0)
    assert add(source.ctypes.data, 4096) == vectors[0, 0] + vectors[:, 0].sum()


IN_A_PROCESS = """
from mlopt.bench import memory
before = memory.largest_process()
block = bytes(range(256)) * ((before + (64 << 20)) // 256)
assert memory.largest_process() > before + (60 << 20)
assert memory.peak_of_all() > before + (60 << 20)
"""


def test_memory_is_told():
    """By a small process: one that holds torch takes seconds to double."""
    subprocess.run([sys.executable, "-P", "-c", IN_A_PROCESS], check=True)


def test_workloads_have_names_of_their_own():
    assert len({each.title for each in WORKLOADS.values()}) == len(WORKLOADS) == 25


@pytest.mark.parametrize(
    ("name", "function"), [("exp", np.exp), ("div", lambda a: 1.5 / a), ("rsqrt", lambda a: a**-0.5)]
)
def test_the_sums_that_measure_functions(name, function):
    x, c = np.float32([0.5, 0.75]), np.linspace(0.5, 1, ceilings._COLUMNS, dtype=np.float32)
    text = ceilings.sums_of(name).replace(str(ceilings._ROWS), "2")
    got = compile_mlir(text)(x, c)
    assert error_of(got, function(x[:, None].astype(np.float64) + c).sum(1)) < 1e-5
