"""Transforms around a compiled call are refused, where eager's result would differ without a word."""

import mlopt
import pytest
import torch
import torch.autograd.forward_ad as fw
from mlopt.errors import InputError
from torch.fx.experimental.proxy_tensor import make_fx


def double(x):
    return (x * 2).sum(-1)


def dual(call):
    with fw.dual_level():
        call(fw.make_dual(torch.ones(3), torch.ones(3)))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (dual, "tangent of forward-mode"),
        (lambda call: make_fx(call)(torch.ones(3)), "make_fx traces"),
        (lambda call: torch.func.vmap(call)(torch.ones(2, 3)), "transform of torch.func"),
        (lambda call: torch.func.grad(call)(torch.ones(3)), "transform of torch.func"),
        (lambda call: torch.func.jvp(call, (torch.ones(3),), (torch.ones(3),)), "transform of torch.func"),
    ],
)
def test_transforms_are_refused(use, message):
    call = mlopt.jit(double, torch.ones(3))
    with pytest.raises(InputError, match=message):
        use(call)
    with fw.dual_level():
        assert call(torch.ones(3)) == 6
