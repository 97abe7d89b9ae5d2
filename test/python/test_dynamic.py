"""Sizes known at the call only, in ops that are not as simple as a batch: beside eager at several sizes."""

import re

import mlopt
import pytest
import torch
from mlopt.errors import InputError, UnsupportedOpError
from torch.export import Dim

ROWS = Dim("rows", min=2, max=512)
SIZES = (6, 2, 17, 65)  # the first is the one that is compiled for


def rows(*shape):
    """Random tensors with as many rows as are asked for, of ``shape`` beside that."""
    return lambda size: torch.randn(size, *shape)


def indices(bound, *shape):
    return lambda size: torch.randint(0, bound, (size, *shape))


ONE = (rows(9),)
CASES = {
    # Indices are i64, twice as wide as the accumulators of the product beside them.
    "tril": (lambda x: (x @ x.t()).tril(), ONE),
    "triu": (lambda x: (x @ x.t()).triu(1), ONE),
    "mask": (lambda x: torch.where(torch.arange(9) < torch.arange(x.shape[0])[:, None], x, 0.0), ONE),
    # torch-mlir lowers these to loops over buffers.
    "cumsum": (lambda x: x.cumsum(0), ONE),
    "cumprod": (lambda x: x.cumprod(0), ONE),
    "cumsum_scaled": (lambda x: x.cumsum(0) * x.tanh() + (x * 2), ONE),
    "cumsum_late": (lambda x: [y := x * 2, y + x.cumsum(0)][1], ONE),
    "cumsums_fused": (lambda x: [y := x.exp(), x.cumsum(0) + y + y.cumprod(0)][1], ONE),
    "cumsums": (lambda x: x.cumsum(0).cumsum(0), ONE),
    "sort": (lambda x: x.sort(0)[0], ONE),
    "sort_equals": (lambda x: torch.where(x > 1, torch.nan, x.round()).sort(stable=True, dim=0)[1], ONE),
    "sort_long": (lambda x: x.round().sort(stable=True, dim=1, descending=True), (rows(257),)),
    "argsort": (lambda x: x.argsort(1), ONE),
    "topk": (lambda x: x.topk(3, 1), ONE),
    "scatter": (lambda x, i: torch.zeros_like(x).scatter(0, i % x.shape[0], x), (rows(9), indices(1, 9))),
    "scatter_rows": (lambda x, i: x.scatter(1, i, x * 2), (rows(4), lambda n: torch.arange(4).repeat(n, 1))),
    "scatter_add": (lambda x, i: torch.zeros(20, 9).scatter_add(0, i, x), (rows(9), indices(20, 9))),
    "index_add": (lambda x, i: torch.zeros(20, 9).index_add(0, i, x), (rows(9), indices(20))),
    "index_copy": (lambda x, y: x.index_copy(1, torch.tensor([3, 0]), y), (rows(4, 3), rows(2, 3))),
    "fold": (lambda x: torch.nn.functional.fold(x, (3, 4), (2, 2)), (rows(8, 6),)),
    # The number of rows is not that of any argument of the kernel.
    "ones": (lambda x: torch.ones(x.shape[0], 9).sum(0) + torch.arange(x.shape[0]).sum(), ONE),
    # Sizes that are computed with comparisons.
    "roll": (lambda x: x.roll(2, 0), ONE),
    "roll_back": (lambda x: x.roll(-1, 0), ONE),
    "ends": (lambda x: x[:2] + x[-2:], ONE),
    "flip": (lambda x: x.flip(0), ONE),
    # Rows of the result, as long as is not known, are written across.
    "cat_turned": (lambda x: torch.cat([x.t(), torch.ones(300, 4)], 1), (rows(300),)),
    "pad_turned": (lambda x: torch.nn.functional.pad(x.t(), (1, 2)), (rows(300),)),
}


@pytest.mark.parametrize("name", CASES)
def test_dynamic_rows(name):
    function, makers = CASES[name]
    torch.manual_seed(0)
    compiled = mlopt.jit(
        function, *(make(SIZES[0]) for make in makers), dynamic_shapes=tuple({0: ROWS} for _ in makers)
    )
    for size in SIZES:
        inputs = [make(size) for make in makers]
        torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=2e-5, atol=2e-5)


WRITES = {
    "index_put": lambda x, i, y: x.index_put((i[:, 0],), y),
    "index_put_each": lambda x, i, y: x.index_put((i[:, :1], i), y, accumulate=True),
    "scatter": lambda x, i, y: x.scatter(0, i, y),
    "index_fill": lambda x, i, y: x.index_fill(0, i[:, 0], 2.0),
    "own": lambda x, i, y: y.scatter(1, i, y * 2),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_through_no_index_are_refused(name):
    """torch-mlir's loops write one element then, wherever that is."""

    def make(size):
        return torch.randn(9, 9), torch.stack([torch.arange(9)] * 4)[:size], torch.randn(size, 9)

    rows = {0: Dim("rows", min=0)}
    compiled = mlopt.jit(WRITES[name], *make(4), dynamic_shapes=(None, rows, rows))
    for size in (3, 1):
        inputs = make(size)
        assert torch.equal(compiled(*inputs), WRITES[name](*inputs))
    with pytest.raises(InputError, match=r"shape\[0\] >= 1"):
        compiled(*make(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8], ids=str)
def test_an_addend_whose_rows_are_read_across(dtype):
    def make(*shape):
        return torch.randint(-3, 4, shape).to(dtype)

    def function(x, w, y):
        return x @ w + y.t()

    weight = make(9, 300)
    shapes = ({0: ROWS}, None, {1: ROWS})
    compiled = mlopt.jit(function, make(6, 9), weight, make(300, 6), dynamic_shapes=shapes)
    for size in SIZES:
        inputs = make(size, 9), weight, make(300, size)
        torch.testing.assert_close(compiled(*inputs), function(*inputs))


def test_loops_over_buffers_are_reported():
    compiled = mlopt.jit(lambda x: x.cumsum(0), torch.randn(6, 9), dynamic_shapes=({0: ROWS},))
    assert any("slow" in kernel.path for kernel in compiled.kernels)


def test_a_size_that_depends_on_data_is_named():
    text = """func.func @main(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
      %v = tensor.extract %n[] : tensor<i64>
      %i = arith.index_cast %v : i64 to index
      %s = tensor.extract_slice %x[0] [%i] [1] : tensor<8xf32> to tensor<?xf32>
      return %s : tensor<?xf32>
    }"""
    with pytest.raises(UnsupportedOpError) as caught:
        mlopt.compile_mlir(text)
    assert "the size of a result depends on tensor.extract" in str(caught.value)
    assert "-:2:" in caught.value.where
    assert "mlopt.result_sizes" in caught.value.remedy
    assert "bug" not in str(caught.value)


def test_a_size_may_be_stated():
    text = """func.func @main(%x: tensor<?xf32>, %y: tensor<8xf32>) -> tensor<?xf32>
        attributes {mlopt.result_sizes = ["a0_0"]} {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?xf32>
      %c1 = arith.constant 1 : index
      %twice = arith.shli %n, %c1 : index
      %same = arith.shrui %twice, %c1 : index
      %e = tensor.empty(%same) : tensor<?xf32>
      %r = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    x = torch.randn(11)
    torch.testing.assert_close(mlopt.compile_mlir(text)(x, torch.zeros(8)), x.exp())


def test_a_view_that_merges_two_dynamic_sizes():
    def function(x):
        return x.reshape(-1, 24) * 2, torch.nn.functional.linear(x, torch.ones(3, 24)), x.flatten()

    dynamic = ({0: Dim("batch"), 1: Dim("length")},)
    compiled = mlopt.jit(function, torch.randn(4, 7, 24), dynamic_shapes=dynamic)
    for batch, length in ((4, 7), (3, 5), (2, 9)):
        x = torch.randn(batch, length, 24)
        torch.testing.assert_close(compiled(x), function(x))


COLUMNS = {"softmax": lambda y: y.softmax(0), "less their means": lambda y: y - y.mean(0)}


@pytest.mark.parametrize("target", [{}, {"target": "cuda:sm_80", "device": "emulator"}], ids=["cpu", "cuda"])
@pytest.mark.parametrize(
    "dims", [{0: ROWS}, {1: Dim.AUTO}, {0: ROWS, 1: Dim.AUTO}], ids=["rows", "row", "both"]
)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_view_with_more_than_one_open_size(name, dims, target):
    """What stays, and what is left for -1: both are known when the program runs."""

    def function(x):
        return COLUMNS[name](x.view(x.shape[0], -1, 8))

    compiled = mlopt.jit(function, torch.randn(5, 16), dynamic_shapes=(dims,), **target)
    assert "tensor.reshape" not in compiled.asm["linalg"]
    for rows_, blocks in ((5, 2), (9, 6), (2, 3)):
        x = torch.randn(rows_ if 0 in dims else 5, 8 * (blocks if 1 in dims else 2))
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-5, atol=1e-6)


def test_torchs_guards_stand_for_checks_of_sizes():
    shapes = ({0: ROWS}, {0: ROWS})
    compiled = mlopt.jit(lambda x, y: x + y, rows(9)(6), rows(9)(6), dynamic_shapes=shapes)
    assert "cf.assert" not in compiled.asm["linalg"]
    assert "sizes_agree" not in compiled.asm["linalg"]


# Buffers whose sizes are asked of a reshape of another one.
RESHAPED = """
func.func @main(%x: tensor<?x3xf32>, %w: tensor<3x5xf32>, %v: tensor<1x5x7xf32>, %z: tensor<1x7x2xf32>)
    -> tensor<1x?x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %te = tensor.empty(%n) : tensor<?x5xf32>
  %ti = linalg.fill ins(%zero : f32) outs(%te : tensor<?x5xf32>) -> tensor<?x5xf32>
  %t = linalg.matmul ins(%x, %w : tensor<?x3xf32>, tensor<3x5xf32>) outs(%ti : tensor<?x5xf32>)
    -> tensor<?x5xf32>
  %s = tensor.expand_shape %t [[0, 1], [2]] output_shape [1, %n, 5]
    : tensor<?x5xf32> into tensor<1x?x5xf32>
  %m = tensor.dim %s, %c1 : tensor<1x?x5xf32>
  %ue = tensor.empty(%m) : tensor<1x?x7xf32>
  %ui = linalg.fill ins(%zero : f32) outs(%ue : tensor<1x?x7xf32>) -> tensor<1x?x7xf32>
  %u = linalg.batch_matmul ins(%s, %v : tensor<1x?x5xf32>, tensor<1x5x7xf32>)
    outs(%ui : tensor<1x?x7xf32>) -> tensor<1x?x7xf32>
  %re = tensor.empty(%m) : tensor<1x?x2xf32>
  %ri = linalg.fill ins(%zero : f32) outs(%re : tensor<1x?x2xf32>) -> tensor<1x?x2xf32>
  %r = linalg.batch_matmul ins(%u, %z : tensor<1x?x7xf32>, tensor<1x7x2xf32>)
    outs(%ri : tensor<1x?x2xf32>) -> tensor<1x?x2xf32>
  return %r : tensor<1x?x2xf32>
}
"""


@pytest.mark.parametrize("options", [{}, {"target": "cuda:sm_80", "device": "emulator"}], ids=["cpu", "gpu"])
def test_sizes_of_reshaped_buffers(options):
    compiled = mlopt.compile_mlir(RESHAPED, **options)
    assert "memref.alloc(" not in compiled.asm["threads" if options else "loops"]
    w, v, z = torch.randn(3, 5), torch.randn(1, 5, 7), torch.randn(1, 7, 2)
    for size in SIZES:
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x, w, v, z), x @ w @ v @ z, rtol=1e-5, atol=1e-5)


def test_parts_of_symbolic_sizes() -> None:
    def halves(x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1).exp()

    torch._dynamo.reset()
    compiled = torch.compile(halves, backend="mlopt", dynamic=True, options={"fallback": False})
    for shape in ((3, 8), (5, 9), (4, 2)):  # a part of the last becomes a part of one element, by a guard
        x = torch.randn(shape, requires_grad=True)
        wanted = halves(x)
        (gradient,) = torch.autograd.grad(compiled(x).sum(), x)
        torch.testing.assert_close(compiled(x), wanted)
        torch.testing.assert_close(gradient, torch.autograd.grad(wanted.sum(), x)[0])


def eight_columns(x):
    return x.view(x.shape[0], -1, 8) * 2


def shuffled(x):
    return torch.nn.functional.pixel_shuffle(x, 2)


def in_fours(x):
    return x.unflatten(-1, (4, -1)).sum(1)


@pytest.mark.parametrize(
    ("function", "example", "fits", "does_not", "whole"),
    [
        (
            eight_columns,
            (3, 16),
            [(5, 24), (2, 32)],
            (5, 20),
            "(x.shape[0]*x.shape[1]) % (8*x.shape[0])) == 0, but x.shape[0] is 5, x.shape[1] is 20",
        ),
        (
            shuffled,
            (2, 8, 4, 4),
            [(3, 12, 5, 7), (2, 4, 2, 3)],
            (2, 6, 4, 4),
            "(x.shape[1] % 4) == 0, but x.shape[1] is 6",
        ),
        (in_fours, (4, 16), [(3, 20), (2, 8)], (4, 18), "(x.shape[1] % 4) == 0, but x.shape[1] is 18"),
    ],
)
def test_sizes_that_cannot_be_divided_are_refused(function, example, fits, does_not, whole):
    sizes = (dict.fromkeys(range(len(example)), torch.export.Dim.AUTO),)
    compiled = mlopt.jit(function, torch.randn(example), dynamic_shapes=sizes)
    for shape in fits:
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), function(x))
    with pytest.raises(RuntimeError):
        function(torch.randn(does_not))
    with pytest.raises(InputError, match=re.escape(whole)):
        compiled(torch.randn(does_not))


def test_steps_of_half_of_unknown_length():
    compiled = mlopt.jit(
        lambda x: torch.arange(0.0, x.shape[0], 0.5) * 2, torch.randn(6), dynamic_shapes=({0: ROWS},)
    )
    for size in SIZES:
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), torch.arange(0.0, size, 0.5) * 2)
