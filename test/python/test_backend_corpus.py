"""The corpus through ``torch.compile(backend="mlopt")``: results and gradients beside eager in float64.

Results have the bound of `mlopt.runtime.verification`. An element of a gradient may be off by
the largest of: twice eager's own error; four times the root mean square of eager's errors in its
tensor; the dtype's share of its own size and of the typical size in its tensor, and a tenth of
that share of the typical gradient in the module (sums of such terms may cancel to zero).
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
# Their parts have tests of their own.
OF_TESTED_PARTS = ("resnet_small", "vit", "mixer_block", "gpt2_small", "llama_block", "bert_block")


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


def gradients(function, module, inputs, weights):
    """With respect to all inputs and parameters, of the outputs' sum weighted by ``weights``."""
    inputs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    leaves = [x for x in inputs if x.requires_grad] + list(module.parameters())
    outputs = [y for y in pytree.tree_leaves(function(*inputs)) if y.requires_grad]
    cotangents = [w.to(y.dtype) for w, y in zip(weights(outputs), outputs, strict=True)]
    return torch.autograd.grad(outputs, leaves, cotangents, allow_unused=True)


def random_weights(outputs):
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(y.shape, generator=generator, dtype=torch.float64) for y in outputs]


def size(values):
    """The root mean square."""
    return values.square().mean().sqrt() if values.numel() else torch.zeros((), dtype=torch.float64)


@pytest.mark.parametrize(("case", "dtype"), parameters(*NO_GRADIENT, *OF_TESTED_PARTS))
def test_gradients(case, dtype):
    module = case.module(dtype).train()
    twin, exact = copy.deepcopy(module), copy.deepcopy(module).double()
    inputs = case.inputs(dtype, seed=1)
    doubles = [x.double() if x.is_floating_point() else x for x in inputs]
    wanted = gradients(exact, exact, doubles, random_weights)
    eager = gradients(twin, twin, inputs, random_weights)
    fast = torch.compile(module, backend="mlopt", dynamic=False)
    got = gradients(fast, module, inputs, random_weights)
    typical = size(torch.cat([g.flatten() for g in wanted if g is not None]))
    for ours, theirs, right in zip(got, eager, wanted, strict=True):
        if theirs is None:
            assert ours is None
            continue
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        usual = (theirs.double() - right).abs()
        share = SHARE[dtype] * right.abs().clamp(min=torch.maximum(size(right), 0.1 * typical))
        allowed = torch.maximum(2 * usual, share).clamp(min=4 * size(usual))
        assert ((ours.double() - right).abs() <= allowed).all()
    assert report().coverage == 1, report()


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
        got = gradients(fast, module, [more], random_weights)
        eager = gradients(module, module, [more], random_weights)
        torch.testing.assert_close(got, eager, rtol=1e-4, atol=1e-4)
    assert [graph.kind for graph in report().graphs] == ["forward", "backward"], report()
    assert report().coverage == 1, report()
