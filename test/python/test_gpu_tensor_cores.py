"""Products on tensor cores, on the emulator: types, transposes, sizes around each edge of an instruction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt import emulator
from mlopt.runtime.verification import Verifier
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import compile_kernel
from gpu_products import check, product


@pytest.fixture
def high() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (64, 64, 64),
        (130, 72, 40),
        (16, 8, 16),
        (17, 9, 33),
        (1, 70, 33),
        (7, 1, 19),
        (5, 9, 1),
        (100, 36, 100),
    ],
)
def test_edges(kind: str, m: int, n: int, k: int, rng: np.random.Generator) -> None:
    check(m, n, k, kind, left=False, right=False, rng=rng)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [(64, 96, 32), (37, 43, 21)])
def test_transposes(
    kind: str, left: bool, right: bool, size: tuple[int, int, int], rng: np.random.Generator
) -> None:
    check(*size, kind, left, right, rng)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8"])
def test_instruction(kind: str) -> None:
    """The PTX has the instruction, and no multiply-add of scalars."""
    kernel = compile_kernel(product(64, 64, 64, kind))
    assert "mma.sync.aligned.m16n8k" in kernel.ptx
    assert "fma.rn" not in kernel.ptx


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.usefixtures("high")
def test_no_conflicts(left: bool, right: bool, dtype: torch.dtype) -> None:
    """Factors lie in shared memory so that every access of a step takes as few passes as it can."""
    shapes = (128, 80) if left else (80, 128), (96, 128) if right else (128, 96)
    x, y = (torch.randn(shape, dtype=dtype) for shape in shapes)

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x.T if left else x) @ (y.T if right else y)

    compiled = mlopt.jit(product, x, y, target="cuda:sm_80", device="emulator")
    with emulator.record() as launches:
        made = compiled(x, y)
    assert "cp.async.cg.shared.global" in compiled.asm["ptx"]
    assert sum(launch.counters.bank_conflicts for launch in launches) == 0
    assert not any(launch.findings for launch in launches)
    one, other = x.T if left else x, y.T if right else y
    assert (
        (made - one.double() @ other.double()).abs() <= 2.0**-9 * one.double().abs() @ other.double().abs()
    ).all()


@pytest.mark.parametrize("rows", [1024, 768])
def test_shared_memory_is_free_before_it_is_filled(rows: int) -> None:
    """A residual that changes hands ahead of the loop is read before the ring's first copies arrive."""
    x, y, z = (torch.randn(shape, dtype=torch.bfloat16) for shape in ((rows, 64), (64, rows), (rows, rows)))

    def product(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return x @ y + z

    compiled = mlopt.jit(product, x, y, z, target="cuda:sm_80", device="emulator")
    torch.testing.assert_close(compiled(x, y, z), product(x, y, z), rtol=2e-2, atol=2e-2)


class Product(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_unknown_depth(dtype: torch.dtype) -> None:
    """Steps of a known size, and a last one with zeros beyond; what lies behind a row is not read."""
    depth = torch.export.Dim("depth", min=2, max=3000)
    x, y = torch.randn(40, 33).to(dtype), torch.randn(33, 24).to(dtype)
    sizes = ({1: depth}, {0: depth})
    compiled = mlopt.jit(Product(), x, y, dynamic_shapes=sizes, target="cuda:sm_80", device="emulator")
    assert ("mma.sync" in compiled.asm["ptx"]) == (dtype != torch.float32)
    for size in (2, 7, 17, 63, 64, 65, 127, 136, 256):
        x, y = torch.randn(40, size).to(dtype), torch.randn(size, 24).to(dtype)
        Verifier(Product(), (x, y), {}).check(compiled(x, y))


def test_unknown_depth_of_what_is_computed() -> None:
    """Zeros beyond a row would not stay zeros: 1 / 0 has steps of single elements."""
    depth = torch.export.Dim("depth", min=2, max=300)

    class Computed(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (1 / x) @ (1 / y)

    x, y = (torch.rand(shape, dtype=torch.float16) + 0.5 for shape in ((20, 33), (33, 24)))
    sizes = ({1: depth}, {0: depth})
    compiled = mlopt.jit(Computed(), x, y, dynamic_shapes=sizes, target="cuda:sm_80", device="emulator")
    x, y = (torch.rand(shape, dtype=torch.float16) + 0.5 for shape in ((20, 70), (70, 24)))
    Verifier(Computed(), (x, y), {}).check(compiled(x, y))


MODULES = {
    "conv": (lambda: nn.Conv2d(16, 40, 3, padding=1), (2, 16, 11, 9)),
    "strided": (lambda: nn.Conv2d(16, 24, 3, stride=2), (1, 16, 13, 17)),
    "grouped": (lambda: nn.Conv2d(32, 32, 3, groups=4), (1, 32, 9, 9)),
    "1x1": (lambda: nn.Conv2d(24, 40, 1), (2, 24, 9, 7)),
    "conv1d": (lambda: nn.Conv1d(16, 24, 3), (2, 16, 33)),
    "linear, norm": (lambda: nn.Sequential(nn.Linear(40, 200), nn.LayerNorm(200)), (3, 7, 40)),
    "one row": (lambda: nn.Linear(64, 96), (1, 64)),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, dtype: torch.dtype) -> None:
    """Products in other shapes: windows, groups, what follows in rows."""
    make, shape = MODULES[name]
    module, x = make().to(dtype).eval(), torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        assert "mma.sync" in compiled.asm["ptx"]
        assert all(kernel.spills == 0 for kernel in compiled.report.gpu.kernels)
        x = torch.randn(shape, dtype=dtype)
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("options", [{}, {"target": "cuda:sm_80", "device": "emulator"}])
def test_products_of_whole_numbers(options: dict[str, str], rng: np.random.Generator) -> None:
    """Bytes on tensor cores; sums of 32 bits wrap around, as eager's do."""

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.int() @ y.int()

    for dtype in (torch.int8, torch.uint8, torch.int32):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        x, y = (
            torch.from_numpy(rng.integers(least, most, shape, endpoint=True)).to(dtype)
            for shape in ((33, 70), (70, 24))
        )
        compiled = mlopt.jit(product, x, y, **options)
        assert torch.equal(compiled(x, y), product(x, y))
        if options:
            assert ("mma.sync" in compiled.asm["ptx"]) == (dtype == torch.int8)


def test_linear_layer_of_whole_numbers(rng: np.random.Generator) -> None:
    """Bytes that are cast before a linear layer joins their rows and transposes its weights."""

    def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x.int(), w.int())

    x, w = (
        torch.from_numpy(rng.integers(-128, 127, shape, endpoint=True)).to(torch.int8)
        for shape in ((3, 11, 70), (24, 70))
    )
    compiled = mlopt.jit(layer, x, w, target="cuda:sm_80", device="emulator")
    assert torch.equal(compiled(x, w), layer(x, w))
    assert "mma.sync" in compiled.asm["ptx"]


class Dequantised(nn.Module):
    """A linear layer of weights that are stored as bytes."""

    def __init__(self, columns: int, depth: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (columns, depth), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(columns).bfloat16() / 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight.to(x.dtype)) * self.scale


@pytest.mark.parametrize("rows", [1, 16])
def test_weights_of_bytes_are_widened_in_the_kernel(rows: int) -> None:
    """No call reads more of them than bytes: they are not kept in bf16, transposed or not."""
    module, x = Dequantised(512, 8192).eval(), torch.randn(rows, 8192, dtype=torch.bfloat16)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        assert "@prepare" not in compiled.asm["kernels"]
        assert rows == 1 or "mma.sync" in compiled.asm["ptx"]
        assert all(kernel.spills == 0 for kernel in compiled.report.gpu.kernels)
        Verifier(module, (x,), {}).check(compiled(x))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_one_row_of_bytes(dtype: torch.dtype, rng: np.random.Generator) -> None:
    """Four at a time, in words, the largest ones, too; no tensor core multiplies one row."""

    def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.int() @ w.T.int()

    least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    x, w = (
        torch.from_numpy(rng.choice([least, most, 1, *rng.integers(least, most, 5)], shape)).to(dtype)
        for shape in ((1, 2048), (21, 2048))
    )
    compiled = mlopt.jit(product, x, w, target="cuda:sm_80", device="emulator")
    assert torch.equal(compiled(x, w), product(x, w))
    assert "dp4a" in compiled.asm["ptx"]


class Linear(nn.Module):
    """relu(x @ w + b), with or without a transpose."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.turned = turned

    def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ (w.T if self.turned else w) + b)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [(64, 48, 96), (33, 17, 65), (5, 64, 72)])
@pytest.mark.usefixtures("high")
def test_tf32(turned: bool, size: tuple[int, int, int]) -> None:
    """Factors are rounded to 11 bits: each product is off by 2^-10 of itself at most, and a bit of f32."""
    m, n, k = size
    x, w, b = torch.randn(m, k), torch.randn(n, k) if turned else torch.randn(k, n), torch.randn(n)
    compiled = mlopt.jit(Linear(turned), x, w, b, target="cuda:sm_80", device="emulator")
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in compiled.asm["ptx"]
    right = (w.T if turned else w).double()
    exact = torch.relu(x.double() @ right + b)
    terms = x.double().abs() @ right.abs() + b.abs()
    assert ((compiled(x, w, b) - exact).abs() <= (2.0**-10 + 1e-5) * terms).all()


@pytest.mark.usefixtures("high")
def test_factors_are_the_nearest_tf32() -> None:
    """Ties are rounded up, as cvt.rna does; of a row with NaN, whichever and wherever, everything is NaN."""
    nans = [0x7FFFFFFF, -1, 0x7FC00000, 0x7F800001, -0x7FFFFF, 0x7F801FFF]  # three would be cut to infinity
    x = torch.randn(40, 32)
    x[1] = torch.arange(1, 33) * (1 + 2.0**-11)
    bits, at = torch.tensor([*nans, *nans, 0x7F800000], dtype=torch.int32), [*[3] * 6, *range(26, 32), 3]
    x[range(2, 15), at] = bits.view(torch.float32)
    w = torch.eye(32, 24)
    compiled = mlopt.jit(Linear(False), x, w, torch.zeros(24), target="cuda:sm_80", device="emulator")
    assert "tf32" in compiled.asm["ptx"]
    found = compiled(x, w, torch.zeros(24))
    assert found[2:14].isnan().all() and found[14, 3].isinf()
    nearest = ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    finite = [0, 1, *range(15, 40)]
    assert torch.equal(found[finite, :24], torch.relu(nearest[finite, :24]))
    turned = mlopt.jit(Linear(True), w.T, x, torch.zeros(40), target="cuda:sm_80", device="emulator")
    columns = turned(w.T, x, torch.zeros(40))
    assert columns[:, 2:14].isnan().all()
    assert torch.equal(columns[:, finite], torch.relu(nearest[finite, :24].T))


def test_f32_is_rounded_only_where_torch_allows_it(high: None) -> None:
    """What was compiled before is another program: the setting is part of the key."""
    del high
    arguments = (torch.randn(32, 64), torch.randn(64, 32), torch.randn(32))
    found = []
    for precision in ("highest", "medium", "highest"):
        torch.set_float32_matmul_precision(precision)
        compiled = mlopt.jit(Linear(False), *arguments, target="cuda:sm_80", device="emulator")
        found.append("mma.sync" in compiled.asm["ptx"])
    assert found == [False, True, False]
