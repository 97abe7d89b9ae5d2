"""More than 2^31 elements, and more than 2^31 bytes: indices have 64 bits everywhere."""

import mlopt
import pytest
import torch

pytestmark = pytest.mark.usefixtures("inference")

ROWS, COLUMNS = (1 << 16) + 1, (1 << 15) + 3
CHUNK = 1 << 20  # what is made of it is in memory that the process has already


def counted(rows, columns, dtype):
    """Numbers below 256 that depend on both indices, so that no other element is taken for the right one."""
    of_row, of_column = torch.randint(256, (rows, 1)), torch.randint(256, (columns,))
    made = torch.empty(rows, columns, dtype=dtype)
    if dtype.is_floating_point:
        return torch.add(of_row.to(dtype), of_column.to(dtype), out=made)
    return torch.bitwise_xor(of_row.to(dtype), of_column.to(dtype), out=made)


def same(ours, eager, *inputs):
    """Whether ``ours`` is ``eager`` of flat inputs, a chunk at a time."""
    flat = [x.view(-1) for x in inputs]
    return all(
        torch.equal(ours.view(-1)[at : at + CHUNK], eager(*(x[at : at + CHUNK] for x in flat)))
        for at in range(0, flat[0].numel(), CHUNK)
    )


def test_more_than_two_to_the_31_elements():
    def function(x, rows, flat):
        return x + 1, x.view(ROWS, COLUMNS).amax(-1), x.view(ROWS, COLUMNS)[rows], x[flat]

    count = ROWS * COLUMNS
    assert count > 1 << 31
    x = counted(ROWS, COLUMNS, torch.uint8).view(-1)
    rows = torch.tensor([ROWS - 1, 0, ROWS // 2, ROWS - 2])
    flat = torch.tensor([count - 1, 0, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, count - 5])
    compiled = mlopt.jit(function, x, rows, flat)
    more, largest, gathered, picked = compiled(x, rows, flat)
    assert torch.equal(largest, x.view(ROWS, COLUMNS).amax(-1))
    assert torch.equal(gathered, x.view(ROWS, COLUMNS)[rows])
    assert torch.equal(picked, x[flat])
    assert same(more, lambda x: x + 1, x)
    with pytest.raises(IndexError):
        compiled(x, rows, torch.full_like(flat, count))


def test_more_than_two_to_the_31_bytes():
    rows, columns = (1 << 14) + 1, (1 << 15) + 3
    x = counted(rows, columns, torch.float32)
    assert x.nbytes > 1 << 31
    picks = torch.tensor([rows - 1, 0, rows // 2])
    compiled = mlopt.jit(lambda x, picks: (x * 2 + 1, x.sum(-1), x.t()[-1], x[picks]), x, picks)
    more, sums, last, gathered = compiled(x, picks)
    assert same(more, lambda x: x * 2 + 1, x)
    assert torch.equal(sums, x.sum(-1))  # whole numbers below 2^24
    assert torch.equal(last, x[:, -1])
    assert torch.equal(gathered, x[picks])
