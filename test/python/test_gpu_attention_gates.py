"""Gates of attention on tensor cores: a corpus of head sizes, masks and edges, without a GPU.

No spills, also in twins for what is unaligned, tensor cores and ldmatrix in the machine code, shared memory
within the chip, right and without a finding under each order of warps, no bank conflicts, and from memory
what the tiling implies.
"""

from __future__ import annotations

import re
import sys
from math import ceil
from pathlib import Path

import mlopt
import pytest
import torch
from mlopt import emulator
from mlopt.bench.gpu.machine_code import parse
from mlopt.runtime.cuda.chips import find_chip
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).parent))
from attention_bound import check_values

CHIP = find_chip("sm_80")
ORDERS = ("round-robin", "ahead", "random")
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
# Heads, rows, keys, elements of a head, dtype, "causal", or the dtype of a mask; None: all keys.
CORPUS = [
    (2, 64, 128, 64, BF16, None),
    (1, 96, 96, 128, F16, "causal"),
    (2, 40, 72, 32, F16, F16),
    (1, 64, 64, 192, BF16, BF16),
    (1, 33, 80, 256, BF16, "causal"),
    (1, 20, 130, 96, F16, torch.bool),
]
WHOLE = 8  # elements: rows of masks that are not a multiple are loaded one by one


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.parametrize(("heads", "rows", "keys", "width", "dtype", "mask"), CORPUS)
def test_gates(
    heads: int, rows: int, keys: int, width: int, dtype: torch.dtype, mask: torch.dtype | str | None
) -> None:
    shapes = ((1, heads, rows, width), (1, heads, keys, width), (1, heads, keys, width))
    inputs = [torch.randn(shape, dtype=dtype) for shape in shapes]
    function = causal if mask == "causal" else masked if mask else attention
    if isinstance(mask, torch.dtype):
        noise = torch.randn(rows, keys)
        inputs.append(noise > -1 if mask is torch.bool else noise.to(mask))
    compiled = mlopt.jit(function, *inputs, target="cuda:sm_80", device="emulator")
    gpu = compiled.report.gpu
    assert gpu is not None and len(compiled.kernels) == 1
    assert {kernel.spills for kernel in gpu.kernels} == {0}
    for code in parse(compiled.asm["cubin"]).values():
        assert code.named("HMMA") and code.named("LDSM")
    kernel = gpu.kernels[0]
    assert kernel.shared <= CHIP.limits.shared_per_block
    found, program = [], emulator.load(compiled.asm["ptx"])
    operands = _in_order(compiled.asm["tile"], inputs)
    for order in ORDERS:
        found.append(torch.full_like(inputs[0], torch.nan))
        options = emulator.Options(schedule=order, seed=7)
        report = program.launch(
            kernel.name, kernel.grid, kernel.threads, [*operands, found[-1]], kernel.shared, options=options
        )
        assert not report.findings and report.counters.bank_conflicts == 0
    assert all(torch.equal(found[0], other) for other in found)
    check_values(found[0], function, inputs)
    if not isinstance(mask, torch.dtype) or keys % WHOLE == 0:
        implied = _bytes(compiled.asm["tile"], heads, rows, keys, width, mask)
        assert report.counters.l2_bytes <= 1.05 * implied


@pytest.mark.parametrize(("width", "dtype"), [(96, F16), (128, BF16), (192, F16)])
def test_long_causal_rows_spill_nothing(width: int, dtype: torch.dtype) -> None:
    """Nor do their twins: the blocks of long rows are the largest that fit."""
    inputs = [torch.empty((1, 16, 4096, width), dtype=dtype) for _ in range(3)]
    gpu = mlopt.jit(causal, *inputs, target="cuda:sm_80", device="emulator").report.gpu
    assert gpu is not None
    assert [kernel.spills for kernel in gpu.kernels] == [0, 0]


def _in_order(tile: str, inputs: list[Tensor]) -> list[Tensor]:
    """The inputs as the kernel has them: of them the mask alone is handed on as it is."""
    call = re.search(r"call @kernel_0\w+\((.*?)\)", tile)
    assert call is not None
    three = iter(inputs[:3])
    return [
        inputs[3] if name.startswith("%arg") else next(three) for name in call[1].split(", ")[: len(inputs)]
    ]


def _bytes(tile: str, heads: int, rows: int, keys: int, width: int, mask: torch.dtype | str | None) -> float:
    """What blocks ask the caches for: rows and results once, and keys and values up to each block's last."""
    sizes = re.search(r"tile = array<i64: (?:\d+, )*?(\d+), 0, (\d+), \d+>", tile)
    assert sizes is not None
    high, step = (int(text) for text in sizes.groups())
    high = high or rows
    blocks = range(ceil(rows / high))
    ends = [min(ceil((at + 1) * high / step) * step, keys) if mask == "causal" else keys for at in blocks]
    scores = rows * keys * mask.itemsize if isinstance(mask, torch.dtype) else 0
    return heads * (2 * rows * width * 2 + 2 * sum(ends) * width * 2 + scores)
