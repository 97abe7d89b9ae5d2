"""Positions have 64 bits where a kernel may have some of 2^31 and more, in a buffer or not, and else 32."""

import re

import mlopt
import numpy as np
import pytest
import torch

pytestmark = pytest.mark.usefixtures("inference")

COLUMNS = 1 << 10
BEYOND = 1 << 21  # the first row all of whose positions are 2^31 or more


def parts(step):
    """Rows by their numbers, the last ones, and every ``step``-th one."""
    return lambda x, rows: (x[rows], x[-3:] + 1, x[::step].int() * 3)


def compiled_for(function, *inputs, **options):
    return mlopt.jit(function, *inputs, target="cuda:sm_80", device="emulator", **options)


def index_types(compiled):
    """The types of the numbers that addresses are computed with."""
    return set(re.findall(r"getelementptr %\w+\[%\w+\] : \(!llvm\.ptr, (i\d+)\)", compiled.asm["nvvm"]))


def check(compiled, function, *inputs):
    for ours, eager in zip(compiled(*inputs), function(*inputs), strict=True):
        assert torch.equal(ours, eager)


def test_more_than_two_to_the_31_elements():
    """Of 2 GB of zeros, whose memory is there when it is touched, some rows are written and read."""
    x = torch.from_numpy(np.zeros((BEYOND + 5, COLUMNS), np.int8))
    assert x.numel() > 1 << 31
    rows, function = torch.tensor([BEYOND + 4, 0, BEYOND, BEYOND - 1, BEYOND + 3]), parts(BEYOND // 2)
    for row in (*rows, BEYOND + 2, BEYOND // 2):
        x[row] = torch.randint(-128, 128, (COLUMNS,)).to(torch.int8)
    compiled = compiled_for(function, x, rows)
    assert "i64" in index_types(compiled)
    check(compiled, function, x, rows)
    with pytest.raises(IndexError):
        compiled(x, torch.full_like(rows, BEYOND + 5))


def test_positions_that_fit_have_32_bits():
    x = torch.randint(-128, 128, (37, COLUMNS)).to(torch.int8)
    rows, function = torch.tensor([36, 0, 19]), parts(9)
    compiled = compiled_for(function, x, rows)
    assert index_types(compiled) == {"i32"}
    check(compiled, function, x, rows)


def test_positions_in_sizes_that_are_not_known_have_64_bits():
    x = torch.randn(5, 24)
    shapes = ({0: torch.export.Dim("rows", min=2, max=1 << 40)},)
    compiled = compiled_for(torch.nn.Softmax(-1), x, dynamic_shapes=shapes)
    assert "i64" in index_types(compiled)
    torch.testing.assert_close(compiled(x), x.softmax(-1))


COLUMNS_OF_NONE = 3_000_000_000  # of what is expanded or counted: no buffer has any of them
EXPANDED = {
    "sum": lambda x: (x[:, None] + torch.arange(COLUMNS_OF_NONE)).sum(1),
    "amax": lambda x: (x[:, None] ^ torch.arange(COLUMNS_OF_NONE)).amax(1),
    "all": lambda x: (torch.arange(COLUMNS_OF_NONE) + x[0]).sum(),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_positions_that_no_buffer_has(name):
    """Looked at, not run: each is 3 billion additions and more."""
    compiled = compiled_for(EXPANDED[name], torch.arange(2000))
    (first, *_) = compiled.asm["nvvm"].split("llvm.func @")[1:]
    assert set(re.findall(r"getelementptr %\w+\[%\w+\] : \(!llvm\.ptr, (i\d+)\)", first)) == {"i64"}
    assert not re.search(r"scf\.for|constant -\d{8,}", first)


STEPS = """
func.func @steps(%out: tensor<4xi64>) -> tensor<4xi64> {
  %by = arith.constant 1500000000 : index
  %made = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%out : tensor<4xi64>) {
    ^bb0(%old: i64):
      %i = linalg.index 0 : index
      %at = arith.muli %i, %by : index
      %number = arith.index_cast %at : index to i64
      linalg.yield %number : i64
  } -> tensor<4xi64>
  return %made : tensor<4xi64>
}
"""


def test_positions_beyond_two_to_the_31_of_four_elements():
    call = mlopt.compile_mlir(STEPS, "steps", target="cuda:sm_80", device="emulator")
    assert call(np.zeros(4, np.int64)).tolist() == [0, 1500000000, 3000000000, 4500000000]
