"""The benchmark's operations (bench/gpu/timed.py) at its own sizes, in Triton.

A program has the block of work that mlopt's has: as many warps, and as many elements a thread. Where mlopt's
blocks take turns at rows that share their weights, so do these programs (triton_turns.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import triton_kernels as kernels
import triton_turns as turns
from triton_launches import Launch, by_rows, flat

TYPES = {"f32": ("*fp32", 4), "bf16": ("*bf16", 2)}
SIDES = (4096, 16384)
ELEMENTS = 1 << 26
SIDE, CLASSES = 8192, 128256
# torch's: the distance of 1 and the next number.
EPSILON = {"f32": 2.0**-23, "bf16": 2.0**-7}
# Programs that take turns at rows, as many as mlopt's blocks, and warps of each, by columns and dtype.
LAYER_NORM = {
    128: {"f32": (1286, 4), "bf16": (1286, 4)},
    1024: {"f32": (1075, 4), "bf16": (1286, 4)},
    4096: {"f32": (216, 16), "bf16": (322, 16)},
}
RMS_NORM = {
    128: {"f32": (1725, 4), "bf16": (1725, 4)},
    1024: {"f32": (1286, 4), "bf16": (1725, 4)},
    4096: {"f32": (432, 8), "bf16": (432, 8)},
}
WARPS = {128: 4, 1024: 4, 4096: 8, 32768: 32}  # of rows that share nothing
PARTS, DIVIDERS = 512, 1058  # programs that add x up, and that take turns at dividing it
RESIDUAL = {16384: {"f32": 54, "bf16": 81}, 4096: {"f32": 216, "bf16": 316}}  # programs along the rows


def chains(side: int, short: str) -> Iterator[tuple[str, list[Launch]]]:
    """Element-wise operations."""
    kind, size = TYPES[short]
    count, wide = side * side, 16 // size
    yield "relu", [flat(kernels.relu_scale, f"{kind} {kind}", 16, count)]
    yield "sigmoid", [flat(kernels.scaled_sigmoid, " ".join([kind] * 4), 8, count)]
    yield "gelu", [flat(kernels.gelu_tanh, f"{kind} {kind}", 8, count)]
    block, rows = 128 * wide, RESIDUAL[side][short]
    constants = {"HEIGHT": side, "COLUMNS": side, "BLOCK": block, "ROWS": rows}
    yield "residual", [Launch(turns.residual_gelu, " ".join([kind] * 4), constants, side // block * rows)]


def rows_of(columns: int, short: str) -> Iterator[tuple[str, list[Launch]]]:
    """Softmax and norms."""
    kind, _ = TYPES[short]
    height, rows, warps = ELEMENTS // columns, max(1024 // columns, 1), WARPS[columns]
    two, three, four = (" ".join([kind] * count) for count in (2, 3, 4))
    yield "softmax", [by_rows(kernels.softmax, two, height, columns, warps, rows)]
    yield "log-softmax", [by_rows(kernels.log_softmax, two, height, columns, warps, rows)]
    epsilon = EPSILON[short]
    if columns not in LAYER_NORM:
        yield "layer-norm", [by_rows(kernels.layer_norm, four, height, columns, warps, rows)]
        yield "rms-norm", [by_rows(kernels.rms_norm, three, height, columns, warps, rows, EPSILON=epsilon)]
        return
    own = {"COLUMNS": columns, "ROWS": rows, "TILES": height // rows}
    programs, warps = LAYER_NORM[columns][short]
    yield "layer-norm", [Launch(turns.layer_norm, four, {**own, "PROGRAMS": programs}, programs, warps)]
    programs, warps = RMS_NORM[columns][short]
    own |= {"PROGRAMS": programs, "EPSILON": epsilon}
    yield "rms-norm", [Launch(turns.rms_norm, three, own, programs, warps)]


def others() -> Iterator[tuple[str, list[Launch]]]:
    """Losses, totals, columns, and what moves elements."""
    yield (
        "cross-entropy-f32",
        [
            Launch(kernels.cross_entropy, "*fp32 *i64 *fp32", {"COLUMNS": CLASSES, "BLOCK": 4096}, 1024),
            Launch(kernels.mean, "*fp32 *fp32", {"COUNT": 1024}, 1, elements=1024),
        ],
    )
    each, tiles = SIDE * SIDE // PARTS, SIDE * SIDE // 2048
    constants = {"COUNT": PARTS, "BLOCK": 2048, "TILES": tiles, "PROGRAMS": DIVIDERS}
    yield (
        "normalize-f32",
        [
            Launch(turns.partial_sum, "*fp32 *fp32", {"EACH": each, "BLOCK": 2048}, PARTS, 8),
            Launch(turns.divide_by_parts, "*fp32 *fp32 *fp32", constants, DIVIDERS),
        ],
    )
    for short, (kind, size) in TYPES.items():
        parts = {"HEIGHT": SIDE // 2, "COLUMNS": SIDE, "ROWS": 256 // size, "BLOCK": 64}
        yield (
            f"column-sum-{short}",
            [
                Launch(kernels.column_parts, f"{kind} *fp32", parts, SIDE // 64 * 2, 16),
                Launch(
                    kernels.add_parts, f"*fp32 {kind}", {"COUNT": 2, "COLUMNS": SIDE, "BLOCK": 32},
                    SIDE // 32, 1, elements=2 * SIDE,
                ),
            ],
        )  # fmt: skip
        tile = 128 // size
        constants = {"HEIGHT": SIDE, "WIDTH": SIDE, "R": tile, "C": tile}
        yield (
            f"transpose-{short}",
            [Launch(kernels.transpose, f"{kind} {kind}", constants, (SIDE // tile) ** 2)],
        )
    constants = {"ROWS": CLASSES, "WIDTH": 4096, "BLOCK": 1024}
    yield "embedding-bf16", [Launch(kernels.embedding, "*i64 *bf16 *bf16", constants, 32768 * 4)]
    yield "swiglu-bf16", [flat(kernels.swiglu, "*bf16 *bf16", 8, 8192 * 14336, HALF=14336)]
    constants = {"POSITIONS": 4096, "FEATURES": 128, "ROWS": 16, "HEADS": 4 * 32, "PROGRAMS": 32}
    yield "rotary-bf16", [Launch(turns.rotary, "*bf16 *bf16 *bf16 *bf16", constants, 256 * 32)]
    yield "one-f32", [flat(kernels.relu_scale, "*fp32 *fp32", 4, 128 * 256)]


OPERATIONS = dict(others())
for _short in TYPES:
    for _side in SIDES:
        OPERATIONS |= {f"{name}-{_side}-{_short}": launches for name, launches in chains(_side, _short)}
    for _columns in WARPS:
        OPERATIONS |= {
            f"{name}-{_columns}-{_short}": launches for name, launches in rows_of(_columns, _short)
        }
