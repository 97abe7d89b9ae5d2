"""The wrapper around a call: weights that live in a module, @prepare, gradients."""

import pytest
import torch
from mlopt.errors import InputError
from mlopt.frontends.program import Result
from mlopt.runtime.executable import Executable
from mlopt.runtime.torch_wrapper import TorchWrapper
from mlopt.runtime.weights import LiveWeights, Slot, bind_arguments
from mlopt.test.python.executables import (
    ADD,
    PREPARE,
    SHAPE,
    buffer,
    generate,
    metadata,
    result,
    tensor,
)


def with_weight():
    """main(x, w, prepared) = x + w; prepare(w) = w + w, which main does not read."""
    count = "%n = llvm.mlir.constant(64 : i64) : i64"
    main = ADD.replace("%args[2]", "%args[3]").replace("COUNT", count)
    arg, weight = buffer(*SHAPE, kind="input"), buffer(*SHAPE, kind="weight")
    prepare = {"args": [weight], "results": [buffer(*SHAPE)], "workspace": 0}
    known = metadata([arg, weight, buffer(*SHAPE, kind="prepared")], [buffer(*SHAPE)], prepare=prepare)
    # main reads its second argument from the prepared one.
    main = main.replace("%py = llvm.getelementptr %args[1]", "%py = llvm.getelementptr %args[2]")
    return Executable(generate(main + PREPARE.replace("COUNT", count)).object, known)


def live(module, executable):
    slots = [Slot("weight", module._parameters, "weight", torch.float32, SHAPE)]
    weights = LiveWeights(executable, slots)
    call = TorchWrapper(
        entry=executable.main,
        inputs=[tensor("x", 0, SHAPE)],
        results=[Result(torch.float32, SHAPE)],
        outputs=[result(SHAPE)],
        structure="o0",
        bound=weights.current,
        weights_grad=weights.requires_grad,
    ).build()
    return weights, call


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(SHAPE))


def test_weights_are_prepared_again_when_they_change():
    module = Scale()
    weights, call = live(module, with_weight())
    x = torch.randn(SHAPE)

    def check(runs):
        with torch.no_grad():
            assert torch.equal(call(x), x + (module.weight + module.weight))
            assert torch.equal(call(x), x + (module.weight + module.weight))
        assert weights.prepare_runs == runs

    check(1)
    module.weight.grad = torch.ones(SHAPE)
    torch.optim.SGD([module.weight], lr=0.1).step()
    check(2)
    module.load_state_dict({"weight": torch.randn(SHAPE)})
    check(3)
    module.load_state_dict({"weight": torch.randn(SHAPE)}, assign=True)
    check(4)
    module.weight.data = torch.randn(SHAPE)
    check(5)
    with torch.no_grad():
        module.weight[0, 0] += 1
    check(6)
    module.weight.data = torch.randn(16, 4).t()
    check(7)
    with torch.no_grad():
        module.weight.mul_(2)
    check(8)
    square = torch.randn(SHAPE)
    module.weight = torch.nn.Parameter(square)
    check(9)
    for runs in range(10, 30):  # the second may get the memory that the first one's predecessor had
        module.weight.data = torch.randn(SHAPE)
        module.weight.data = torch.randn(SHAPE)
        check(runs)


def test_weights_of_another_form_at_the_same_address():
    """Their versions stay what they were; so do modes, and what requires grad, without effect."""
    module = Scale()
    module.weight.data = torch.randn(SHAPE[0], 2 * SHAPE[1])[:, : SHAPE[1]]
    weights, call = live(module, with_weight())
    x, data = torch.randn(SHAPE), module.weight.data
    other = data.as_strided(SHAPE, (1, SHAPE[0]))
    for runs, values in enumerate((data, other, data, other), 1):
        module.weight.data = values
        for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode):
            with mode():
                assert torch.equal(call(x), x + (values + values))
        module.weight.requires_grad_(not module.weight.requires_grad)
        with torch.no_grad():
            assert torch.equal(call(x), x + (values + values))
        assert weights.prepare_runs == runs


def test_copies_of_weights_are_waited_for(monkeypatch):
    """Calls on other streams read them, and what is made of them."""
    waited = []
    monkeypatch.setattr(Executable, "settle", lambda self: waited.append(self))
    module = Scale()
    weights, call = live(module, with_weight())
    with torch.no_grad():
        call(torch.randn(SHAPE))
        assert len(waited) == 1  # for what is made of the weights
        module.weight.data = torch.randn(16, 4).t()
        call(torch.randn(SHAPE))
    assert waited == [weights.executable] * 3  # once more, and for the copy


def test_weights_that_cannot_be_used_any_more():
    module = Scale()
    _, call = live(module, with_weight())
    x = torch.randn(SHAPE)
    module.weight.data = torch.randn(16, 16)
    with pytest.raises(InputError, match=r"'weight' was float32\[4, 16\] .* now float32\[16, 16\]"):
        call(x)
    module.weight = torch.nn.Parameter(torch.randn(SHAPE).double())
    with pytest.raises(InputError, match="float64"):
        call(x)
    module.to("meta")
    module.weight = torch.nn.Parameter(torch.empty(SHAPE, device="meta"))
    with pytest.raises(InputError, match="now on meta"):
        call(x)
    del module.weight
    with pytest.raises(InputError, match="no longer has the weight"):
        call(x)


def test_weights_made_in_inference_mode():
    module = Scale()
    with torch.inference_mode():
        module._parameters["weight"] = torch.nn.Parameter(torch.randn(SHAPE), requires_grad=False)
        _, call = live(module, with_weight())
        x = torch.randn(SHAPE)
        call(x)
        module.weight.mul_(2)
        assert torch.equal(call(x), x + (module.weight + module.weight))


def test_results_require_grad_as_in_eager_and_backward_is_an_error():
    module = Scale()
    _, call = live(module, with_weight())
    out = call(torch.randn(SHAPE))
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="compiles for inference"):
        out.sum().backward()
    with torch.no_grad():
        assert not call(torch.randn(SHAPE)).requires_grad
    module.weight.requires_grad_(False)
    assert not call(torch.randn(SHAPE)).requires_grad


def test_weights_as_arguments():
    executable = with_weight()
    call = TorchWrapper(
        entry=executable.main,
        inputs=[tensor("x", 0, SHAPE), tensor("w", 1, SHAPE)],
        results=[Result(torch.float32, SHAPE)],
        outputs=[result(SHAPE)],
        structure="o0",
        bound=bind_arguments(executable),
        bound_from=[1],
    ).build()
    x, w = torch.randn(SHAPE), torch.randn(SHAPE)
    for _ in range(3):
        assert torch.equal(call(x, w), x + (w + w))
        w.mul_(3)
    for _ in range(5):
        w = torch.randn(SHAPE)
        assert torch.equal(call(x, w), x + (w + w))
