"""The front end: the graph that is written down computes what eager does, and lowers as FxImporter's."""

import operator
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
import torch
from mlopt.frontends.decompositions import decomposed, decomposition_table
from mlopt.frontends.graph_code import code_on_demand
from mlopt.frontends.torch import capture
from mlopt.test.corpus import CASES, DEMO
from mlopt.test.corpus.basic import Function
from mlopt.test.python.frontend_graphs import as_user_sees, assert_close, run_graph
from torch import nn
from torch.utils import _pytree as pytree

HERE = Path(__file__).parent
# All other dtypes go through the whole compiler in test_corpus.py.
VARIANTS = [
    (name, dtype)
    for name, case in CASES.items()
    for dtype in case.dtypes
    if dtype in (case.dtypes[0], torch.bfloat16, torch.uint8)
]


@pytest.mark.parametrize("name,dtype", VARIANTS, ids=[f"{n}-{str(d)[6:]}" for n, d in VARIANTS])
def test_graph_computes_what_eager_does(monkeypatch, name, dtype):
    case = CASES[name]
    program, results = run_graph(monkeypatch, case.module(dtype), case.inputs(dtype))
    eager = pytree.tree_leaves(case.module(dtype)(*case.inputs(dtype)))
    wide = torch.float64 if dtype.is_floating_point else dtype
    inputs = [t.to(wide) if t.is_floating_point() else t for t in case.inputs(dtype)]
    exact = pytree.tree_leaves(case.module(dtype).to(wide)(*inputs) if wide != dtype else eager)
    for output, leaf, expected, reference in zip(
        program.outputs, as_user_sees(program, results), eager, exact, strict=True
    ):
        assert_close(leaf, expected, reference)
        if output.dense:
            assert leaf.stride() == expected.stride()


@pytest.mark.parametrize("name", ["mlp", "attention_masked", "pools", "llama_block"])
def test_decomposed_as_by_run_decompositions(name):
    case = CASES[name]
    exported = torch.export.export(case.module(), case.inputs(), strict=False)
    assert str(decomposed(exported).graph) == str(exported.run_decompositions(decomposition_table()).graph)


def test_a_composite_op_that_is_registered_after_another_capture():
    capture(nn.ReLU(), [torch.randn(3)])
    with torch.library._scoped_library("mlopt_late", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x.relu() + x.relu(), "CompositeImplicitAutograd")
        program = capture(Function(lambda x: torch.ops.mlopt_late.twice(x)), [torch.randn(3)])
    assert [op for op, _ in program.ops] == ["aten.relu.default", "aten.relu.default", "aten.add.Tensor"]


def test_graphs_have_code_once_it_is_asked_for():
    with code_on_demand():
        graph = torch.fx.symbolic_trace(lambda x: x + 3)
        (node,) = (node for node in graph.graph.nodes if node.target is operator.add)
        node.target = operator.mul
        graph.recompile()
    assert "_code" not in vars(graph)
    assert "x * 3" in graph.code
    assert graph(torch.tensor(5)) == 15


def test_text_lowers_like_fx_importer():
    script = [sys.executable, "-P", "-W", "ignore", str(HERE / "fx_importer_reference.py")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[:-1] == []
    assert int(lines[-1].removeprefix("compared: ")) > 80


SPECIAL = torch.tensor(
    [[1.0, float("nan"), 3.0], [float("-inf")] * 3, [float("inf"), 1.0, -0.0], [1e-42, 2.0, 2.0]]
)
ROW_FUNCTIONS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "argmax": lambda x: (x.argmax(1), x.argmin(1), x.argmax()),
    "max": lambda x: (x.max(1).values, x.max(1).indices, x.min(0).values, x.min(0).indices),
    "sort": lambda x: (
        x.sort(1).values,
        x.sort(dim=1, descending=True, stable=True).indices,
        x.topk(2, 1).values,
    ),
    "reciprocal": lambda x: (1 / x, x.rsqrt(), x**-2, x**-1, x**0.5, x**3),
    "compare": lambda x: (x == 0.1, x > 2, x != x, x <= float("inf")),
    "clamp": lambda x: (x.clamp(-1, 1), torch.relu(x), x.maximum(x.new_tensor(2.0)), x.amax(1)),
    "var": lambda x: (x.var(1), x[:, :1].var(1), x.std(0, correction=0)),
    "cumsum": lambda x: x.cumsum(1),
    "scatter": lambda x: x.scatter(1, torch.tensor([[0], [2], [1], [1]]), x[:, :1]),
    "index_add": lambda x: x.index_add(0, torch.tensor([0, 3, 0]), x[:3]),
    "mask": lambda x: torch.index_put(x, (x > 1,), torch.tensor(7.0)),
}


@pytest.mark.parametrize("name", ROW_FUNCTIONS)
def test_special_values(monkeypatch, name):
    class Module(nn.Module):
        def forward(self, x):
            return ROW_FUNCTIONS[name](x)

    program, results = run_graph(monkeypatch, Module(), (SPECIAL,))
    eager = pytree.tree_leaves(Module()(SPECIAL))
    exact = pytree.tree_leaves(Module()(SPECIAL.double()))
    for leaf, expected, reference in zip(as_user_sees(program, results), eager, exact, strict=True):
        assert_close(leaf, expected, reference)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_shifts_of_the_width_and_more(monkeypatch, dtype):
    class Module(nn.Module):
        def forward(self, x, n):
            bits = torch.arange(8, dtype=x.dtype)
            return x << n, x >> n, x << 3, x >> 2, x[:, None] >> bits, 1 << bits, 100 >> bits

    x = torch.tensor([-9, 9, 100, -1, 77, 5]).to(dtype)
    n = torch.tensor([3, 64, 8, 63, -1, 31]).to(dtype)
    program, results = run_graph(monkeypatch, Module(), (x, n))
    for leaf, expected in zip(as_user_sees(program, results), Module()(x, n), strict=True):
        assert torch.equal(leaf, expected)


@pytest.mark.parametrize("name", DEMO)
def test_capture_of_the_demo_is_quick(name):
    case = DEMO[name]
    module, inputs = case.module(), case.inputs()
    capture(module, inputs)
    start = time.process_time()
    program = capture(module, inputs)
    assert time.process_time() - start < 10
    assert len(program.text) < 300_000
    assert sum(numpy.prod(weight.tensor.shape) for weight in program.weights) > 7e6


@pytest.mark.parametrize("name", ["graph", "partition", "torch"])
def test_ways_in_may_be_imported_first(name):
    done = subprocess.run(
        [sys.executable, "-c", f"import mlopt.frontends.{name}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
