"""Random numbers of each type for kernels on the emulator, and how near results must be."""

from __future__ import annotations

from collections.abc import Sequence

import gpu_kernels as gpu
import numpy as np
import tile_kernels as kernels

RNG = np.random.default_rng(2026)
NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
}
TOLERANCE = {"f64": 1e-13, "f32": 4e-6, "f16": 2e-3, "bf16": 1.6e-2}


def numbers(shape: Sequence[int], element: str = "f32") -> np.ndarray:
    """Random numbers; bf16 as its bits."""
    if element == "bf16":
        return to_bf16(RNG.standard_normal(shape))
    if element.startswith("i"):
        return RNG.integers(-100, 100, shape).astype(NUMPY[element])
    return RNG.standard_normal(shape).astype(NUMPY[element])


def to_bf16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(values: np.ndarray) -> np.ndarray:
    """As f64; 16 bits without a sign are bf16."""
    if values.dtype == np.uint16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def check(
    text: str,
    arrays: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    tolerance: float = 4e-6,
    schedule: str | None = None,
    shift: int = 0,
    chip: str = "sm_80",
) -> gpu.Kernel:
    kernel = gpu.compile_kernel(text, chip, schedule)
    results = gpu.run_kernel(kernel, arrays, len(expected), shift)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(wide(result), wanted, rtol=tolerance, atol=tolerance)
    return kernel


def pointwise(shape: Sequence[int | str], body: str, elements: Sequence[str], name: str = "pointwise") -> str:
    """An element-wise kernel; ``elements`` are the types of its inputs and, last, of its output."""
    dims = ",".join(f"d{number}" for number in range(len(shape)))
    maps = f"{dims} -> " + " | ".join([dims] * len(elements))
    kinds = [kernels.tensor(shape, element) for element in elements]
    return kernels.generic_kernel(name, kinds, maps, "p" * len(shape), body)
