"""The front end: what a captured program says, that its graph computes what eager does, and its errors."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
import torch
from mlopt.errors import CompileError, UnsupportedOpError
from mlopt.frontends import torch as frontend
from mlopt.frontends.torch import capture
from mlopt.runtime.pool import Pool
from mlopt.test.corpus import CASES, DEMO
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
DYNAMIC = [name for name, case in CASES.items() if case.dynamic]


def line_of(text):
    """``file:line`` of the line in this file that ends with the comment ``# text``."""
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{next(i for i, line in enumerate(lines, 1) if line.endswith('# ' + text))}"


@pytest.fixture(scope="module")
def pool():
    with_workers = Pool()
    yield with_workers
    with_workers.shutdown()


def import_text(pool, program):
    return pool.call(
        "import",
        "mlopt.frontends.importer:import_text",
        torch_text=program.text,
        weights=program.weight_positions,
        timeout=120,
    )


# --- the graph that is written down computes what eager computes


class Interpreter(torch.fx.Interpreter):
    """Runs a graph in eager, with the ops that only our text has."""

    def call_function(self, target, args, kwargs):
        aten, prims = torch.ops.aten, torch.ops.prims
        if target in (aten.mm.dtype, aten.bmm.dtype):
            return args[0].float() @ args[1].float()
        if target is prims.shift_left.default:
            return torch.bitwise_left_shift(*args)
        if target is prims.shift_right_arithmetic.default:
            return torch.bitwise_right_shift(*args)
        return super().call_function(target, args, kwargs)


def run_graph(monkeypatch, module, inputs, shapes=None):
    """(program, its results by interpreting the graph)."""
    graphs = []
    write = frontend.graph_to_text
    monkeypatch.setattr(frontend, "graph_to_text", lambda g, sizes=(): (graphs.append(g), write(g, sizes))[1])
    program = capture(module, inputs, shapes)
    graph = graphs[0]
    interpreter = Interpreter(graph.owning_module, graph=graph)
    return program, interpreter.run(*inputs, *[weight.tensor for weight in program.weights])


def as_user_sees(program, results):
    """The leaves of what the module returns, from the function's results."""
    leaves = []
    for output in program.outputs:
        if output.kind != "result":
            leaves.append(output.value)
            continue
        buffer = results[output.result].contiguous().clone()
        if output.dense:
            leaves.append(buffer.as_strided(output.shape, output.strides))
        else:
            leaves.append(buffer)
    return leaves


def assert_close(actual, eager, exact):
    """At most twice eager's own error, or 1e-5 of the largest value (in f64: 1e-14)."""
    assert actual.dtype == eager.dtype
    assert actual.shape == eager.shape
    if not eager.is_floating_point():
        assert torch.equal(actual, eager)
        return
    assert torch.equal(actual.isnan(), eager.isnan())
    infinite = eager.isinf()
    assert torch.equal(actual[infinite], eager[infinite])
    finite = eager.isfinite()
    if not finite.any():
        return
    exact = exact.double()[finite]
    ours, theirs = ((t.double()[finite] - exact).abs().max().item() for t in (actual, eager))
    slack = (1e-14 if eager.dtype == torch.float64 else 1e-5) * exact.abs().max().item()
    assert ours <= max(2 * theirs, slack)


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


def test_text_lowers_like_fx_importer():
    script = [sys.executable, "-P", "-W", "ignore", str(HERE / "fx_importer_reference.py")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[:-1] == []
    assert int(lines[-1].removeprefix("compared: ")) > 80


# --- special values, which decompositions get wrong first


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
            return x << n, x >> n, x << 3, x >> 2

    x = torch.tensor([-9, 9, 100, -1, 77, 5]).to(dtype)
    n = torch.tensor([3, 64, 8, 63, -1, 31]).to(dtype)
    program, results = run_graph(monkeypatch, Module(), (x, n))
    for leaf, expected in zip(as_user_sees(program, results), Module()(x, n), strict=True):
        assert torch.equal(leaf, expected)


# --- what a program says


def test_weights_are_live_and_tied_ones_passed_once():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3, bias=False)
            self.b = nn.Linear(3, 3)
            self.b.weight = self.a.weight
            self.unused = nn.Parameter(torch.ones(2))
            self.register_buffer("kept", torch.ones(3))
            self.register_buffer("dropped", torch.ones(3), persistent=False)
            self.plain = torch.ones(3)

        def forward(self, x):
            return self.b(self.a(x)) + self.kept * self.dropped - self.plain

    module = Module()
    program = capture(module, (torch.randn(2, 3),))
    kinds = {weight.name: weight.kind for weight in program.weights}
    assert kinds == {
        "a.weight": "parameter",
        "b.bias": "parameter",
        "kept": "buffer",
        "dropped": "buffer",
        "plain": "constant",
    }
    assert program.weights[0].names == ("a.weight", "b.weight")
    tensors = {weight.name: weight.tensor for weight in program.weights}
    assert tensors["a.weight"] is module.a.weight
    assert tensors["dropped"] is module.dropped
    assert tensors["plain"] is module.plain
    assert program.weight_positions == [1, 2, 3, 4, 5]


def test_structure_constants_and_aliases():
    class Module(nn.Module):
        def forward(self, x, pair, factor=2.0, flag=None):
            y = x * factor + pair["a"][0]
            return {"y": y, "t": y.t(), "same": x, "view": x[1:], "none": flag, "number": 3, "again": y}

    x, other = torch.randn(2, 3), torch.randn(3)
    program = capture(Module(), (x, {"a": [other]}), example_kwargs={"factor": 4.0})
    assert [leaf.position for leaf in program.inputs] == [0, 1]
    assert program.constants == {2: 4.0}
    outputs = dict(zip(["y", "t", "same", "view", "none", "number", "again"], program.outputs, strict=True))
    assert outputs["y"].result == outputs["again"].result
    assert outputs["t"].strides == (1, 3)
    assert outputs["t"].alias.kind == "output"
    assert (outputs["same"].alias.kind, outputs["same"].alias.same) == ("input", True)
    assert (outputs["view"].alias.index, outputs["view"].alias.same) == (0, False)
    assert outputs["none"].kind == outputs["number"].kind == "constant"
    assert outputs["number"].value == 3
    rebuilt = pytree.tree_unflatten([0] * 7, program.out_spec)
    assert list(rebuilt) == list(outputs)


def test_aliases_count_the_weights_that_are_passed():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.ones(3))
            self.used = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x + 1, self.used

    program = capture(Module(), (torch.randn(3),))
    assert [weight.name for weight in program.weights] == ["used"]
    alias = program.outputs[1].alias
    assert (alias.kind, alias.index, alias.same) == ("weight", 0, True)


def test_mutations_are_leading_results():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(x.sum(0))
            x.mul_(2)
            return self.count + x

    program = capture(Module(), (torch.randn(2, 3),))
    assert [(m.result, m.kind, m.index) for m in program.mutations] == [(0, "weight", 0), (1, "input", 0)]
    assert program.outputs[0].result == 2
    assert len(program.results) == 3


def test_transposed_outputs_are_written_in_memory_order(pool):
    class Module(nn.Module):
        def forward(self, x):
            return (x + 1).permute(2, 0, 1), (x * 2)[:, ::2]

    program = capture(Module(), (torch.randn(2, 3, 5),))
    assert program.outputs[0].shape == (5, 2, 3)
    assert program.outputs[0].strides == (1, 15, 5)
    assert program.results[0].sizes == (2, 3, 5)
    assert not program.outputs[1].dense
    assert "linalg.transpose" not in import_text(pool, program)


@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_batch(monkeypatch, pool, name):
    case = CASES[name]
    dtype = case.dtypes[0]
    program, _ = run_graph(monkeypatch, case.module(dtype), case.inputs(dtype), case.dynamic_shapes())
    assert None in program.inputs[0].shape
    sizes = [size for result in program.results for size in result.sizes if isinstance(size, str)]
    assert sizes
    text = import_text(pool, program)
    assert "tensor<?x" in text
    assert re.search(r"mlopt.result_sizes = \[([^]]*)\]", text)[1].split(", ") == [f'"{s}"' for s in sizes]


def test_sizes_of_results_are_expressions():
    class Module(nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y]).reshape(-1, 2), x.reshape(-1), x.shape[0]

    batch, other = torch.export.Dim("batch"), torch.export.Dim("other", max=64)
    program = capture(Module(), (torch.randn(3, 4), torch.randn(5, 4)), ({0: batch}, {0: other}))
    values = {"a0_0": 7, "a1_0": 9}
    assert eval(program.results[0].sizes[0], values) == (7 + 9) * 2
    assert eval(program.results[1].sizes[0], values) == 28
    assert (program.outputs[2].kind, program.outputs[2].value) == ("size", "a0_0")
    assert program.inputs[1].ranges[0][1] == 64


def test_equal_sizes_are_said_to_be_equal():
    class Module(nn.Module):
        def forward(self, x, y):
            return x + y

    batch = torch.export.Dim("batch")
    program = capture(Module(), (torch.randn(3, 4), torch.randn(3, 4)), ({0: batch}, {0: batch}))
    assert program.inputs[1].sizes == ("a0_0", 4)


def test_inputs_that_require_grad_are_marked():
    program = capture(nn.ReLU(), (torch.randn(3, requires_grad=True),))
    assert program.inputs[0].requires_grad


def test_ops_come_with_their_lines():
    class Module(nn.Module):
        def forward(self, x):
            return torch.tanh(x)  # a line with an op

    program = capture(Module(), (torch.randn(3),))
    assert program.ops == (("aten.tanh.default", line_of("a line with an op")),)


# --- what the import worker returns


def test_weights_are_marked_and_lines_kept(pool):
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return torch.tanh(x * self.w)  # a line of linalg

    text = import_text(pool, capture(Module(), (torch.randn(2, 3),)))
    assert re.search(r"%arg0: tensor<2x3xf32> loc.*%arg1: tensor<3xf32> \{mlopt.weight\}", text)
    file, line = line_of("a line of linalg").rsplit(":", 1)
    assert f'loc("{file}":{line}:0)' in text


def test_no_mlir_in_the_users_process():
    script = (
        "import sys, torch, mlopt\nfrom mlopt.frontends.torch import capture\n"
        "capture(torch.nn.ReLU(), (torch.ones(3),))\n"
        "assert not {'mlir', 'torch_mlir'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, capture_output=True)


def test_no_torch_in_the_import_worker():
    script = (
        "import sys\nimport mlopt.frontends.importer\n"
        "assert 'torch' not in sys.modules and 'mlir' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# --- what cannot be compiled


def test_complex_is_a_named_error():
    class Module(nn.Module):
        def forward(self, x):
            return torch.view_as_complex(x.reshape(-1, 2)).abs()  # complex numbers

    with pytest.raises(UnsupportedOpError, match="complex64") as caught:
        capture(Module(), (torch.randn(4),))
    assert caught.value.where == line_of("complex numbers")


def test_complex_input_is_a_named_error():
    with pytest.raises(UnsupportedOpError, match="complex64"):
        capture(nn.Identity(), (torch.randn(4, dtype=torch.complex64),))


def test_unknown_ops_are_listed_with_their_lines(pool):
    class Module(nn.Module):
        def forward(self, x):
            y = torch.special.i0e(x)  # the first unknown op
            return torch.special.bessel_j1(y)  # the second unknown op

    with pytest.raises(UnsupportedOpError) as caught:
        import_text(pool, capture(Module(), (torch.randn(3, 3),)))
    message = str(caught.value)
    assert f"aten.special_i0e at {line_of('the first unknown op')}" in message
    assert f"aten.special_bessel_j1 at {line_of('the second unknown op')}" in message


def test_ops_that_fail_to_lower_are_found_one_by_one(pool):
    class Module(nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            return torch.linalg.qr(y)[0] + 1  # known to torch-mlir, but not lowered

    with pytest.raises(UnsupportedOpError, match=r"cannot compile aten\.linalg_qr") as caught:
        import_text(pool, capture(Module(), (torch.randn(3, 3),)))
    assert caught.value.where == line_of("known to torch-mlir, but not lowered")


def test_random_ops_are_named_unless_in_evaluation():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.dropout = nn.Dropout(0.5)

        def forward(self, x):
            return self.dropout(x)  # drops

    capture(Module().eval(), (torch.randn(3),))
    with pytest.raises(UnsupportedOpError, match="random") as caught:
        capture(Module().train(), (torch.randn(3),))
    assert caught.value.where == line_of("drops")


def test_data_dependent_control_flow():
    class Module(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(CompileError, match="torch\\.export cannot trace Module"):
        capture(Module(), (torch.randn(3),))


def test_data_dependent_sizes():
    class Module(nn.Module):
        def forward(self, x):
            return x.nonzero()

    with pytest.raises(UnsupportedOpError, match="depends on data"):
        capture(Module(), (torch.randn(3),))


# --- time


@pytest.mark.parametrize("name", DEMO)
def test_capture_of_the_demo_is_quick(name):
    case = DEMO[name]
    module, inputs = case.module(), case.inputs()
    capture(module, inputs)
    start = time.perf_counter()
    program = capture(module, inputs)
    assert time.perf_counter() - start < 10
    assert len(program.text) < 300_000
    assert sum(numpy.prod(weight.tensor.shape) for weight in program.weights) > 7e6
