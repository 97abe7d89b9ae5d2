"""The corpus through ``torch.compile(backend="mlopt")``: results and gradients beside eager in float64.

Results have the bound of `mlopt.runtime.verification`, and so have gradients, with terms no smaller than
the typical gradient in the tensor, or a tenth of that in the module. Some gradients cancel whatever the
inputs are (of what shifts a row before a softmax, of what scales a channel before a batch norm), so that
no change of the inputs shows how large their terms are.
"""

from __future__ import annotations

import copy

import pytest
import torch
from mlopt.backend import report
from mlopt.runtime.verification import Verifier
from mlopt.test.corpus import CASES
from torch.utils import _pytree as pytree

F32 = torch.float32
SHARE = {torch.float64: 1e-12, F32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
IN_ALL_DTYPES = ("layer_norm", "linear_gelu", "conv_bn_relu")
NO_GRADIENT = ("integers", "bits", "booleans")


def parameters(*without):
    for name, case in CASES.items():
        if name in without:
            continue
        for dtype in case.dtypes:
            if dtype == case.dtypes[0] or name in IN_ALL_DTYPES:
                yield pytest.param(case, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.mark.parametrize(("case", "dtype"), parameters())
def test_results(case, dtype):
    module = case.module(dtype)
    inputs = case.inputs(dtype, seed=1)
    with torch.no_grad():
        verifier = Verifier(module, inputs, {})
        eager = copy.deepcopy(module)(*[x.clone() for x in inputs])
        got = torch.compile(module, backend="mlopt", dynamic=False)(*[x.clone() for x in inputs])
    verifier.check(got)
    for ours, theirs in zip(pytree.tree_leaves(got), pytree.tree_leaves(eager), strict=True):
        assert ours.stride() == theirs.stride()
    assert report().coverage == 1, report()
    assert not any(kernel.is_slow for graph in report().graphs for kernel in graph.kernels)


def gradients(function, module, inputs):
    """With respect to all inputs and parameters, of a sum of the outputs with random weights."""
    inputs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    leaves = [x for x in inputs if x.requires_grad] + list(module.parameters())
    outputs = [y for y in pytree.tree_leaves(function(*inputs)) if y.requires_grad]
    generator = torch.Generator().manual_seed(7)
    weights = [torch.randn(y.shape, generator=generator, dtype=torch.float64).to(y.dtype) for y in outputs]
    return torch.autograd.grad(outputs, leaves, weights, allow_unused=True)


class Gradients(torch.nn.Module):
    """A module's gradients as results."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        with torch.enable_grad():
            return gradients(self.module, self.module, inputs)


def size(values):
    """The root mean square."""
    return values.square().mean().sqrt() if values.numel() else torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize(("case", "dtype"), parameters(*NO_GRADIENT))
def test_gradients(case, dtype):
    module = case.module(dtype).train()
    inputs = case.inputs(dtype, seed=1)
    verifier = Verifier(Gradients(module), inputs, {})
    got = gradients(torch.compile(module, backend="mlopt", dynamic=False), module, inputs)
    for ours, theirs in zip(got, verifier.eager, strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert ours.stride() == theirs.stride()
    # No terms are smaller than what they add up to; they take many calls of the module.
    least = [None if right is None else right.abs() for right in verifier.exact]
    assert are_close(got, verifier, least, SHARE[dtype]) or are_close(
        got, verifier, verifier.terms, SHARE[dtype]
    )
    assert report().coverage == 1, report()


def are_close(got, verifier, terms_of_all, share):
    """Whether gradients are off by twice eager's error at most, or by ``share`` of their terms."""
    typical = size(torch.cat([g.flatten() for g in verifier.exact if g is not None]))
    for ours, theirs, right, terms in zip(got, verifier.eager, verifier.exact, terms_of_all, strict=True):
        if theirs is None:
            continue
        usual = (theirs.double() - right).abs()
        allowed = share * terms.clamp(min=torch.maximum(size(right), 0.1 * typical))
        if not ((ours.double() - right).abs() <= torch.maximum(2 * usual, allowed)).all():
            return False
    return True


@pytest.mark.parametrize("name", ["mlp", "layer_norm", "conv_bn_relu", "self_attention"])
def test_dynamic_batch(name):
    """One compilation serves two batch sizes, forward and backward."""
    case = CASES[name]
    module = case.module()
    fast = torch.compile(module, backend="mlopt", dynamic=True)
    x = case.inputs()[0]
    for batch in (8, 13):
        more = x[:1].repeat(batch, *[1] * (x.dim() - 1)) * torch.linspace(0.5, 1.5, batch).view(
            -1, *[1] * (x.dim() - 1)
        )
        got = gradients(fast, module, [more])
        eager = gradients(module, module, [more])
        torch.testing.assert_close(got, eager, rtol=1e-4, atol=1e-4)
    assert [graph.kind for graph in report().graphs] == ["forward", "backward"], report()
    assert report().coverage == 1, report()
