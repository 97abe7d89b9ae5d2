"""The benchmark for GPUs, without one: its arithmetic, its time limit, and a row on the emulator."""

import contextlib
import json
import math
import pickle
import re
import signal
import time
import weakref
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from mlopt.bench.gpu import figures, peers, run
from mlopt.bench.gpu.child import Child, Job, error_of
from mlopt.bench.gpu.clock import Clock, sets_needed
from mlopt.bench.gpu.timed import TIMED
from mlopt.bench.gpu.workload import CHAINS, GRAPHS, LAUNCHES, OTHERS, ROWS, Source
from mlopt.bench.peers.mlopt import NAME
from mlopt.bench.records import Figures, Record, Run
from mlopt.bench.turns import PeerError
from mlopt.errors import DeviceError
from mlopt.runtime.cuda import driver
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def record(group, seconds, copy, **others):
    found = {"mlopt": seconds, **{name.replace("_", "."): each for name, each in others.items()}}
    return Record(
        "row", f"a {group} row", group, 1, True, limit=copy, ceilings={"bytes": 1e9},
        peers={name: Figures(seconds=each) for name, each in found.items()},
    )  # fmt: skip


def test_shares_and_ratios():
    rows = [
        record("rows", 1e-3, 0.95e-3, eager=3e-3, torch_compile=1.02e-3, **{"max-autotune": 1.01e-3}),
        record("rows", 1e-3, 0.80e-3, eager=2e-3, torch_compile=0.9e-3),
        record("launch-bound, CUDA graph", 1e-5, 1e-6, **{"reduce-overhead": 2e-5}),
    ]
    lines = "\n".join(figures.table(rows))
    assert "1000.0" in lines and "95.0%" in lines
    assert [figures.best_mode(row) for row in rows] == pytest.approx([1.01, 0.9, 2.0])
    told = "\n".join(figures.goals(rows))
    assert "92% of the copy's bandwidth: 1 of 2; below: a rows row 80%" in told
    assert "never under 0.97: 1 of 2; below: a rows row 0.90" in told
    assert "launch-bound, CUDA graph: 2.00 (goal 1.3)" in told


def test_attention_is_told_in_flops():
    rows = [record("attention", 2e-3, 1e-4, eager=3e-3, torch_compile=1.9e-3), record("rows", 1.0, 1.0)]
    rows[0].ceilings["flops"] = 4e11
    head, first, second = (line.split() for line in figures.table(rows))
    assert "TFLOP/s" in head and "200.0" in first and "200.0" not in second
    told = "\n".join(figures.goals(rows[:1]))
    assert "torch.compile / mlopt, attention: 0.95" in told
    assert "never under 0.97: 0 of 1; below: a attention row 0.95" in told


@pytest.mark.parametrize("name", ["attention-16384-64-bf16", "causal-attention-512-128-bf16"])
def test_attention_has_exact_results_and_flops(name):
    timed = TIMED[name]
    inputs = timed.inputs(Source(timed.dtype), tiny=True)
    exact = timed.exact(inputs)
    torch.testing.assert_close(exact, timed.function(*(each.double() for each in inputs)))
    batch, heads, tokens, width = timed.size
    assert batch * tokens == 16384 and heads * width == 2048
    pairs = tokens * (tokens + 1) // 2 if "causal" in name else tokens**2
    assert timed.flops(timed.size) == 2 * 2 * batch * heads * pairs * width


def test_what_multiplies_is_there():
    """The shapes, types and epilogues that figures are wanted for, in groups of eight minutes' rows."""
    sizes = {"4096x4096x4096", "8192x8192x8192", "16384x4096x4096", "4095x4097x4093"}
    epilogues = ("", "-relu", "-gelu", "-bias", "-residual")
    wanted = {
        f"product{epilogue}-{size}-{kind}"
        for epilogue in epilogues
        for size in sizes
        for kind in ("bf16", "f16")
    }
    layers = ("6144x4096", "4096x4096", "28672x4096", "4096x14336")
    wanted |= {
        f"linear{epilogue}-{tokens}x{layer}-bf16"
        for epilogue in epilogues for tokens in (1, 16, 128, 4096) for layer in layers
    }  # fmt: skip
    assert wanted <= TIMED.keys()
    groups = Counter(timed.group for timed in TIMED.values() if timed.flops is not None)
    assert groups["convolutions"] == 23 and groups["models"] == 6
    assert max(groups.values()) <= 24


def test_8_bit_floats_have_the_sizes_of_products():
    """Large ones and layers, each with a scale of each factor, and with one of each row."""
    sizes = {"4096x4096x4096", "8192x8192x8192"} | {
        f"{tokens}x{layer}"
        for tokens in (1, 16, 128, 4096)
        for layer in ("6144x4096", "4096x4096", "28672x4096", "4096x14336")
    }
    wanted = {f"{scales}-f8-{size}" for scales in ("scaled", "rows-scaled") for size in sizes}
    assert wanted == {name for name, timed in TIMED.items() if timed.group.endswith("-f8")}


@pytest.mark.parametrize("name", ["scaled-f8-1x6144x4096", "rows-scaled-f8-8192x8192x8192"])
def test_8_bit_floats_are_compiled_beside_scaled_mm(name):
    """torch._scaled_mm and ours are near a reference in float64, for sm_90a on the emulator."""
    timed = TIMED[name]
    with torch.inference_mode():
        found = Child(Job("emulator", "cuda:sm_90a", "", True, 3, 0.001)).row(name, 60.0)
    assert {peer: figure.problem for peer, figure in found.peers.items()} == {"eager": "", NAME: ""}
    rows, columns, depth = timed.tiny
    assert found.ceilings["flops"] == 2 * rows * columns * depth
    scales = rows + columns if name.startswith("rows") else 2
    assert found.ceilings["bytes"] == (rows + columns) * depth + 4 * scales + 2 * rows * columns


def test_convolutions_are_those_of_resnet50():
    """Each shape of ResNet-50 once: 53 convolutions, whose shapes are 23."""
    found, side, read = {(3, 64, 224, 7, 2)}, 56, 64
    for stage, (middle, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            found |= {(read, middle, side, 1, 1), (middle, middle, side, 3, stride)}
            if not block:
                found.add((read, 4 * middle, side, 1, stride))
            side //= stride
            found.add((middle, 4 * middle, side, 1, 1))
            read = 4 * middle
    assert {timed.size[1:] for timed in TIMED.values() if timed.group == "convolutions"} == found


@pytest.mark.parametrize("name", ["gpt2-1-128-bf16", "llama-1-512-bf16"])
def test_models_and_their_flops(name):
    """Weights are inputs, in the order in which the module has them; FLOPs as torch counts them."""
    timed = TIMED[name]
    inputs = timed.inputs(Source(timed.dtype), tiny=True)
    exact = timed.exact(inputs)
    assert error_of(timed.function(*inputs), exact, timed.dtype) < timed.largest_error
    empty = timed.inputs(Source(timed.dtype, empty=True), tiny=True)
    assert [(each.shape, each.dtype) for each in empty] == [(each.shape, each.dtype) for each in inputs]
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        timed.function(*inputs)
    batch, tokens, width = *timed.tiny[:2], timed.tiny[4 if "gpt2" in name else 2]
    masked = 2 * batch * tokens * (tokens - 1) * width  # torch counts keys that are masked, too
    assert counter.get_total_flops() == timed.flops(timed.tiny) + masked


@pytest.mark.parametrize(
    "name", ["product-residual-4095x4097x4093-f16", "linear-gelu-16x6144x4096-bf16", "conv-64-64-56-3-1-bf16"]
)
def test_products_have_flops(name):
    timed = TIMED[name]
    inputs = timed.inputs(Source(timed.dtype), tiny=True)
    with FlopCounterMode(display=False) as counter:
        timed.function(*inputs)
    assert counter.get_total_flops() == timed.flops(timed.tiny)


def test_a_group_has_a_share_of_the_time_for_each_row(monkeypatch, tmp_path):
    budgets = []

    class Asked(Fake):
        def __init__(self, *_):
            pass

        def ask(self, name, row, budget, patience):
            budgets.append(budget)
            return {"name": row, "title": row, "group": "", "threads": 1, "faults": True, "peers": {}}

    monkeypatch.setattr(run, "Process", Asked)
    rows = run.Rows(Job("gpu", "cuda:sm_80", "", False, 7, 0.02), tmp_path)
    deadline = run.Deadline(time.monotonic() + 480)
    names = run.parse(["--group", "linear-16"]).chosen
    assert len(names) == 20 and all(TIMED[name].group == "linear-16" for name in names)
    for number, name in enumerate(names):
        rows.record(name, deadline, len(names) - number)
    assert budgets[0] == pytest.approx(24, rel=0.1) and max(budgets) <= 60


BOUND_BY_MEMORY = [CHAINS, ROWS, OTHERS, LAUNCHES, GRAPHS]


@pytest.mark.parametrize("hangs", [(), ("relu-16384-f32", "rotary-bf16")])
def test_eight_minutes_are_enough_for_what_is_bound_by_memory(monkeypatch, tmp_path, hangs):
    """By a clock that each row moves by all it has and more, as one does whose compiler is interrupted."""
    now, done = 0.0, []

    class Slow:
        def __init__(self, *_):
            pass

        def ready(self, patience):
            nonlocal now
            now += min(25.0, patience)

        def close(self):
            pass

        def ask(self, _, row, budget, patience):
            nonlocal now
            now += min(patience, 600.0 if row in hangs else budget + 1.0)
            if row in hangs:
                raise PeerError("no answer")
            assert budget >= 3.0, "for eager, mlopt and a round of turns"
            done.append(row)
            return {"name": row, "title": row, "group": "", "threads": 1, "faults": True, "peers": {}}

    monkeypatch.setattr(run, "Process", Slow)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(run, "surroundings", lambda _: ("cuda:sm_90a", "a GPU", {}))
    options = run.parse(["--group", *BOUND_BY_MEMORY])
    kept = run.perform(options, tmp_path / "run.json")
    assert now <= 480
    assert len(kept.records) == len(options.chosen) == 61
    problems = {record.name: record.peers[NAME].problem for record in kept.records if record.peers}
    assert problems == dict.fromkeys(hangs, "no answer")
    assert done == [name for name in options.chosen if name not in hangs]


def test_a_row_ends_in_its_time_whatever_compiles(monkeypatch):
    def build(name, timed, inputs, where):
        while name == "slow":  # a compiler that goes on after whatever goes wrong
            with contextlib.suppress(Exception):
                time.sleep(60)
        return timed.function

    monkeypatch.setattr(peers, "names", lambda *_: ["eager", "slow", "last"])
    monkeypatch.setattr(peers, "build", build)
    torch._dynamo.reset()  # imported here, in seconds
    with torch.inference_mode():
        begin = time.perf_counter()
        found = Child(Job("emulator", "cuda:sm_80", "", True, 3, 0.001)).row("one-f32", 0.5)
        taken = time.perf_counter() - begin
    assert 0.4 < taken < 30  # of the 60 that the slow one sleeps
    problems = {name: figure.problem for name, figure in found.peers.items()}
    assert problems["eager"] == "" and found.peers["eager"].seconds > 0
    assert re.fullmatch(r"left out: its time was up, 0\.\d s after it began to compile", problems["slow"])
    assert problems["last"] == "left out: its time was up"
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_what_is_bound_by_memory_shares_eight_minutes():
    """Element-wise chains, rows, the others, and ten small kernels, with and without a CUDA graph."""
    chosen = run.parse(["--group", *BOUND_BY_MEMORY]).chosen
    assert chosen == [name for name, timed in TIMED.items() if timed.group in BOUND_BY_MEMORY]
    sides, widths, dtypes = (4096, 16384), (128, 1024, 4096, 32768), ("f32", "bf16")
    chains, rows = (
        ("relu", "sigmoid", "gelu", "residual"), ("softmax", "layer-norm", "rms-norm", "log-softmax")
    )  # fmt: skip
    wanted = {f"{name}-{side}-{dtype}" for name in chains for side in sides for dtype in dtypes}
    wanted |= {f"{name}-{width}-{dtype}" for name in rows for width in widths for dtype in dtypes}
    wanted |= {f"{name}-{dtype}" for name in ("column-sum", "transpose") for dtype in dtypes}
    wanted |= {f"{name}-f32" for name in ("cross-entropy", "normalize", "ten", "ten-graph")}
    wanted |= {f"{name}-bf16" for name in ("embedding", "swiglu", "rotary")}
    assert wanted <= set(chosen)
    assert TIMED["cross-entropy-f32"].size[1] >= 128_000


def test_without_a_gpu_nothing_is_timed(monkeypatch, tmp_path):
    def missing():
        raise DeviceError("there is no NVIDIA driver", remedy="install it")

    monkeypatch.setattr(driver, "driver", missing)
    with pytest.raises(
        SystemExit, match=r"nothing is timed: there is no NVIDIA driver(.|\n)*--device emulator"
    ):
        run.main(["--group", "models", "--output", str(tmp_path / "run.json")])
    assert not list(tmp_path.iterdir())


def test_bytes_are_the_least_that_is_moved():
    def moved(name):
        timed = TIMED[name]
        inputs = timed.inputs(Source(timed.dtype), tiny=True)
        return timed.bytes(inputs, timed.function(*inputs)), [each.numel() for each in inputs]

    size, (elements,) = moved("normalize-f32")
    assert size == 3 * 4 * elements
    size, (tokens, _) = moved("embedding-bf16")
    assert size == 8 * tokens + 2 * (tokens * 64 * 2)
    size, (elements, _) = moved("rms-norm-128-bf16")
    assert size == 2 * (2 * elements + 128)


def test_inputs_take_turns_beyond_the_cache():
    small, large = torch.empty(1 << 16), torch.empty(1 << 27, device="meta")
    assert 4 * 2**16 * sets_needed([small]) >= 2**24
    assert sets_needed([large]) == 2
    seen = []
    clock = Clock("cpu", [[1], [2], [3]])
    clock.turn(seen.append, 0.0)
    clock.host(seen.append)
    assert seen == [number % 3 + 1 for number in range(len(seen))]


def test_results_take_turns_beyond_the_cache():
    """As many are kept as there are inputs, unless these stay in the cache."""
    for sets, kept in ((3, 3), (64, 0)):
        made = []

        def call(x, made=made):
            result = torch.empty(1)
            made.append(weakref.ref(result))
            return result

        clock = Clock("cpu", [[number] for number in range(sets)])
        clock.host(call)
        assert sum(each() is not None for each in made) == kept


def test_wrong_results_have_an_error():
    exact = torch.tensor([1.0, -4.0], dtype=torch.float64)
    assert error_of(torch.tensor([1.5, -4.0]), exact, torch.float32) == pytest.approx(0.125)
    rows = torch.tensor([[1e-3] * 64, [1.0] * 64], dtype=torch.float64)
    got = rows.float()
    got[0, 5] = 1.1e-3
    assert error_of(got, rows, torch.float32) == pytest.approx(0.1, rel=1e-4)
    assert error_of(got.reshape(2, 8, 8), rows.reshape(2, 8, 8), torch.float32) == pytest.approx(
        0.1, rel=1e-4
    )
    assert error_of(torch.zeros(3, 64), torch.zeros(3, 64).double(), torch.float32) == 0
    for wrong in (torch.tensor([1.0, math.nan]), torch.tensor([1.0]), exact):
        assert error_of(wrong, exact, torch.float32) == math.inf


class Fake:
    """A process that dies in its second row."""

    started = 0

    def __init__(self, *_):
        Fake.started += 1
        self.asked = 0

    def ready(self, patience):
        assert patience > 0

    def close(self):
        pass

    def ask(self, name, row, budget, patience):
        self.asked += 1
        assert budget <= patience
        if self.asked == 2:
            raise PeerError("row: its process ended")
        return {"name": row, "title": row, "group": "rows", "threads": 1, "faults": True, "peers": {}}


def test_rows_for_which_no_time_is_left_are_named_and_a_dead_process_is_replaced(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "Process", Fake)
    rows = run.Rows(Job("gpu", "cuda:sm_80", "", False, 7, 0.02), tmp_path)
    later, now = run.Deadline(time.monotonic() + 1000), run.Deadline(time.monotonic() + 2)
    names = list(TIMED)[:4]
    found = [rows.record(name, deadline) for name, deadline in zip(names, [later] * 3 + [now], strict=True)]
    problems = [each.peers["mlopt"].problem if each.peers else "" for each in found]
    assert problems == ["", "row: its process ended", "", "left out: the time was up"]
    assert Fake.started == 2
    text = figures.text(Run("today", "a GPU", "events", {}, {}, records=found))
    assert f"no figure: {TIMED[names[3]].title}: mlopt: left out: the time was up" in text


def test_every_peer_has_its_turn():
    where = peers.Where("gpu", "cuda:sm_90a", None)
    assert peers.names(TIMED["relu-4096-f32"], where) == ["eager", "mlopt", "torch.compile", "max-autotune"]
    assert peers.names(TIMED["ten-graph-f32"], where)[2] == "reduce-overhead"


def test_a_row_on_the_emulator_from_a_prepared_text(tmp_path):
    folder = tmp_path / "texts"
    assert run.main(["--prepare", str(folder), "--tiny", "--only", "one-f32"]) == 0
    options = run.parse(["--from", str(folder), "--device", "emulator", "--tiny"])
    assert options.chosen == ["one-f32"]
    with torch.inference_mode():  # a child turns gradients off for good
        found = Child(Job("emulator", "cuda:sm_80", str(folder), True, 1, 0.0)).row("one-f32", 100.0)
    assert {name: figure.problem for name, figure in found.peers.items()} == {"eager": "", "mlopt": ""}
    assert all(figure.seconds > 0 and figure.error < 1e-6 for figure in found.peers.values())
    kept = Run("today", "the emulator", "wall", {}, {}, records=[found])
    kept.write(tmp_path / "run.json")
    assert "relu(x)·0.5+1" in figures.text(Run.read(tmp_path / "run.json"))
    assert json.loads((folder / "prepared.json").read_text())["rows"] == ["one-f32"]
    with pytest.raises(SystemExit):
        run.parse(["--from", str(folder), "--device", "emulator"])


def test_a_product_on_the_emulator_as_it_was_compiled_before(tmp_path):
    name, folder = "linear-bias-1x4096x4096-bf16", tmp_path / "built"
    flags = ["--prepare", str(folder), "--tiny", "--only", name, "--target", "cuda:sm_80"]
    assert run.main(flags) == 0
    assert pickle.loads((folder / f"{name}.built").read_bytes())["cubin"]
    with torch.inference_mode():
        found = Child(Job("emulator", "cuda:sm_80", str(folder), True, 1, 0.0)).row(name, 100.0)
    assert {name: figure.problem for name, figure in found.peers.items()} == {"eager": "", "mlopt": ""}
    assert found.ceilings["flops"] == 2 * 1 * 40 * 64
