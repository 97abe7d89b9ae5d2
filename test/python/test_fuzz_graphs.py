"""Random graphs, fused and with each op a kernel of its own, within the bound of docs/semantics.md.

A tenth as many have norms, attention and extremes in them. One in ten reads NaN, infinities and zeros of
both signs, too.

`make fuzz` runs more of them: MLOPT_FUZZ=N, from the seed MLOPT_FUZZ_FIRST on. MLOPT_TARGET and MLOPT_DEVICE
say what for, as everywhere: cuda:sm_80 and emulator, for example.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import mlopt
import numpy as np
import pytest
from mlopt.errors import MloptError
from mlopt.runtime import requests
from mlopt.runtime.arrays import numpy_dtype

from .fuzz.bound import difference
from .fuzz.composites import make_composites
from .fuzz.graphs import Array, Graph, Node, as_numbers_of, batch
from .fuzz.maker import DTYPES, SPECIAL_EVERY
from .fuzz.ops import make_graph
from .fuzz.shrink import smallest, used

GRAPHS = int(os.environ.get("MLOPT_FUZZ", "300"))
FIRST = int(os.environ.get("MLOPT_FUZZ_FIRST", "0"))
IN_A_MODULE = 50

Outcome = list[list[Array]] | str  # a graph's results at each call, or why there are none


def batches(count: int) -> Iterator[range]:
    """Seeds of graphs of one type, whose single ops are often the same kernels."""
    size = 2 * IN_A_MODULE
    for kind in range(len(DTYPES)):
        seeds = range(FIRST + kind, FIRST + max(count, 1), len(DTYPES))
        yield from (seeds[at : at + size] for at in range(0, len(seeds), size))


def run(graphs: Sequence[Graph]) -> list[Outcome]:
    """What each graph computes; those of a module that cannot be compiled or called are run by themselves."""
    made: list[list[list[Array]]] = [[] for _ in graphs]
    try:
        compiled = mlopt.compile_mlir(batch(graphs), cache=False)
        for call in range(max(graph.calls for graph in graphs)):
            called = compiled(*(each for graph in graphs for each in arrays(graph, call)))
            values = iter(called if isinstance(called, tuple) else (called,))
            for graph, results in zip(graphs, made, strict=True):
                results.append([next(values) for _ in graph.results])
    except MloptError as error:
        if len(graphs) == 1:
            return [str(error)]
        middle = len(graphs) // 2
        return [*run(graphs[:middle]), *run(graphs[middle:])]
    return [results[: graph.calls] for graph, results in zip(graphs, made, strict=True)]


def arrays(graph: Graph, call: int) -> list[Array]:
    return [array.astype(numpy_dtype(graph.element)) for array in graph.inputs_of(call)]


def run_all(graphs: Sequence[Graph]) -> list[Outcome]:
    """Two modules side by side."""
    with ThreadPoolExecutor(2) as threads:
        parts = [graphs[:IN_A_MODULE], graphs[IN_A_MODULE:]]
        return [outcome for outcomes in threads.map(run, filter(None, parts)) for outcome in outcomes]


def problem(graph: Graph, outcome: Outcome) -> str | None:
    if isinstance(outcome, str):
        return outcome
    wrong = (difference(graph, call, results) for call, results in enumerate(outcome))
    return next(filter(None, wrong), None)


def fails(graph: Graph) -> bool:
    return problem(graph, run([graph])[0]) is not None


def check(graphs: Sequence[Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what each computes, fused and unfused, with what it must be."""
    failures: list[str] = []
    for how in ("fused", "unfused"):
        if how == "unfused":
            monkeypatch.setattr(requests, "_COMPILE", "mlopt.test.python.unfused:compile_text")
            monkeypatch.setattr(requests, "_COMPILE_CUDA", "mlopt.test.python.unfused:compile_text_for_gpu")
        for graph, outcome in zip(graphs, run_all(graphs), strict=True):
            what = problem(graph, outcome)
            if what:
                # One is made small: each trial is a compilation, and what breaks all graphs would take hours.
                text = "" if failures else batch([smallest(graph, fails)])
                failures.append(f"{how}, make fuzz FIRST={graph.seed} GRAPHS=1\n{what}\n{text}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("seeds", list(batches(GRAPHS)), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_graphs(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check([make_graph(seed) for seed in seeds], monkeypatch)


@pytest.mark.parametrize("seeds", list(batches(GRAPHS // 10)), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_composites(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check([make_composites(seed) for seed in seeds], monkeypatch)


def test_what_is_wrong_is_said() -> None:
    graph = make_graph(1)
    (outcome,) = run([graph])
    assert not isinstance(outcome, str)
    right = outcome[0]
    assert difference(graph, 0, right) is None
    wrong = [right[0] + right[0].dtype.type(1), *right[1:]]
    assert "result 0 is wrong in" in str(difference(graph, 0, wrong))
    assert "shape" in str(difference(graph, 0, [right[0][None], *right[1:]]))


def test_what_is_no_number_belongs_in_its_places() -> None:
    seen = set()
    for seed in range(0, 100, SPECIAL_EVERY):
        graph = make_graph(seed)
        right = graph.evaluate(0, np.float32, lambda value, graph=graph: as_numbers_of(graph.element, value))
        assert difference(graph, 0, right) is None
        for name, is_there in (("nan", np.isnan), ("inf", np.isinf), ("finite", np.isfinite)):
            if is_there(right[0]).any():
                seen.add(name)
                other = np.where(is_there(right[0]), 0.0 if name == "nan" else np.nan, right[0])
                assert "result 0 is wrong in" in str(difference(graph, 0, [other, *right[1:]]))
    assert seen == {"nan", "inf", "finite"}


def test_a_graph_that_cannot_be_compiled_spoils_no_other() -> None:
    graphs = [make_graph(seed) for seed in range(3)]
    graphs[1].nodes.append(Node((2,), (), np.zeros, lambda out: f"  {out} = nonsense"))
    outcomes = run(graphs)
    assert [isinstance(outcome, str) for outcome in outcomes] == [False, True, False]
    assert "nonsense" in str(outcomes[1])


def test_the_smallest_part_is_the_op_that_fails() -> None:
    graphs = (used(make_graph(seed)) for seed in range(100))
    graph = max((each for each in graphs if "math.exp" in each.text()), key=lambda each: len(each.nodes))
    part = smallest(graph, lambda part: "math.exp" in part.text())
    assert len(part.results) == 1
    assert sum(node.function is not None for node in part.nodes) == 1
    assert not fails(part)


def test_there_are_graphs_of_all_kinds() -> None:
    graphs = [make_graph(seed) for seed in range(300)]
    assert sum(graph.calls > 1 for graph in graphs) >= 30
    assert sum(any(max(size.calls) > 250 for size in node.shape) for g in graphs for node in g.nodes) >= 60
    assert sum(max(_unknown_and_reduced(graph.text()), default=0) > 1 for graph in graphs) >= 10
    words = ("batch_matmul", "concat", "pad", "extract_slice", "expand_shape", "collapse_shape", "transpose")
    assert all(sum(word in graph.text() for graph in graphs) >= 20 for word in words)


def _unknown_and_reduced(text: str) -> Iterator[int]:
    """How many dims of unknown length each reduction of one tensor is over."""
    for kinds, shape in re.findall(r"iterator_types = \[(.*?)\]} ins\(%\w+ : tensor<(.*?)>", text):
        dims = zip(kinds.split(", "), shape.split("x"), strict=False)
        yield sum(dim == ('"reduction"', "?") for dim in dims)
