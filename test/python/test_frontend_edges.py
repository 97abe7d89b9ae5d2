"""Edges of ops beside eager: no elements, no dimensions, negative sizes and indices, signs of zero."""

import collections

import mlopt
import pytest
import torch
from mlopt.errors import CompileError, InputError
from mlopt.test.python.beside_eager import assert_as_eager, assert_raises_as_eager, assert_same
from torch.nn import functional as F

NAN, INF = float("nan"), float("inf")

# Of x: [0, 3].
EMPTY = {
    "views": lambda x: (x.view(3, 0), x.reshape(-1), x.view(0, 7), x.t(), x[None], x.unsqueeze(0).squeeze()),
    "stacks": lambda x: (torch.stack([x, x]), torch.cat([x, x]), torch.cat([x, x], 1), x.repeat(2, 2)),
    "tiles": lambda x: (x.tile(2), x.repeat_interleave(2, 0), x.expand(2, 0, 3), F.pad(x, (1, 1, 1, 1))),
    "products": lambda x: (x @ x.t(), x.t() @ x, torch.bmm(x.view(0, 3, 1), x.view(0, 1, 3))),
    "batches": lambda x: (torch.bmm(x[None], x.t()[None]), torch.bmm(x.t()[None], x[None])),
    "vectors": lambda x: (x @ x.new_ones(3), x.t() @ x[:, 0], torch.outer(x[:, 0], x.new_ones(3))),
    "layers": lambda x: (F.linear(x, x.new_ones(4, 3), x.new_ones(4)), torch.einsum("ij,kj->ik", x, x)),
    "windows": lambda x: (F.max_pool1d(x[:, None, :], 2), F.conv1d(x[:, None], x.new_ones(2, 1, 2))),
    "norms": lambda x: (
        F.layer_norm(x, (3,)),
        F.group_norm(x, 3),
        F.batch_norm(x, x.new_zeros(3), x.new_ones(3)),
    ),
    "sums": lambda x: (x.sum(), x.sum(0), x.mean(), x.mean(0), x.prod(0), x.any(), x.all(0), x.cumsum(0)),
    "rows": lambda x: (x.softmax(0), x.softmax(1), x.logsumexp(1), x.amax(1), x.argmax(1), x.max(1).values),
    "losses": lambda x: (F.cross_entropy(x, torch.zeros(0, dtype=torch.long)), F.mse_loss(x, x)),
    "writes": lambda x: x.new_ones(2, 3).index_add(0, torch.zeros(0, dtype=torch.long), x),
    "parts": lambda x: (x.split(2, 1), x.chunk(3, 1), x[:, :0], x.t()[1:], x.diff(dim=0), x.sort(1).indices),
}


@pytest.mark.parametrize("name", EMPTY)
def test_without_elements(name):
    assert_as_eager(EMPTY[name], torch.randn(0, 3))


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.bool], ids=str)
def test_bytes_without_elements(dtype, target):
    def f(x, image):
        larger = F.interpolate(image, scale_factor=2, mode="bilinear") if dtype == torch.uint8 else image
        return x | x, torch.cat([x, x], 1), larger, x.sum(), torch.zeros(0, 2, dtype=dtype)

    device = {} if target == "cpu" else {"target": target, "device": "emulator"}
    example = torch.zeros(0, 8, dtype=dtype), torch.zeros(0, 3, 4, 4, dtype=dtype)
    for actual, eager in zip(mlopt.jit(f, *example, **device)(*example), f(*example), strict=True):
        assert (actual.shape, actual.dtype) == (eager.shape, eager.dtype)
        assert torch.equal(actual, eager)


def test_cat_drops_empty_operands():
    def cats(none, some, rows):
        return torch.cat([none, some]), torch.cat([none, some, none, some], -1), torch.cat([rows, some])

    assert_as_eager(cats, torch.randn(0), torch.randn(2, 3), torch.randn(0, 3))
    assert_as_eager(lambda a, b: torch.cat([a, b]), torch.randn(0), torch.randn(0))
    assert_as_eager(cats, torch.randn(0), torch.arange(6, dtype=torch.int32).reshape(2, 3), torch.randn(0, 3))


@pytest.mark.parametrize(
    "sizes", [(2, 0, 5, 8, 8), (2, 4, 0, 8, 8), (0, 4, 4, 8, 8), (2, 4, 4, 0, 5), (2, 4, 4, 8, 0)], ids=str
)
def test_attention_without_elements(sizes):
    batch, length, span, width, out = sizes
    q, k, v = (
        torch.randn(batch, 3, length, width),
        torch.randn(batch, 3, span, width),
        torch.randn(batch, 3, span, out),
    )
    assert_as_eager(F.scaled_dot_product_attention, q, k, v)


EXTREMES = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "amax": lambda x: x.amax(0),
    "amin": lambda x: x.amin(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(0),
    "max of rows": lambda x: x.max(0),
    "aminmax": lambda x: x.aminmax(),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_of_nothing(name):
    with pytest.raises((RuntimeError, IndexError)):
        EXTREMES[name](torch.randn(0, 3))
    with pytest.raises(CompileError, match=r"(?s)non-zero size|numel\(\) == 0|zero-size dimension"):
        mlopt.jit(EXTREMES[name], torch.randn(0, 3))


# Of a tensor without dimensions.
SCALAR = {
    "places": lambda x: (x.argmax(), x.argmin(), x.argmax(0), x.argmin(-1), x.argmax(0, True)),
    "extremes": lambda x: (
        x.max(0),
        x.min(-1),
        x.max(0, True),
        x.amax(0),
        x.amin(-1),
        x.amax(),
        x.aminmax(dim=0),
    ),
    "order": lambda x: (x.sort(), x.sort(0), x.sort(-1, True), x.topk(1), x.argsort(), x.flip(0), x.roll(1)),
    "sums": lambda x: (
        x.sum(0),
        x.mean(-1),
        x.prod(0),
        x.any(0),
        x.all(0),
        x.var(0, correction=0),
        x.logsumexp(0),
    ),
    "running": lambda x: (x.cumsum(0), x.cumsum(-1), x.cumprod(0), x.softmax(0), x.log_softmax(-1)),
    "reads": lambda x: (
        x.gather(0, torch.tensor(0)),
        x.gather(0, torch.tensor([0, 0])),
        x.take(torch.tensor([0])),
    ),
    "writes": lambda x: (
        x.scatter(0, torch.tensor(0), x * 2),
        x.scatter(0, torch.tensor(0), 7.0),
        x.scatter_add(0, torch.tensor(0), x),
        x.scatter_reduce(0, torch.tensor(0), x, "mean"),
        x.index_add(0, torch.tensor([0]), x),
        x.index_copy(0, torch.tensor([0]), x * 3),
        x.index_fill(0, torch.tensor([0]), 3.0),
    ),
}


@pytest.mark.parametrize("name", SCALAR)
def test_without_dimensions(name):
    assert_as_eager(SCALAR[name], torch.tensor(2.5))


PADS = [(-1, 0), (-1, 2), (-2, -3), (-1, 2, 2, -3), (1, -1, -1, 1), (-6, 0), (-1, 2, 0, 0, 1, -1)]


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_borders(mode):
    x = torch.randn(2, 3, 5, 6)
    assert_as_eager(
        lambda x: (
            F.pad(x, (2, 1, 1, 3), mode),
            F.pad(x, (0, 1, 2, 0), mode),
            F.pad(x[0], (5, 5), mode),
            F.pad(x.bfloat16(), (1, 1, 1, 1, 1, 1), mode),
            F.pad(x, (0, 0, 0, 0), mode),
        ),
        x,
    )


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_negative_pads(mode):
    x = torch.randn(2, 3, 5, 6)
    pads = [pad for pad in PADS if mode == "constant" or len(pad) == 4]
    for pad in pads:
        assert_as_eager(lambda x, pad=pad: F.pad(x, pad, mode), x)
    if mode == "constant":
        assert_as_eager(lambda x: F.pad(x, (-1, 2), value=7), torch.arange(5))


SIGNED = torch.tensor([-0.0, 0.0, NAN, -1.5, 2.5, -INF, INF, 1e-42, -1e-42])
KEEP_SIGNS = {
    "relu": lambda x: (torch.relu(x), F.relu6(x), F.leaky_relu(x), F.threshold(x, 0.0, 0.0), x.clamp(min=0)),
    "elu": lambda x: (F.elu(x), F.selu(x), F.celu(x, 0.5), F.elu(x, -2.0)),
    "parts": lambda x: (x.frac(), x.trunc(), x.round(), x.floor(), x.ceil(), torch.fix(x)),
    "running": lambda x: (x[:1].cumsum(0), x[:1].sum(), x[:1].prod()),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", KEEP_SIGNS)
def test_signs_of_zero(name, dtype):
    assert_as_eager(KEEP_SIGNS[name], SIGNED.to(dtype))


# Their exceptions and words are eager's.
WRONG_VALUES = {
    "one_hot beyond": (lambda i: F.one_hot(i, 3), torch.tensor([0, 1, 3])),
    "one_hot below": (lambda i: F.one_hot(i, 3), torch.tensor([0, -1, 2])),
    "masked_scatter": (
        lambda x, m: x.masked_scatter(m, x[0, :2]),
        torch.randn(2, 3),
        torch.ones(2, 3, dtype=torch.bool),
    ),
    "index_select": (lambda x, i: x.index_select(0, i), torch.randn(4, 3), torch.tensor([0, -1])),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_values_raise_as_in_eager(name):
    assert_raises_as_eager(*WRONG_VALUES[name])


Pair = collections.namedtuple("Pair", "first second")
RETURNED = {
    "nothing": lambda x: None,
    "an empty tuple": lambda x: (),
    "numbers": lambda x: 5,
    "words": lambda x: ["word", 2.5, True, None],
    "empty trees": lambda x: [(), {}, []],
    "a size": lambda x: x.numel(),
    "trees": lambda x: (x + 1, None, [3, (), {"a": None, "b": x * 2, "c": []}], "word", 1.5, True),
    "a named tuple": lambda x: Pair(x + 1, None),
    "an ordered dict": lambda x: collections.OrderedDict(z=x + 1, a=None),
    "keys": lambda x: {1: x + 1, "b": None, (1, 2): x},
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned(name):
    assert_as_eager(RETURNED[name], torch.randn(2, 3))


def test_a_function_without_results_checks_its_inputs_and_changes_buffers():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(x)

    module = Module()
    compiled = mlopt.jit(module, torch.ones(3))
    assert compiled(torch.ones(3)) is None
    assert module.count.tolist() == [1, 1, 1]
    with pytest.raises(InputError):
        mlopt.jit(lambda x: None, torch.ones(3))(torch.ones(4))


def place_of_booleans(x):
    return x.argmax()  # eager refuses this


def test_errors_have_the_line_in_a_plain_function():
    with pytest.raises(CompileError) as caught:
        mlopt.jit(place_of_booleans, torch.ones(3, dtype=torch.bool))
    assert caught.value.where == f"{__file__}:{place_of_booleans.__code__.co_firstlineno + 1}"


OF_ROWS = {
    "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(),
    "flat": lambda x: x.reshape(-1).amin(0),
    "place": lambda x: x.argmax(0),
    "values": lambda x: x.max(dim=0).values,
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_extremes_over_a_dynamic_size_refuse_nothing(name):
    x = torch.randn(4, 3)
    compiled = mlopt.jit(OF_ROWS[name], x, dynamic_shapes=({0: torch.export.Dim("rows")},))
    assert_same(compiled(x[:2]), OF_ROWS[name](x[:2]))
    with pytest.raises(InputError):
        compiled(x[:0])


def test_other_reductions_over_a_dynamic_size_take_nothing():
    def function(x):
        return x.sum(0), x.softmax(0), x.amax(1), x.prod(0)

    compiled = mlopt.jit(function, torch.randn(4, 3), dynamic_shapes=({0: torch.export.Dim("rows")},))
    assert_same(compiled(torch.randn(0, 3)), function(torch.randn(0, 3)))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.bool, torch.bfloat16])
def test_constants_of_each_dtype(dtype):
    def constants(x):
        return torch.full_like(x, 1), torch.zeros_like(x), x.new_full((2, 3), 1), torch.empty_like(x).fill_(1)

    x = torch.ones(3, 4).to(dtype)
    for made, wanted in zip(mlopt.jit(constants, x)(x), constants(x), strict=True):
        assert made.dtype == wanted.dtype and torch.equal(made, wanted)
