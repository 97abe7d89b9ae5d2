"""Triton's kernels for sm_90 compute what numpy computes, in each schedule, without findings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from mlopt import emulator
from mlopt.runtime.emulator import formats
from mlopt.test.python.emulator.snippets import Placed, each_schedule

FOLDER = Path(__file__).parent / "triton"
RNG = np.random.default_rng(90)


class Arrays(Placed):
    """A kernel of Triton, arrays in the memory of its device, and tensor maps of them."""

    def __init__(self, name: str) -> None:
        self.text = (FOLDER / f"{name}.ptx").read_text()
        super().__init__(self.text)

    def map(self, array: np.ndarray, address: int, box: tuple[int, int], kind: str = "f16") -> list:
        """What Triton passes for an array: a map, the sizes and the strides."""
        (rows, columns), size = array.shape, array.dtype.itemsize
        strides = (columns * size,)
        encoded = emulator.tiled(kind, int(address), (columns, rows), strides, box[::-1], swizzle="128B")
        return [encoded, rows, columns, columns, 1]

    def launch(self, grid: tuple[int, ...], arguments: list, schedule: str) -> emulator.Report:
        """With the threads and the memory that Triton wants; findings raise."""
        head = re.match(
            r"// shared (\d+), threads (\d+), from (\w+).*\n(?:// scratch of each block (\d+))?", self.text
        )
        assert head is not None
        shared, threads, kernel, scratch = head.groups()
        extra = len(self.kernels.loaded.function(kernel).params) - len(arguments)
        places = [0] * extra  # of memory that Triton wants for itself
        if scratch:
            places[0] = self.device.alloc(int(scratch) * int(np.prod(grid)))
        options = emulator.Options(schedule=schedule, seed=1)
        arguments = [*arguments, *map(np.uint64, places)]
        return self.kernels.launch(
            kernel, grid, int(threads), arguments, dynamic_smem=int(shared), options=options
        )


@each_schedule
@pytest.mark.parametrize("name", ["tensor_copy", "tensor_sum"])
def test_tensor_maps(name: str, schedule: str) -> None:
    x = RNG.integers(-9, 9, (100, 192)).astype(np.float16)
    y, arrays = np.zeros((100, 192 if name == "tensor_copy" else 64), np.float16), Arrays(name)
    there = arrays.put(y)
    maps = [*arrays.map(x, arrays.put(x), (64, 64)), *arrays.map(y, there, (64, 64))]
    copies = name == "tensor_copy"
    arrays.launch((2, 3) if copies else (2,), maps if copies else [*maps, 192], schedule)
    expected = x + x if copies else x[:, :64] + x[:, 64:128] + x[:, 128:]
    np.testing.assert_array_equal(arrays.get(there, y), expected)


@each_schedule
def test_maps_that_the_kernel_makes(schedule: str) -> None:
    x, arrays = RNG.standard_normal((70, 96)).astype(np.float32), Arrays("tensor_made")
    y = np.zeros_like(x)
    there = arrays.put(y)
    arrays.launch((3,), [arrays.put(x), there, *x.shape], schedule)
    np.testing.assert_array_equal(arrays.get(there, y), x + x)


def drawn(kind: str, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers of a format as registers hold them, and what they are."""
    if kind == "i8":
        bits = RNG.integers(-99, 99, shape).astype(np.int8)
        return bits, bits.astype(np.float64)
    bits = formats.narrow(RNG.standard_normal(shape), kind)
    return bits, formats.widen(bits, kind)


def check(found: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Products in f32 within 1e-5 of the sum of absolute terms, and one rounding to the result's type."""
    expected, terms = left @ right, np.abs(left) @ np.abs(right)
    rounding = 2.0**-11 if found.dtype == np.float16 else 0.0
    assert (np.abs(found - expected) <= rounding * np.abs(expected) + 1e-5 * terms).all()


# name: the formats of operands and of the result, rows and columns of a block
PRODUCTS = {
    "f16": ("f16", np.float32, 128),
    "bf16": ("bf16", np.float32, 64),
    "tf32": ("tf32", np.float32, 64),
    "f16_f16": ("f16", np.float16, 64),
    "i8": ("i8", np.int32, 64),
}


@pytest.mark.parametrize(
    ("name", "schedule"), [*((name, "together") for name in PRODUCTS), ("bf16", "random")]
)
def test_products(name: str, schedule: str) -> None:
    kind, result, block = PRODUCTS[name]
    blocks = 2 if schedule == "together" else 1
    m, n, k = blocks * block - 16, blocks * block - 32, 192
    (a, left), (b, right) = drawn(kind, m, k), drawn(kind, k, n)
    c, arrays = np.zeros((m, n), result), Arrays(f"hopper_matmul_{name}")
    there = arrays.put(c)
    report = arrays.launch((blocks, blocks), [arrays.put(a), arrays.put(b), there, m, n, k], schedule)
    arrays.get(there, c)
    if name == "f16_f16":  # sums in f16, each rounded
        assert (np.abs(c - left @ right) <= 16 * 2.0**-11 * (np.abs(left) @ np.abs(right))).all()
    else:
        check(c, left, right)
    assert report.counters.flops["tensor"] == 2 * (blocks * block) ** 2 * k


def test_halves_of_a_register_are_in_use_with_it() -> None:
    # Triton unpacks sums in f16 before it waits for them, and packs them again: that is no access to them.
    x, arrays = np.zeros((64, 64), np.float16), Arrays("hopper_matmul_f16_f16")
    waits = arrays.text.replace("wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned 1")
    assert waits != arrays.text
    arrays.kernels = arrays.device.load(waits)
    places = [arrays.put(x) for _ in range(3)]
    with pytest.raises(emulator.KernelError) as caught:
        arrays.launch((1, 1), [*places, *[64] * 3], "together")
    assert {finding.kind for finding in caught.value.findings} >= {"wgmma-register"}


# name: the format of operands, the box of the left one, rows and columns of a block
BY_MAPS = {
    "tensor_matmul": ("f16", (128, 64), 128),
    "tensor_matmul_special": ("f16", (64, 64), 64),
    "tensor_matmul_e4m3": ("e4m3", (64, 128), 64),
    "tensor_matmul_e5m2": ("e5m2", (64, 128), 64),
}


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        *((name, "together") for name in BY_MAPS),
        ("tensor_matmul", "random"),
        ("tensor_matmul_e4m3", "ahead"),
        ("tensor_matmul_special", "round-robin"),
        ("tensor_matmul_special", "random"),
    ],
)
def test_products_by_maps(name: str, schedule: str) -> None:
    kind, box, block = BY_MAPS[name]
    blocks = 2 if schedule == "together" else 1
    m, n, k = blocks * block - 8, blocks * block - 24, 5 * box[1]
    (a, left), (b, right) = drawn(kind, m, k), drawn(kind, n, k)
    c, arrays = np.zeros((m, n), np.float16), Arrays(name)
    there = arrays.put(c)
    element = "f16" if kind == "f16" else "u8"
    maps = [part for x in (a, b) for part in arrays.map(x, arrays.put(x), box, element)]
    maps += arrays.map(c, there, (block, 64))
    arrays.launch((blocks, blocks), [*maps, k], schedule)
    check(arrays.get(there, c), left, right.T)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, *, causal: bool) -> np.ndarray:
    score = q @ k.swapaxes(1, 2) * scale
    if causal:
        score = np.where(np.tril(np.ones(score.shape[1:], bool)), score, -np.inf)
    power = np.exp(score - score.max(-1, keepdims=True))
    found: np.ndarray = power / power.sum(-1, keepdims=True) @ v
    return found


@pytest.mark.parametrize("schedule", ["together", "ahead"])
def test_attention(schedule: str) -> None:
    heads, length, depth = (2, 200, 64) if schedule == "together" else (1, 100, 64)
    q, k, v = RNG.standard_normal((3, heads, length, depth)).astype(np.float16)
    out, arrays = np.zeros_like(q), Arrays("hopper_attention")
    there = arrays.put(out)
    arguments = [*(arrays.put(x) for x in (q, k, v)), there, length, 0.125]
    arrays.launch((-(-length // 128), heads), arguments, schedule)
    expected = attention(*(x.astype(np.float64) for x in (q, k, v)), 0.125, causal=True)
    np.testing.assert_allclose(arrays.get(there, out), expected, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize(
    ("name", "rows", "schedule"),
    [
        ("tensor_attention", 128, "together"),
        ("tensor_attention", 128, "random"),
        ("tensor_attention_special", 64, "together"),
        ("tensor_attention_special", 64, "ahead"),
    ],
)
def test_attention_by_maps(name: str, rows: int, schedule: str) -> None:
    heads, length, depth = (2, 128, 64) if schedule == "together" else (1, rows, 64)
    q, k, v = RNG.standard_normal((3, heads, length, depth)).astype(np.float16)
    out, arrays = np.zeros_like(q), Arrays(name)
    there, flat = arrays.put(out), (heads * length, depth)
    maps = [
        part
        for x, box in ((q, rows), (k, 64), (v, 64))
        for part in arrays.map(x.reshape(flat), arrays.put(x), (box, 64))
    ]
    maps += arrays.map(out.reshape(flat), there, (rows, 64))
    arrays.launch((length // rows, heads), [*maps, length, 0.125 * 1.4426950408889634], schedule)
    expected = attention(*(x.astype(np.float64) for x in (q, k, v)), 0.125, causal=False)
    np.testing.assert_allclose(arrays.get(there, out), expected, rtol=4e-3, atol=4e-3)
