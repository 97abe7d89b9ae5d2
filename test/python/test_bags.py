"""embedding_bag beside eager: bags of all lengths, weights, padding, offsets that are wrong."""

import mlopt
import pytest
import torch
from torch import nn
from torch.nn import functional as F

OFFSETS = torch.tensor([0, 3, 3, 4, 11, 11])
CASES = {
    "sums": {"mode": "sum"},
    "means without padding": {"mode": "mean", "padding_idx": 2},
    "weights": {"mode": "sum", "per_sample_weights": torch.randn(13), "padding_idx": 1},
    "maxima": {"mode": "max"},
    "maxima without padding": {"mode": "max", "padding_idx": 2, "include_last_offset": True},
    "the last offset": {"mode": "mean", "include_last_offset": True},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_bags(name, dtype):
    arguments = {
        key: each.to(dtype) if isinstance(each, torch.Tensor) else each for key, each in CASES[name].items()
    }
    table, indices = torch.randn(7, 5).to(dtype), torch.randint(7, (13,))

    def bags(table, indices, offsets):
        return F.embedding_bag(indices, table, offsets, **arguments)

    compiled = mlopt.jit(bags, table, indices, OFFSETS)
    for offsets in OFFSETS, torch.tensor([0, 0, 0, 1, 12, 13]):
        actual, eager = compiled(table, indices, offsets), bags(table, indices, offsets)
        torch.testing.assert_close(actual, eager, rtol=1e-5 if dtype is torch.float32 else 2e-2, atol=1e-5)


def test_maxima_of_infinities_and_of_long_bags():
    """Rows of -inf; a NaN that begins its bag (eager leaves out others); more than what is compared."""
    module = nn.EmbeddingBag(3000, 40, mode="max")
    with torch.no_grad():
        module.weight[5:8], module.weight[9] = -torch.inf, torch.nan
    offsets = torch.cat([torch.tensor([0, 3, 3]), torch.arange(4, 3000, 5)])
    indices = torch.randint(10, 3000, (3000,))
    indices[:4] = torch.tensor([5, 6, 7, 9])
    compiled = mlopt.jit(module, indices, offsets)
    torch.testing.assert_close(
        compiled(indices, offsets), module(indices, offsets), rtol=0, atol=0, equal_nan=True
    )


def test_offsets_that_eager_refuses():
    module = nn.EmbeddingBag(7, 5, mode="sum")
    indices = torch.randint(7, (13,))
    compiled = mlopt.jit(module, indices, OFFSETS)
    for wrong in OFFSETS + 1, OFFSETS * 2:
        with pytest.raises(RuntimeError):
            module(indices, wrong)
        with pytest.raises(RuntimeError, match="offsets of bags begin at 0 and end at 13"):
            compiled(indices, wrong)


def test_offsets_that_decrease_are_refused():
    """Eager's f32 refuses some, and reads what lies around the indices for others (-1)."""
    indices = torch.randint(7, (9,))
    for last in False, True:
        module = nn.EmbeddingBag(7, 5, mode="mean", include_last_offset=last)
        compiled = mlopt.jit(module, indices, torch.tensor([0, 2, 3, 9]))
        for wrong in [0, 5, 3, 9], [0, -1, 3, 9], [0, 13, 3, 9], [0, 5, 3, 13], [0, 3, 5, -1]:
            with pytest.raises(RuntimeError, match="offsets of bags"):
                compiled(indices, torch.tensor(wrong))
        for right in [0, 0, 9, 9], [0, 3, 3, 3 if not last else 9]:
            offsets = torch.tensor(right)
            torch.testing.assert_close(compiled(indices, offsets), module(indices, offsets))
    with pytest.raises(RuntimeError):
        module(indices, torch.tensor([0, 5, 3, 9]))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_indices_of_int32_and_rows_of_indices(mode):
    table, indices = torch.randn(7, 5), torch.randint(7, (3, 4))

    def bags(indices, offsets=None):
        return F.embedding_bag(indices, table, offsets, mode=mode)

    for arguments in (indices,), (indices.int(),), (indices.reshape(12).int(), torch.tensor([0, 5, 5]).int()):
        torch.testing.assert_close(mlopt.jit(bags, *arguments)(*arguments), bags(*arguments))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_a_padded_row_is_not_read(mode):
    indices = torch.tensor([2, 1, 2, 2, 0, 6])
    offsets = torch.tensor([0, 2, 4])  # of the second bag nothing is left
    module = nn.EmbeddingBag(7, 5, mode=mode, padding_idx=2)
    with torch.no_grad():
        module.weight[2], module.weight[6, 1] = float("nan"), float("inf")
        expected = module(indices, offsets)
        assert not expected.isnan().any()
        torch.testing.assert_close(mlopt.jit(module, indices, offsets)(indices, offsets), expected)


def test_many_bags_are_not_compared_with_each_index():
    module = nn.EmbeddingBag(100, 8, mode="sum")
    indices, offsets = torch.randint(100, (4096,)), torch.arange(0, 4096, 8)
    compiled = mlopt.jit(module, indices, offsets)
    assert sum(kernel.flops or 0 for kernel in compiled.kernels) < 4096 * 8 * 16


def test_gradients_of_tables():
    module = nn.EmbeddingBag(7, 5, mode="mean")
    indices = torch.randint(7, (13,))
    torch._dynamo.reset()
    fast = torch.compile(module, backend="mlopt")
    gradients = [
        torch.autograd.grad(way(indices, OFFSETS).sin().sum(), module.weight)[0] for way in (fast, module)
    ]
    torch.testing.assert_close(*gradients)
