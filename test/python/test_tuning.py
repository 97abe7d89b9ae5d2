"""tune=True: which schedule is taken, that it is remembered, what is said where nothing can be measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlopt
import pytest
import torch
from mlopt.errors import CompileError
from mlopt.runtime import cache, cache_key, tuning
from mlopt.tools import explain, explain_text
from mlopt.tools.programs import compile_source

SIZES = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
CHECKED = """
func.func @main(%n: tensor<1xi64>, %x: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %zero = arith.constant 0 : index
  %none = arith.constant 0 : i64
  %count = tensor.extract %n[%zero] : tensor<1xi64>
  %some = arith.cmpi sgt, %count, %none : i64
  cf.assert %some, "ValueError: nothing is asked for"
  %y = math.exp %x : tensor<1000x1000xf32>
  return %y : tensor<1000x1000xf32>
}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "code_version_now", cache_key.code_version)
    monkeypatch.setattr(tuning, "_SECONDS", 0.1)


def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w).softmax(-1)


def schedules(compiled: mlopt.Compiled) -> dict[str, str]:
    return {kernel.name: kernel.schedule for kernel in compiled.kernels}


def test_the_fastest_is_taken_kernel_by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = torch.randn(3000, 65), torch.randn(65, 333) / 20
    seen: list[dict[str, float]] = []
    measure = tuning._times

    def times(*args: Any) -> list[dict[str, float]]:
        found = measure(*args)
        assert all(seconds > 0 for each in found for seconds in each.values())
        first, second = found[0]
        seen[:] = [{first: 9.0, second: 1.0} for _ in found]
        seen[1] = {first: 1.0, second: 0.98}  # too little for the second
        return seen

    monkeypatch.setattr(tuning, "_times", times)
    model, tuned = mlopt.jit(layer, x, w), mlopt.jit(layer, x, w, tune=True)
    first, second = seen[0]
    other = mlopt.jit(layer, x, w, cache=False, passes=["mlopt-schedule{choices=1} after mlopt-schedule"])
    assert schedules(tuned)[first] == schedules(other)[first] != schedules(model)[first]
    assert schedules(tuned)[second] == schedules(model)[second] != schedules(other)[second]
    torch.testing.assert_close(tuned(x, w), layer(x.double(), w.double()).float())


def test_explain_shows_what_won_if_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module through mlopt.jit, and a text: what is kept of them is found, its schedules are shown."""
    python, mlir = tmp_path / "scaled.py", tmp_path / "scaled.mlir"
    python.write_text(
        "import torch\n\ndef make():\n"
        "    return (lambda x, w: torch.relu(x @ w).softmax(-1)), torch.ones(3000, 65), torch.ones(65, 333)\n"
    )
    mlir.write_text(SIZES.replace("?", "1000000"))
    sources = f"{python}:make", str(mlir)

    measure = tuning._times

    def first_wins(*args: Any) -> list[dict[str, float]]:
        times = [dict.fromkeys(each, 9.0) for each in measure(*args)]
        times[1][next(iter(times[1]))] = 1.0
        return times

    for source in sources:
        assert explain.explain(source, "main", machine="cpu").tuning.choices is None
    monkeypatch.setenv("MLOPT_TUNE", "1")
    for source in sources:
        told = explain_text.text(explain.explain(source, "main", machine="cpu"))
        assert "schedules are the cost model's: tune=True has kept no measurement of this program" in told
    monkeypatch.setattr(tuning, "_times", first_wins)
    for source in sources:
        compiled = compile_source(source, "main")
        first = next(iter(schedules(compiled)))
        with monkeypatch.context() as as_usual:
            as_usual.delenv("MLOPT_TUNE")
            usual = explain.explain(source, "main", machine="cpu")
        tuned = explain.explain(source, "main", machine="cpu")
        assert usual.as_dict()["tuning"] == {"asked": False, "choices": {first: 1}}
        assert tuned.as_dict()["tuning"] == {"asked": True, "choices": {first: 1}}
        assert f"which MLOPT_TUNE=1 shows: {first}:1" in explain_text.text(usual)
        assert f"measured as fastest; not the cost model's: {first}:1" in explain_text.text(tuned)
        shown = [{each.name: dict(each.schedule) for each in one.kernels} for one in (usual, tuned)]
        assert shown[1].pop(first) != shown[0].pop(first)
        assert shown[1] == shown[0]


def test_what_won_is_remembered_for_this_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(700, 300)

    def squares(x: torch.Tensor) -> torch.Tensor:
        return (x * x).sum(-1)

    counted: list[int] = []
    measure = tuning.tuned

    def tuned(*args: Any) -> dict[str, Any]:
        counted.append(1)
        return measure(*args)

    monkeypatch.setattr(tuning, "tuned", tuned)
    threads = torch.get_num_threads()
    for number, measured in ((1, 1), (1, 1), (2, 2), (1, 2)):
        torch.set_num_threads(number)
        compiled = mlopt.jit(squares, x, tune=True)
        assert len(counted) == measured
    torch.set_num_threads(threads)
    torch.testing.assert_close(compiled(x), squares(x.double()).float())


def test_a_layer_with_weights_indices_and_bf16() -> None:
    torch.manual_seed(0)
    table, linear = torch.nn.Embedding(50, 65), torch.nn.Linear(65, 72).bfloat16()

    class Lookup(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.linear = table, linear

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(self.table(tokens).bfloat16())) * mask

    tokens, mask = torch.randint(0, 50, (70,)), torch.rand(70, 1) > 0.3
    with torch.no_grad():
        made = mlopt.jit(Lookup(), tokens, mask, tune=True)(tokens, mask)
        wanted = torch.relu(linear.double()(table(tokens).bfloat16().double())) * mask
    torch.testing.assert_close(made.double(), wanted, atol=2e-2, rtol=2e-2)


@pytest.mark.filterwarnings("error")  # such as that it was not measured
def test_sizes_of_examples_are_measured() -> None:
    x = torch.randn(900, 257)
    compiled = mlopt.jit(torch.nn.ReLU(), x, dynamic_shapes=({0: torch.export.Dim("rows")},), tune=True)
    torch.testing.assert_close(compiled(x[:5]), torch.relu(x[:5]), atol=0, rtol=0)


@pytest.mark.parametrize(
    ("text", "why"),
    [(SIZES, "sizes are known at the call only"), (CHECKED, "ValueError: nothing is asked for")],
)
def test_what_cannot_be_measured_is_said(text: str, why: str) -> None:
    with pytest.warns(UserWarning, match=f"tune=True did not measure a program: .*{why}"):
        mlopt.compile_mlir(text, tune=True)


@pytest.mark.parametrize("options", [{}, {"target": "cuda:sm_80"}])
def test_only_this_processor_is_measured(options: dict[str, Any]) -> None:
    with pytest.raises(
        CompileError, match="tune=True measures on this CPU, and the program is for x86-64-v3"
    ):
        mlopt.compile_mlir(SIZES, tune=True, cpu="x86-64-v3", **options)


def test_through_torch_compile() -> None:
    x = torch.randn(300, 129)
    torch._dynamo.reset()
    compiled = torch.compile(torch.nn.Linear(129, 65).eval(), backend="mlopt", options={"tune": True})
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), compiled._orig_mod(x))
