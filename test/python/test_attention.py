"""Attention as one kernel: against float64 eager, on CPUs and on the emulated GPU."""

from __future__ import annotations

import math
from collections.abc import Callable

import mlopt
import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from .threads import on_any_number

BOUNDS = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
HALVES = (torch.float16, torch.bfloat16)
TARGETS = {"cpu": {}, "emulator": {"target": "cuda:sm_80", "device": "emulator"}}
Shape = tuple[int, ...]


def qkv(q: Shape, keys: int, values: int, dtype: torch.dtype, heads: int | None = None) -> list[Tensor]:
    """Queries of shape ``q``, and keys and values of these lengths and widths."""
    lead = (*q[:-3], heads or q[-3])
    return [torch.randn(shape, dtype=dtype) for shape in (q, (*lead, keys, q[-1]), (*lead, keys, values))]


def check(
    function: Callable[..., Tensor], inputs: list[Tensor], target: str, kernels: int | None = 1
) -> None:
    """The compiled function against itself in float64, and how many kernels it is."""
    with torch.no_grad():
        compiled = mlopt.jit(function, *inputs, **TARGETS[target])
        made = compiled(*inputs)
        wide = [value.double() if value.is_floating_point() else value for value in inputs]
        with sdpa_kernel(SDPBackend.MATH):
            wanted = function(*wide)
    if kernels is not None:
        assert sum(kernel.calls for kernel in compiled.kernels if kernel.function == "main") == kernels
        assert all(kernel.path == "tile" for kernel in compiled.kernels)
    torch.testing.assert_close(
        made.double(), wanted, rtol=0, atol=BOUNDS[made.dtype], equal_nan=True, check_dtype=False
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_dtypes_and_odd_sizes(dtype: torch.dtype, target: str) -> None:
    check(scaled_dot_product_attention, qkv((2, 3, 37, 12), 101, 20, dtype), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("rows", "keys"), [(6, 2), (64, 64), (65, 64), (33, 150), (150, 33), (7, 129)], ids=str
)
def test_causal_blocks(rows: int, keys: int, target: str) -> None:
    check(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
        qkv((1, 2, rows, 8), keys, 8, torch.float32),
        target,
    )


MASKS: dict[str, Callable[[], Tensor]] = {
    "rows and keys": lambda: torch.randn(21, 70),
    "of a batch": lambda: torch.randn(2, 1, 21, 70),
    "keys of a batch": lambda: torch.randn(2, 1, 1, 70),
    "of each head": lambda: torch.randn(3, 21, 70),
    "bool": lambda: torch.rand(21, 70) > 0.4,
    "bool, keys of a batch": lambda: torch.arange(70) < torch.tensor([66, 3]).view(2, 1, 1, 1),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask: str, target: str) -> None:
    inputs = qkv((2, 3, 21, 16), 70, 16, torch.float32)
    check(
        lambda q, k, v, m: scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3),
        [*inputs, MASKS[mask]()],
        target,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_rows_with_nothing_to_attend_to(target: str) -> None:
    mask = torch.rand(2, 1, 21, 130) > 0.3
    mask[0, 0, 3] = False
    mask[1, 0, :, :70] = False  # the first block of keys
    mask[0, 0, 7:, 60:] = False  # and the last
    check(
        lambda q, k, v, m: scaled_dot_product_attention(q, k, v, attn_mask=m),
        [*qkv((2, 3, 21, 16), 130, 16, torch.float32), mask],
        target,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_infinities_and_nan(target: str) -> None:
    q, k, v = qkv((1, 2, 21, 8), 130, 8, torch.float32)
    q[0, 0, 3, 2], q[0, 1, 4, 1], k[0, 1, 100, 2] = math.nan, math.inf, -math.inf
    mask = torch.randn(21, 130)
    mask[5], mask[6, :64], mask[7, 3], mask[8, 127] = -math.inf, -math.inf, math.inf, math.nan
    check(
        lambda q, k, v, m: scaled_dot_product_attention(q, k, v, attn_mask=m),
        [q, k, v, mask],
        target,
    )


def log_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """The softmax as the exp of a log_softmax."""
    return (q @ k.transpose(-1, -2) / 4 + mask).log_softmax(-1).exp() @ v


def zero_for_nan(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Rows of NaN, and those that the mask takes away, have no weights."""
    return torch.nan_to_num((q @ k.transpose(-1, -2) / 4 + mask).softmax(-1)) @ v


def zero_where_nan(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """The same, by hand."""
    weights = (q @ k.transpose(-1, -2) / 4 + mask).softmax(-1)
    return torch.where(weights.isnan(), 0.0, weights) @ v


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("form", [log_weights, zero_for_nan, zero_where_nan])
def test_forms_of_softmax(form: Callable[..., Tensor], dtype: torch.dtype, target: str) -> None:
    q, k, v = qkv((1, 2, 21, 8), 130, 12, dtype)
    q[0, 0, 3, 2], q[0, 1, 4, 1] = math.nan, math.inf
    mask = torch.zeros(21, 130, dtype=dtype).masked_fill(torch.rand(21, 130) < 0.3, -math.inf)
    mask[5] = -math.inf
    check(form, [q, k, v, mask], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("causal", [False, True])
def test_grouped_heads(causal: bool, target: str) -> None:
    check(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True),
        qkv((2, 6, 19, 8), 19, 8, torch.float16, heads=2),
        target,
    )


def alibi(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
    """Written out, with a bias by distance that is computed on the way."""
    rows, keys = torch.arange(q.shape[-2]), torch.arange(k.shape[-2])
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores + (keys - rows[:, None]) * slopes[:, None, None]
    return scores.masked_fill(rows[:, None] < keys, -math.inf).softmax(-1) @ v


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_written_out(dtype: torch.dtype, target: str) -> None:
    check(
        lambda q, k, v: ((q @ k.transpose(-1, -2)) * 0.25).softmax(-1) @ v,
        qkv((2, 3, 37, 16), 41, 12, dtype),
        target,
    )


EINSUMS = {
    "heads first": ("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd"),
    "heads behind rows": ("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd"),
    "grouped": ("bhgqd,bhkd->bhgqk", "bhgqk,bhkd->bhgqd"),
}
SIZES = {"b": 2, "h": 3, "g": 2, "q": 37, "k": 41}


def by_einsum(layout: str, scaled_first: bool, mask: str) -> Callable[..., Tensor]:
    """Attention as two of torch.einsum, which moves unit dims between the first and its softmax."""

    def attend(q: Tensor, k: Tensor, v: Tensor, *bias: Tensor) -> Tensor:
        q = q * 0.25 if scaled_first else q
        scores = torch.einsum(EINSUMS[layout][0], q, k)
        scores = scores if scaled_first else scores * 0.25
        if mask == "causal":
            ahead = torch.arange(scores.shape[-1]) > torch.arange(scores.shape[-2])[:, None]
            scores = scores.masked_fill(ahead, -math.inf)
        weights = sum(bias, scores).softmax(-1)
        return torch.einsum(EINSUMS[layout][1], weights, v)

    return attend


@pytest.mark.parametrize(
    ("layout", "scaled_first", "mask", "dtype", "target"),
    [
        ("heads first", False, "none", torch.float32, "cpu"),
        ("heads first", True, "causal", torch.bfloat16, "cpu"),
        ("heads first", False, "added", torch.float16, "cpu"),
        ("heads behind rows", False, "causal", torch.float32, "cpu"),
        ("heads behind rows", True, "none", torch.float16, "cpu"),
        ("heads behind rows", True, "none", torch.float32, "emulator"),
        ("grouped", True, "added", torch.float32, "cpu"),
    ],
    ids=str,
)
def test_einsums(layout: str, scaled_first: bool, mask: str, dtype: torch.dtype, target: str) -> None:
    queries, keys = EINSUMS[layout][0].split("->")[0].split(",")
    shapes = [(queries, 16), (keys, 16), (keys, 12)]
    inputs = [
        torch.randn([SIZES.get(each, width) for each in letters], dtype=dtype) for letters, width in shapes
    ]
    if mask == "added":
        inputs.append(torch.randn(SIZES["q"], SIZES["k"], dtype=dtype))
    check(by_einsum(layout, scaled_first, mask), inputs, target)


def test_einsums_of_lengths_that_are_not_known() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return by_einsum("heads behind rows", False, "added")(q, k, v, bias)

    batch, rows, keys = (Dim(name, min=2, max=4096) for name in ("batch", "rows", "keys"))
    shapes = ({0: batch, 1: rows}, {0: batch, 1: keys}, {0: batch, 1: keys}, {0: rows, 1: keys})

    def inputs(batch: int, rows: int, keys: int) -> list[Tensor]:
        each = ((batch, rows, 3, 8), (batch, keys, 3, 8), (batch, keys, 3, 5), (rows, keys))
        return [torch.randn(shape) for shape in each]

    compiled = mlopt.jit(attend, *inputs(2, 33, 50), dynamic_shapes=shapes)
    for sizes in ((2, 33, 50), (3, 7, 130), (2, 130, 7)):
        given = inputs(*sizes)
        wanted = attend(*(value.double() for value in given))
        torch.testing.assert_close(compiled(*given).double(), wanted, rtol=0, atol=2e-5)
    assert sum(kernel.calls for kernel in compiled.kernels) == 1


def test_bias_by_distance() -> None:
    inputs = [*qkv((2, 3, 37, 16), 37, 16, torch.float32), torch.rand(3)]
    check(alibi, inputs, "cpu", kernels=None)


def test_rows_of_lowest_scores_alone_are_nan_if_written_out() -> None:
    inputs = qkv((1, 2, 21, 8), 70, 8, torch.float32)
    mask = torch.zeros(21, 70)
    mask[5] = -math.inf
    check(lambda q, k, v, m: (q @ k.transpose(-1, -2) + m).softmax(-1) @ v, [*inputs, mask], "cpu")


class Projected(torch.nn.Module):
    """Queries, keys and values out of one projection; heads next to each other in the result."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        return y.transpose(1, 2).reshape(batch, length, width)


def test_reads_and_writes_where_its_neighbours_do() -> None:
    module, x = Projected(24, 3).eval(), torch.randn(2, 19, 24)
    with torch.no_grad():
        compiled = mlopt.jit(module, x)
        torch.testing.assert_close(compiled(x), module(x), rtol=0, atol=2e-5)
    main = [kernel for kernel in compiled.kernels if kernel.function == "main"]
    assert [kernel.ops[-1] for kernel in main] == ["add", "transpose"]  # the projection, and attention


@pytest.mark.parametrize("length", [15, 64, 65, 131])
def test_heads_side_by_side(length: int) -> None:
    """Queries, keys and values of all heads in one tensor; the same bits on any number of threads."""

    def attend(x: Tensor) -> Tensor:
        parts = x.view(1, length, 3, 5, 24).permute(2, 0, 3, 1, 4)
        return scaled_dot_product_attention(*parts.unbind(0), is_causal=True).transpose(1, 2)

    x = torch.randn(1, length, 3 * 5 * 24)
    check(attend, [x], "cpu", kernels=None)
    compiled = mlopt.jit(attend, x)
    assert "vector.scatter" not in compiled.asm["loops"]
    on_any_number(lambda: compiled(x))


@pytest.mark.parametrize("lengths", [(40, 40), (7, 130), (130, 7)], ids=str)
def test_batch_and_lengths_that_are_not_known(lengths: tuple[int, int]) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)

    batch, rows, keys = (Dim(name, min=2, max=4096) for name in ("batch", "rows", "keys"))
    shapes = ({0: batch, 2: rows}, {0: batch, 2: keys}, {0: batch, 2: keys}, {0: rows, 1: keys})
    example = [*qkv((2, 2, 33, 8), 50, 8, torch.float32), torch.randn(33, 50)]
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        compiled = mlopt.jit(attend, *example, dynamic_shapes=shapes)
        inputs = [*qkv((3, 2, lengths[0], 8), lengths[1], 8, torch.float32), torch.randn(lengths)]
        torch.testing.assert_close(compiled(*inputs), attend(*inputs), rtol=0, atol=2e-5)
    assert sum(kernel.calls for kernel in compiled.kernels) == 1


def repeated_by_hand(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each head of the keys and values for four of the queries, as many models write it."""

    def repeat(x: Tensor) -> Tensor:
        batch, heads, rows, width = x.shape
        return x[:, :, None].expand(batch, heads, 4, rows, width).reshape(batch, heads * 4, rows, width)

    return scaled_dot_product_attention(q, repeat(k), repeat(v), is_causal=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_heads_repeated_by_hand_with_lengths_that_are_not_known(target: str, dtype: torch.dtype) -> None:
    shape = {0: Dim("batch", min=1, max=64), 2: Dim("rows", min=2, max=4096)}
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        example = qkv((2, 8, 32, 16), 32, 16, dtype, heads=2)
        compiled = mlopt.jit(repeated_by_hand, *example, dynamic_shapes=(shape,) * 3, **TARGETS[target])
        for batch, rows in ((1, 2), (3, 17), (2, 64)):
            inputs = qkv((batch, 8, rows, 16), rows, 16, dtype, heads=2)
            wanted = repeated_by_hand(*(x.double() for x in inputs))
            torch.testing.assert_close(
                compiled(*inputs).double(), wanted, rtol=0, atol=BOUNDS[dtype], check_dtype=False
            )
    assert sum(kernel.calls for kernel in compiled.kernels) == 1


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def masked_by_hand(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return (q @ k.transpose(-1, -2) * 0.25 + mask).softmax(-1) @ v


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("function", "groups"),
    [(masked, 1), (masked, 2), (masked_by_hand, 1)],
    ids=["called", "grouped", "by hand"],
)
def test_a_mask_for_each_batch_with_lengths_that_are_not_known(
    function: Callable[..., Tensor], groups: int, target: str
) -> None:
    """One kernel on both targets: no reshape is left to the host."""
    batch, rows, keys = (Dim(name, min=2, max=4096) for name in ("batch", "rows", "keys"))
    first = {0: batch} if groups == 1 else {}
    shapes = tuple({**first, **dims} for dims in ({2: rows}, {2: keys}, {2: keys}, {2: rows, 3: keys}))

    def inputs(size: int, rows: int, keys: int) -> list[Tensor]:
        queries = (size, 2 * groups, rows, 8)
        return [*qkv(queries, keys, 8, torch.float32, heads=2), torch.randn(size, 1, rows, keys)]

    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        compiled = mlopt.jit(function, *inputs(2, 9, 12), dynamic_shapes=shapes, **TARGETS[target])
        for sizes in ((2, 9, 12), (3 if groups == 1 else 2, 21, 40)):
            given = inputs(*sizes)
            wanted = function(*(value.double() for value in given))
            torch.testing.assert_close(compiled(*given).double(), wanted, rtol=0, atol=2e-5)
    assert sum(kernel.calls for kernel in compiled.kernels) == 1


def test_training_keeps_what_the_backward_pass_reads() -> None:
    def loss(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=True).square().sum()

    torch._dynamo.reset()
    inputs = [value.requires_grad_() for value in qkv((2, 2, 33, 8), 33, 8, torch.float64)]
    wanted = torch.autograd.grad(loss(*inputs), inputs)
    made = torch.autograd.grad(torch.compile(loss, backend="mlopt")(*inputs), inputs)
    for one, other in zip(made, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_wide_values_stay_as_they_are() -> None:
    inputs = qkv((1, 2, 9, 8), 40, 300, torch.float32)
    with torch.no_grad():
        compiled = mlopt.jit(scaled_dot_product_attention, *inputs, **TARGETS["cpu"])
        torch.testing.assert_close(
            compiled(*inputs), scaled_dot_product_attention(*inputs), rtol=0, atol=2e-5
        )
    assert not any("attention" in kernel.ops for kernel in compiled.kernels)


def test_one_row_of_a_gpu_is_one_kernel() -> None:
    inputs = qkv((2, 3, 1, 8), 40, 8, torch.float32)
    with torch.no_grad():
        compiled = mlopt.jit(scaled_dot_product_attention, *inputs, **TARGETS["emulator"])
        torch.testing.assert_close(
            compiled(*inputs), scaled_dot_product_attention(*inputs), rtol=0, atol=2e-5
        )
    assert ["attention" in kernel.ops for kernel in compiled.kernels] == [True]
