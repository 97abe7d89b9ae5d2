"""PyTorch's own layers put sequences first, and batches again at the end: no kernel does only that."""

import mlopt
import pytest
import torch
import torch.nn.functional as F
from mlopt.test.python.kernel_counts import TARGETS, calls_of
from torch import nn


def encoder(batch_first: bool) -> nn.Module:
    return nn.TransformerEncoderLayer(32, 2, 64, 0.1, F.gelu, batch_first=batch_first, norm_first=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_block(batch_first: bool, target: str) -> None:
    module, x = encoder(batch_first).eval(), torch.randn((2, 9, 32) if batch_first else (9, 2, 32))
    with torch.no_grad():
        compiled = mlopt.jit(module, x, **TARGETS[target])
        names = calls_of(compiled.kernels)
        assert len(names) <= 7, names
        result, eager, expected = compiled(x), module(x), module.double()(x.double())
    error, own = ((each.double() - expected).abs().max() for each in (result, eager))
    assert error <= max(2 * own, 1e-6)
