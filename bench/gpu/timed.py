"""What is timed on a GPU: what moves memory, at sizes beyond its caches, launches, and what multiplies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...test.corpus.basic import normalize_by_sum, relu_scale
from . import attentions, convolution_rows, float8_rows, model_rows, operations, product_rows
from .workload import ATTENTION, BF16, CHAINS, F32, GRAPHS, LAUNCHES, OTHERS, ROWS, Size, Source, Timed

_CLASSES = 128_256
_ELEMENTS = 1 << 26


def ten_kernels(x: Tensor) -> Tensor:
    """Ten reductions, each of which needs all of the one before."""
    for _ in range(5):
        x = x.softmax(-1).softmax(0)
    return x


TIMED: dict[str, Timed] = {}


def _add(
    name: str,
    title: str,
    group: str,
    function: Callable[..., Any],
    make: Callable[[Source, Size], Sequence[Tensor]],
    size: Size,
    tiny: Size,
    dtypes: Sequence[torch.dtype] = (F32,),
    twice: bool = False,
    table: bool = False,
) -> None:
    for dtype in dtypes:
        short = "f32" if dtype is F32 else "bf16"
        TIMED[f"{name}-{short}"] = Timed(
            f"{name}-{short}", f"{title} {short}", group, dtype, function, make, size, tiny, twice, table
        )


def _one(source: Source, size: Size) -> Sequence[Tensor]:
    return (source.normal(*size),)


def _three(source: Source, size: Size) -> Sequence[Tensor]:
    return [source.normal(*size) for _ in range(3)]


def _with_row(count: int, rows: int = 1) -> Callable[[Source, Size], Sequence[Tensor]]:
    """``count`` tensors, and ``rows`` of the last dimension alone."""
    return lambda source, size: [
        *(source.normal(*size) for _ in range(count)), *(source.normal(size[-1]) for _ in range(rows))
    ]  # fmt: skip


def _add_launches(group: str, name: str, title: str) -> None:
    """Small kernels, of which launching is most."""
    size, tiny = (128, 256), (8, 16)
    _add(f"ten{name}", f"10 softmaxes, 128×256{title}", group, ten_kernels, _one, size, tiny)
    _add(f"one{name}", f"relu(x)·0.5+1, 128×256{title}", group, relu_scale, _one, size, tiny)


def _add_chains(side: int) -> None:
    size, tiny, both = (side, side), (24, 40), (F32, BF16)
    add = partial(_add, group=CHAINS, size=size, tiny=tiny, dtypes=both)
    gelu = partial(F.gelu, approximate="tanh")
    add(f"relu-{side}", f"relu(x)·0.5+1, {side}²", function=relu_scale, make=_one)
    scaled = operations.scaled_sigmoid
    add(f"sigmoid-{side}", f"sigmoid(relu(x·w+b)), {side}²", function=scaled, make=_three)
    add(f"gelu-{side}", f"tanh-GELU, {side}²", function=gelu, make=_one)
    residual = operations.residual_gelu
    add(f"residual-{side}", f"residual+bias+GELU, {side}²", function=residual, make=_with_row(2))


def _add_rows(columns: int, dtype: torch.dtype) -> None:
    size, tiny = (_ELEMENTS // columns, columns), (3, columns)
    where = f", {size[0]}×{columns}"
    add = partial(_add, group=ROWS, size=size, tiny=tiny, dtypes=(dtype,))
    add(f"softmax-{columns}", f"softmax{where}", function=operations.softmax, make=_one)
    norm = operations.layer_norm
    add(f"layer-norm-{columns}", f"layer_norm{where}", function=norm, make=_with_row(1, 2))
    add(f"rms-norm-{columns}", f"rms_norm{where}", function=operations.rms_norm, make=_with_row(1))
    add(f"log-softmax-{columns}", f"log_softmax{where}", function=operations.log_softmax, make=_one)


def _add_others() -> None:
    add = partial(_add, group=OTHERS)
    add(
        "cross-entropy", "cross-entropy, 1024×128256", function=operations.nll, size=(1024, _CLASSES),
        tiny=(2, _CLASSES), make=lambda s, n: (s.normal(*n), s.index(n[1], n[0])),
    )  # fmt: skip
    add(
        "normalize", "x/x.sum(), 8192²", function=normalize_by_sum, size=(8192, 8192), tiny=(24, 40),
        twice=True, make=lambda s, n: (s.uniform(*n),),
    )  # fmt: skip
    both, square = (F32, BF16), (8192, 8192)
    add(
        "column-sum",
        "x.sum(0), 8192²",
        function=operations.column_sum,
        size=square,
        tiny=(40, 24),
        dtypes=both,
        make=_one,
    )
    add(
        "transpose",
        "x.t().contiguous(), 8192²",
        function=operations.transpose,
        size=square,
        tiny=(24, 40),
        dtypes=both,
        make=_one,
    )
    add(
        "embedding", "embedding, 32768 of 128256×4096", function=operations.lookup, dtypes=(BF16,),
        size=(32768, _CLASSES, 4096), tiny=(5, 50, 64), table=True,
        make=lambda s, n: (s.index(n[1], n[0]), s.normal(*n[1:])),
    )  # fmt: skip
    add(
        "swiglu",
        "SwiGLU, 8192×(2·14336)",
        function=operations.swiglu,
        dtypes=(BF16,),
        size=(8192, 28672),
        tiny=(3, 64),
        make=_one,
    )
    add(
        "rotary", "rotary, 4×32×4096×128", function=operations.rotary, dtypes=(BF16,),
        size=(4, 32, 4096, 128), tiny=(1, 2, 8, 16),
        make=lambda s, n: (s.normal(*n), s.normal(*n[2:]), s.normal(*n[2:])),
    )  # fmt: skip


TOKENS, HIDDEN = 16384, 2048  # of a batch, and of all heads together


def _add_attention(tokens: int, width: int, causal: bool) -> None:
    """Sequences of ``tokens``, with heads of ``width`` elements."""
    size = (TOKENS // tokens, HIDDEN // width, tokens, width)

    def flops(size: Size) -> float:
        batch, heads, count, own = size
        return 4.0 * batch * heads * count * own * ((count + 1) / 2 if causal else count)

    short = f"{'causal-' if causal else ''}attention-{tokens}-{width}"
    TIMED[f"{short}-bf16"] = Timed(
        f"{short}-bf16",
        f"{'causal ' if causal else ''}attention, {'×'.join(map(str, size))} bf16",
        ATTENTION,
        BF16,
        attentions.causal_attention if causal else attentions.attention,
        _three,
        size,
        (1, 2, 24, width),
        flops=flops,
        heads=True,
    )


# In the order in which they are timed: what matters most comes first, as the time may be up before the end.
_add_launches(LAUNCHES, "", "")
_add_launches(GRAPHS, "-graph", ", CUDA graph")
_add_chains(16384)
for _columns in (1024, 4096, 32768, 128):
    _add_rows(_columns, F32)
_add_others()
_add_chains(4096)
for _columns in (4096, 1024, 32768, 128):
    _add_rows(_columns, BF16)
for _tokens in (16384, 4096, 512, 8192, 2048, 1024):
    for _width in (128, 64):
        _add_attention(_tokens, _width, causal=True)
        _add_attention(_tokens, _width, causal=False)
for _timed in (*product_rows.rows(), *float8_rows.rows(), *convolution_rows.rows(), *model_rows.rows()):
    TIMED[_timed.name] = _timed
