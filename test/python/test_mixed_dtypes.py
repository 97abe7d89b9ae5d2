"""Two operands of different dtypes, and numbers beside bools: eager's promotion, and no sign for a bool."""

import itertools

import mlopt
import pytest
import torch

DTYPES = (torch.bool, torch.uint8, torch.int8, torch.int64, torch.bfloat16, torch.float32)
OPS = {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "where": lambda x, y: torch.where(x > 0, x, y), "maximum": torch.maximum, "minimum": torch.minimum,
    "add": torch.add, "mul": torch.mul, "logical_xor": torch.logical_xor,
    "and": lambda x, y: torch.bitwise_and(x.long() if x.is_floating_point() else x, y.to(torch.int8)),
}  # fmt: skip


def values(dtype):
    return torch.tensor([[0, 1, 2, 3], [1, 0, 7, 2]]).to(dtype)


@pytest.mark.parametrize("name", OPS)
def test_two_tensors(name):
    pairs = [(x, y) for x, y in itertools.product(DTYPES, DTYPES) if x != y]
    inputs = [value for x, y in pairs for value in (values(x), values(y).flip(1))]

    def all_pairs(*tensors):
        return [OPS[name](x, y) for x, y in zip(tensors[::2], tensors[1::2], strict=True)]

    ours = mlopt.jit(all_pairs, *inputs)(*inputs)
    for pair, one, other in zip(pairs, ours, all_pairs(*inputs), strict=True):
        assert one.dtype == other.dtype, pair
        assert torch.equal(one, other), pair


@pytest.mark.parametrize("number", [-3, 0, 1, 2, 0.5, True])
def test_bools_and_a_number(number):
    x = values(torch.bool)

    def compared(x):
        return [op(x, number) for op in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)]

    for one, other in zip(mlopt.jit(compared, x)(x), compared(x), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_8_bit_integers_and_a_number(dtype):
    x = values(dtype)

    def computed(x):
        return x * 2 - 1, 3 - x, x + 1, torch.remainder(x, 3)

    for one, other in zip(mlopt.jit(computed, x)(x), computed(x), strict=True):
        assert torch.equal(one, other)
