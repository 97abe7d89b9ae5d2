"""What stays in eager, and the report: unsupported ops, random ops, graph breaks, recompilations."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from mlopt import graph_module
from mlopt.backend import report
from mlopt.errors import MloptError
from mlopt.frontends.graph import capture_graph
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def line_of(function, offset):
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno + offset}"


def test_an_unsupported_op_runs_in_eager_and_is_reported():
    def function(x, y):
        x = torch.relu(x @ y)
        x = torch.special.bessel_j0(x) + torch.special.bessel_j0(x + y)
        return (x * 2).softmax(-1) @ y

    x, y = torch.randn(5, 5), torch.randn(5, 5)
    with pytest.warns(UserWarning, match=r"special_bessel_j0.default and 1 more .* in eager"):
        got = torch.compile(function, backend="mlopt")(x, y)
    torch.testing.assert_close(got, function(x, y), rtol=1e-4, atol=1e-5)
    (graph,) = report().graphs
    assert {op.name for op in graph.eager} == {"aten.special_bessel_j0.default"}
    assert graph.eager[0].line == line_of(function, 2)
    assert 0.7 < graph.coverage < 1
    assert len(graph.units) == 2
    assert "in eager: aten.special_bessel_j0.default at" in str(report())


def test_a_view_that_cannot_be_compiled_is_blamed_and_not_its_reader():
    def function(x, part):
        part.add_(1)
        return torch.exp(x.as_strided((2, 2), (1, 2), 1).t()) * x[0]

    x, y = torch.arange(6.0), torch.arange(6.0)
    torch.testing.assert_close(torch.compile(function, backend="mlopt")(x, x[1:4]), function(y, y[1:4]))
    torch.testing.assert_close(x, y)
    names = {op.name for op in report().eager}
    assert names == {"aten.as_strided.default", "aten.as_strided_scatter.default"}


def test_arithmetic_of_sizes_is_named():
    def function(x):
        return x.var(-1, unbiased=False) * x.shape[1]

    compiled = torch.compile(function, backend="mlopt", dynamic=True)
    for rows, columns in ((9, 5), (3, 7)):
        x = torch.randn(rows, columns)
        ours, eager = (x.clone().requires_grad_() for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            compiled(ours).sum().backward()
        function(eager).sum().backward()
        torch.testing.assert_close(ours.grad, eager.grad)
    assert {"sym_float", "truediv"} <= {op.name for op in report().eager}


def test_without_fallback_it_is_an_error():
    def function(x):
        return torch.special.bessel_j0(x) + 1

    with pytest.raises(Exception, match="special_bessel_j0") as caught:
        torch.compile(function, backend="mlopt", options={"fallback": False})(torch.eye(4))
    assert isinstance(caught.value.inner_exception, MloptError)


def test_ops_with_effects_keep_their_order():
    def function(x):
        return torch.linalg.inv(x + 1) * 2

    fast = torch.compile(function, backend="mlopt")
    x = torch.randn(5, 5)
    with pytest.warns(UserWarning, match="in eager"):
        torch.testing.assert_close(fast(x), function(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(torch.linalg.LinAlgError):
        fast(-torch.ones(5, 5))


def test_complex_numbers_run_in_eager():
    def function(x):
        y = torch.fft.rfft(x.tanh())
        return torch.view_as_real(y).sum(-1) * 2

    x = torch.randn(3, 16)
    with pytest.warns(UserWarning, match="in eager"):
        got = torch.compile(function, backend="mlopt")(x)
    torch.testing.assert_close(got, function(x))
    assert 0 < report().coverage < 1


def test_sizes_that_depend_on_data():
    def function(x):
        rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
        return (x[rows] * 2).sum(0), rows + 1

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        fast = torch.compile(function, backend="mlopt", fullgraph=True)
        for seed in range(3):
            x = torch.randn(20, 4, generator=torch.Generator().manual_seed(seed))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.testing.assert_close(fast(x), function(x))
    assert "aten.nonzero.default" in {op.name for op in report().eager}


def test_dropout_draws_what_eager_draws():
    module = nn.Sequential(
        nn.LayerNorm(24), nn.Linear(24, 48), nn.GELU(), nn.Dropout(0.3), nn.Linear(48, 8), nn.Dropout(0.5)
    )
    twin = copy.deepcopy(module)
    x = torch.randn(16, 24)
    fast = torch.compile(module, backend="mlopt")
    for seed in range(2):
        torch.manual_seed(seed)
        got = fast(x)
        after = torch.get_rng_state()
        torch.manual_seed(seed)
        torch.testing.assert_close(got, twin(x))
        assert torch.equal(after, torch.get_rng_state())
        got.square().mean().backward()
    forward = report().graphs[0]
    assert {op.name for op in forward.eager} <= {"aten.bernoulli.p", "aten.empty.memory_format"}
    assert len(forward.units) == 1  # the masks are drawn first, the rest is one program


@pytest.mark.parametrize(
    "before",
    [
        lambda x: x.t(),
        lambda x: torch.where(x.t() > 0, x.t(), 1.0),
        lambda x: x.t().softmax(-1),
        lambda x: x.t().log_softmax(0),
        lambda x: F.layer_norm(x.t(), (8,)),
        lambda x: (x @ x.t()).t() + x[:1, :1],
        lambda x: x[:, ::2],
        lambda x: x.reshape(2, 4, 3, 2).permute(3, 0, 2, 1),
    ],
)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_dropout_draws_in_the_order_of_eagers_memory(before, training, dynamic):
    def function(x):
        return F.dropout(before(x), 0.5) * 2

    x = (torch.rand(8, 6) + 0.5).requires_grad_(training)
    torch.manual_seed(3)
    got = torch.compile(function, backend="mlopt", dynamic=dynamic)(x)
    torch.manual_seed(3)
    torch.testing.assert_close(got, function(x))


def test_random_tensors_keep_their_order():
    def function(x):
        return torch.rand(4) + x, torch.randn(4) * x.exp(), torch.randint(0, 9, (4,))

    x = torch.randn(4)
    torch.manual_seed(3)
    got = torch.compile(function, backend="mlopt")(x)
    torch.manual_seed(3)
    torch.testing.assert_close(got, function(x))


def test_a_graph_break_is_counted_and_explained():
    def function(x):
        y = torch.relu(x) + 1
        torch._dynamo.graph_break()
        return y * 2

    x = torch.randn(4)
    torch.testing.assert_close(torch.compile(function, backend="mlopt")(x), function(x))
    (reason,) = report().graph_breaks
    assert "graph_break" in reason
    assert line_of(function, 2) in reason
    assert len(report().graphs) == 2
    assert "function, resumed at line" in str(report())
    assert "1 graph break" in str(report())


def test_a_function_that_is_left_to_eager_is_named():
    def function(x):
        for _ in range(3):
            x = x + 1
            torch._dynamo.graph_break()
        return x

    x = torch.randn(4)
    torch.testing.assert_close(torch.compile(function, backend="mlopt")(x), function(x))
    assert not report().graphs
    (skipped,) = report().skipped
    assert skipped.startswith(f"function at {line_of(function, 0)}: ")
    assert "graph break in loop" in skipped
    assert line_of(function, 3) in skipped
    assert f"1 function left to eager\nin eager as a whole: {skipped}" in str(report())
    torch._dynamo.reset()
    assert not report().skipped


def test_breaks_with_nothing_to_compile_before_them_are_counted():
    def function(x):
        torch._dynamo.graph_break()
        y = torch.relu(x) + 1
        torch._dynamo.graph_break()
        torch._dynamo.graph_break()
        return y * 2

    x = torch.randn(4)
    torch.testing.assert_close(torch.compile(function, backend="mlopt")(x), function(x))
    assert len(report().graphs) == 2
    assert len(report().graph_breaks) == 3
    assert "3 graph breaks" in str(report())
    for line in (1, 3, 4):
        assert str(report()).count(f", at {line_of(function, line)}") == 1


def test_a_recompilation_is_counted_and_explained():
    def function(x, flag):
        return x + 1 if flag else x - 1

    fast = torch.compile(function, backend="mlopt", dynamic=False)
    x = torch.randn(4, 3)
    fast(x, True)
    fast(x, False)
    fast(torch.randn(5, 3), False)
    first, second = report().recompilations
    assert "flag" in first.guard
    assert "size mismatch at index 0. expected 4, actual 5" in second.guard
    assert "2 recompilations" in str(report())


def test_reset_empties_the_report():
    torch.compile(torch.relu, backend="mlopt")(torch.randn(3))
    assert report().graphs
    torch._dynamo.reset()
    assert not report().graphs
    assert str(report()).startswith("0 graphs, 100% of the ops compiled")


def test_verify_compares_the_first_call():
    fast = torch.compile(F.gelu, backend="mlopt", options={"verify": True})
    x = torch.randn(9)
    torch.testing.assert_close(fast(x), F.gelu(x))


def test_modules_in_train_and_eval():
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9))
    fast = torch.compile(module, backend="mlopt")
    x = torch.randn(64, 4)
    assert (fast(x) == 0).float().mean() > 0.8
    module.eval()
    torch.testing.assert_close(fast(x), module(x))
    assert "training" in report().recompilations[0].guard


def test_constants_that_tracing_makes_are_compiled():
    def put(x, i):
        x[i] = 5.0
        return x * 1

    def mask(x, i):
        x[x > 0] = 0.0
        return x + i[0]

    def through_numpy(x, i):
        return torch.from_numpy(x.numpy() * 2) + i[0]

    def not_finite(x, i):
        return x + torch.tensor(float("nan")), x * torch.tensor(-float("inf")), i / torch.tensor(3e-320)

    for function in (put, mask, through_numpy, not_finite):
        x, i = torch.randn(4, 2), torch.tensor([0, 2])
        twin = x.clone()
        got = torch.compile(function, backend="mlopt")(x, i)
        torch.testing.assert_close(got, function(twin, i), equal_nan=True)
        torch.testing.assert_close(x, twin)
    assert report().coverage == 1


def test_a_graph_that_cannot_be_read_runs_in_eager(monkeypatch):
    def broken(module, static=()):
        if any(node.target is torch.ops.aten.sin.default for node in module.graph.nodes):
            raise AssertionError("no sine")
        return capture_graph(module, static)

    monkeypatch.setattr(graph_module, "capture_graph", broken)
    x = torch.randn(5)
    with pytest.warns(UserWarning, match="aten.sin.default runs in eager .* AssertionError: no sine"):
        got = torch.compile(lambda x: (x * 2).sin() + x, backend="mlopt")(x)
    torch.testing.assert_close(got, (x * 2).sin() + x)
    assert [op.name for op in report().eager] == ["aten.sin.default"]
    torch._dynamo.reset()
    with pytest.raises(Exception, match="cannot be read: AssertionError: no sine") as caught:
        torch.compile(torch.sin, backend="mlopt", options={"fallback": False})(x)
    assert isinstance(caught.value.inner_exception, MloptError)
