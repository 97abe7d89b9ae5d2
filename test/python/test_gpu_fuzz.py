"""Random kernels (shapes, orders of dims, reduced dims, types, schedules) over threads, against numpy."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels


@dataclass
class Case:
    """``out = x' - reduce(x') + y``, with ``x'`` a permuted and ``y`` a broadcast tensor."""

    text: str
    arrays: list[np.ndarray]
    expected: np.ndarray
    note: str


def make_case(rng: np.random.Generator) -> Case:
    rank = int(rng.integers(1, 5))
    shape = [int(rng.choice([1, 2, 3, 5, 8, 16, 31, 64, 100, 130])) for _ in range(rank)]
    while np.prod(shape) > 60000:
        shape[int(rng.integers(rank))] = 1 + int(rng.integers(4))
    order = [int(axis) for axis in rng.permutation(rank)] if rng.random() < 0.5 else list(range(rank))
    reduced = sorted({int(axis) for axis in rng.integers(0, rank, int(rng.integers(0, 3)))})
    shared = [bool(rng.random() < 0.5) for _ in range(rank)]  # dims that y has
    element = str(rng.choice(["f32", "f32", "f64", "f16"]))
    dtype = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[element]
    x = rng.standard_normal([shape[axis] for axis in order]).astype(dtype)
    y = rng.standard_normal([size if own else 1 for size, own in zip(shape, shared, strict=True)]).astype(
        dtype
    )

    names = [f"d{axis}" for axis in range(rank)]
    every = ",".join(names)
    read = ",".join(names[axis] for axis in order)
    row = ",".join("0" if axis in reduced else names[axis] for axis in range(rank))
    part = ",".join(name if own else "0" for name, own in zip(names, shared, strict=True))
    dynamic = not reduced and rng.random() < 0.4
    sizes = ["?" if dynamic and rng.random() < 0.6 else size for size in shape]
    kernel = kernels.Kernel("fuzz")
    a = kernel.argument(kernels.tensor([sizes[axis] for axis in order], element))
    b = kernel.argument(
        kernels.tensor([size if own else 1 for size, own in zip(sizes, shared, strict=True)], element)
    )
    out = kernel.argument(kernels.tensor(sizes, element))
    kinds = "".join("r" if axis in reduced else "p" for axis in range(rank))
    e = element
    value = np.transpose(x, np.argsort(order)).astype(np.float64)
    reads, maps = [a, b], [read, part]
    body = f"%x: {e}, %y: {e}, %o: {e} {{ %r = arith.addf %x, %y : {e}\n linalg.yield %r : {e} }}"
    expected = value + y
    if reduced:
        top = bool(rng.random() < 0.5)
        combine = "maximumf" if top else "addf"
        rows = kernels.tensor([1 if axis in reduced else size for axis, size in enumerate(shape)], e)
        init = {"f32": "0xFF800000", "f64": "0xFFF0000000000000", "f16": "0xFC00"}[e] if top else "0.0"
        total = kernel.generic(
            f"{every} -> {read} | {row}",
            kinds,
            [a],
            [kernel.fill(init, rows)],
            f"%x: {e}, %s: {e} {{ %r = arith.{combine} %s, %x : {e}\n linalg.yield %r : {e} }}",
        )
        reads, maps = [a, total, b], [read, row, part]
        body = (
            f"%x: {e}, %s: {e}, %y: {e}, %o: {e} {{ %d = arith.subf %x, %s : {e}\n %r = arith.addf %d, %y : {e}\n"
            f" linalg.yield %r : {e} }}"
        )
        found = value.max(tuple(reduced), keepdims=True) if top else value.sum(tuple(reduced), keepdims=True)
        expected = value - found + y
    result = kernel.generic(f"{every} -> {' | '.join([*maps, every])}", "p" * rank, reads, [out], body)
    note = f"shape {shape} as {sizes} order {order} reduced {reduced} y {list(y.shape)} {element}"
    return Case(kernel.text(result), [x, y, np.zeros(shape, dtype)], expected, note)


@pytest.mark.parametrize("seed", range(48))
def test_random_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = make_case(rng)
    warps = int(rng.choice([1, 2, 4, 8, 16])) if seed % 2 else None
    elements = int(rng.choice([1, 2, 4])) if seed % 3 == 0 else None
    compiled = gpu.compile_kernel(case.text, warps=warps, elements=elements)
    shift = case.arrays[0].itemsize if rng.random() < 0.25 else 0
    (result,) = gpu.run_kernel(compiled, case.arrays, shift=shift)
    tolerance = {"f2": 0.06, "f4": 2e-4, "f8": 1e-11}[result.dtype.str[1:]]
    np.testing.assert_allclose(result, case.expected, rtol=tolerance, atol=tolerance, err_msg=case.note)
