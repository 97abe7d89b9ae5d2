"""``torch.compile(backend="mlopt")``: dynamic sizes, aliases, mutations, modes, threads."""

from __future__ import annotations

import pytest
import torch
from mlopt.backend import report
from mlopt.errors import InputError
from mlopt.runtime.graph_call import GraphCall
from mlopt.test.python.threads import at_once
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(function, **options):
    return torch.compile(function, backend="mlopt", **options)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


def test_the_backend_is_found_by_its_name():
    assert "mlopt" in torch._dynamo.list_backends()


def test_one_compilation_serves_two_batch_sizes():
    module = mlp()
    fast = compiled(module, dynamic=True)
    with torch.no_grad():
        for batch in (8, 13, 1):
            x = torch.randn(batch, 6)
            torch.testing.assert_close(fast(x), module(x))
    inference = [graph for graph in report().graphs if graph.kind == "inference"]
    assert len(inference) == 2  # Dynamo compiles a batch of 1 by itself
    assert report().coverage == 1
    for batch in (8, 13):
        x = torch.randn(batch, 6)
        module.zero_grad()
        fast(x).square().sum().backward()
        got = [p.grad.clone() for p in module.parameters()]
        module.zero_grad()
        module(x).square().sum().backward()
        torch.testing.assert_close(got, [p.grad for p in module.parameters()])
    assert [graph.kind for graph in report().graphs] == ["inference", "inference", "forward", "backward"]


def test_ints_are_sizes_and_numbers():
    def function(x, n, k):
        return x * n, x.new_ones(k + 1, 3), x.reshape(-1, k)

    fast = compiled(function, dynamic=True)
    for n, k in ((5, 4), (-7, 8), (100, 2)):
        x = torch.randn(3, 16)
        torch.testing.assert_close(fast(x, n, k), function(x, n, k))
    assert len(report().graphs) == 1
    assert report().coverage == 1


def test_slices_of_dynamic_sizes():
    def function(x):
        return x[:, ::2] + 1, x[1::3], x[:, 1::4].relu()

    fast = compiled(function, dynamic=True)
    for shape in ((7, 9), (8, 11), (13, 17)):
        x = torch.randn(shape)
        torch.testing.assert_close(fast(x), function(x))
    assert len(report().graphs) == 1
    assert report().coverage == 1


def test_inputs_are_mutated_as_in_eager():
    def function(x, y):
        x.add_(1)
        y[1:].mul_(x[1:])
        return x + y

    x, y = torch.randn(4, 5), torch.randn(4, 5)
    mine, theirs = (x.clone(), y.clone()), (x.clone(), y.clone())
    torch.testing.assert_close(compiled(function)(*mine), function(*theirs))
    torch.testing.assert_close(mine, theirs)


def test_outputs_alias_as_in_eager():
    def function(x):
        y = x + 1
        return x, x[1:], y, y.t(), y[0]

    x = torch.randn(4, 5)
    whole, rows, y, turned, row = compiled(function)(x)
    assert whole is x
    rows.zero_()
    assert x[1:].eq(0).all()
    turned.fill_(7)
    assert y.eq(7).all() and row.eq(7).all()
    assert turned.stride() == (1, 5)


def test_running_statistics_are_those_of_eager():
    module, twin = nn.BatchNorm2d(3), nn.BatchNorm2d(3)
    fast = compiled(module)
    for seed in range(3):
        x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(fast(x), twin(x))
    torch.testing.assert_close(dict(module.named_buffers()), dict(twin.named_buffers()))
    module.eval()
    twin.eval()
    torch.testing.assert_close(fast(x), twin(x))


def test_a_changed_weight_is_seen():
    module = mlp()
    fast = compiled(module)
    x = torch.randn(5, 6)
    with torch.no_grad():
        for change in (
            lambda: module[0].weight.mul_(2),
            lambda: module.load_state_dict(mlp().state_dict()),
            lambda: setattr(module[2].weight, "data", torch.randn(4, 16)),
        ):
            torch.testing.assert_close(fast(x), module(x))
            change()
        torch.testing.assert_close(fast(x), module(x))
    assert len(report().graphs) == 1


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(6, 5).t(),
        torch.randn(5, 12)[:, ::2],
        torch.randn(1, 6).expand(5, 6),
        torch.randn(31)[1:].view(5, 6),
        torch.empty(0, 6),
    ],
    ids=["transposed", "strided", "expanded", "unaligned", "empty"],
)
def test_inputs_of_any_strides(x):
    module = mlp()
    with torch.no_grad():
        torch.testing.assert_close(compiled(module, dynamic=False)(x), module(x))


def test_channels_last_stays():
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
    x = torch.randn(2, 3, 9, 9).to(memory_format=torch.channels_last)
    with torch.no_grad():
        got, eager = compiled(module)(x), module(x)
    torch.testing.assert_close(got, eager)
    assert got.stride() == eager.stride()


def test_modes_of_torch_are_accepted_and_others_are_not():
    x = torch.randn(3, 4)
    for mode in ("default", "reduce-overhead", "max-autotune"):
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(torch.relu, mode=mode)(x), x.relu())
        assert ("changes nothing: calls run on the CPU" in str(report())) == (mode != "default")
    with pytest.raises(Exception, match="did you mean 'max-autotune'"):
        compiled(torch.tanh, mode="max-autotun")(x)
    with pytest.raises(Exception, match="did you mean 'opt_level'"):
        compiled(torch.tanh, options={"optlevel": 3})(x)


def test_inference_mode_and_autocast():
    module = mlp().eval()
    x = torch.randn(3, 6)
    fast = compiled(module)
    with torch.inference_mode():
        torch.testing.assert_close(fast(x), module(x))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        got, eager = fast(x), module(x)
    assert got.dtype == eager.dtype == torch.bfloat16
    torch.testing.assert_close(got, eager)


def test_threads_share_a_compiled_function():
    module = mlp().eval()
    fast = compiled(module)
    inputs = [torch.randn(3, 6) for _ in range(4)]
    with torch.no_grad():
        fast(inputs[0])
        expected = [module(x) for x in inputs]

    def work(x, y):
        with torch.no_grad():
            for _ in range(100):
                assert torch.allclose(fast(x), y, atol=1e-6)

    at_once(work, *zip(inputs, expected, strict=True))


def test_errors_are_those_of_eager():
    def function(table, index):
        return table[index] * 2

    fast = compiled(function)
    table = torch.randn(4, 3)
    torch.testing.assert_close(fast(table, torch.tensor([1, 3])), function(table, torch.tensor([1, 3])))
    with pytest.raises(IndexError):
        fast(table, torch.tensor([1, 4]))
    with pytest.raises(ValueError, match="mine"):
        compiled(_fails)(table)


def _fails(x):
    if x.shape[0] == 4:
        raise ValueError("mine")
    return x


def test_a_program_for_a_gpu_on_the_emulator():
    def function(x, y):
        return torch.relu(x * y) + 1, x.sum(1)

    x, y = torch.randn(9, 33), torch.randn(33)
    fast = compiled(function, options={"target": "cuda:sm_80", "device": "emulator"})
    torch.testing.assert_close(fast(x, y), function(x, y))
    assert report().coverage == 1


def test_what_is_on_another_device_is_refused_at_the_call(monkeypatch):
    """Guards know the device; the address of a tensor that is elsewhere never reaches a kernel."""
    calls = []
    build = GraphCall.build
    monkeypatch.setattr(GraphCall, "build", lambda self: calls.append(build(self)) or calls[-1])
    module, x = nn.Linear(6, 16), torch.randn(3, 6)
    with torch.no_grad():
        torch.testing.assert_close(compiled(module)(x), module(x))
        (call,) = calls
        weights = (module.weight, module.bias)
        torch.testing.assert_close(call(*weights, x)[0], module(x))
        with pytest.raises(InputError, match=r"on meta, compiled for float32\[3, 6\] on the CPU"):
            call(*weights, x.to("meta"))
        with pytest.raises(InputError, match=r"(?s)the weight .* is on meta, the code runs on the CPU"):
            call(nn.Parameter(module.weight.to("meta")), module.bias, x)


def test_tensors_that_are_not_where_the_target_is_are_one_warning():
    def function(x):
        return torch.relu(x * 2) + 1, x.sum(1)

    x, options = torch.randn(9, 33), {"target": "cuda:sm_80"}
    with pytest.warns(UserWarning, match="mlopt") as caught:
        torch.testing.assert_close(compiled(function, options=options)(x), function(x))
    (text,) = (str(warning.message) for warning in caught if "mlopt" in str(warning.message))
    assert "the tensors are on cpu, the target is cuda:sm_80" in text
    assert '"device": "emulator"' in text
    assert "aten" not in text
    torch._dynamo.reset()
    with pytest.raises(BackendCompilerFailed, match="the tensors are on cpu, the target is cuda:sm_80"):
        compiled(function, options={**options, "fallback": False})(x)
