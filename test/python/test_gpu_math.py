"""Mathematical functions on GPUs: errors in ulp against f64, whatever a GPU's approximate instructions are off.

The limits are those that passes/gpu/expand_math.py states. The emulator's instructions are made as wrong as the
PTX ISA allows, up and down. Samples are f32 bit patterns of all magnitudes, denormals and NaNs too.
"""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import mlopt
import numpy as np
import pytest
import torch
from mlopt.runtime.emulator.families import approximate

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels

RNG = np.random.default_rng(7)
# The ISA's bounds, relative to the result.
EX2, OFF = 2.0**-22, {"rcp": 2.0**-23, "rsqrt": 2.0**-22.9}
EDGES = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0**-149, -(2.0**-149), 2.0**-126, 3.4e38, -3.4e38,
    88.72, 88.73, 88.8, -88.72, -88.8, -87.34, -103.9, -104.1, 127.99, 128.0, -126.0, -149.0, -150.0, 0.55, -0.5499, -1e-5, -9.9999e-6,
]  # fmt: skip


def samples() -> np.ndarray:
    """A step apart in their bits; and those between -110 and 110, where the functions are neither 0 nor 1."""
    bits = np.arange(0, 1 << 32, 149_999, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.linspace(-110, 110, 20_011, dtype=np.float32)
    return np.concatenate([bits, near, near / 64, np.array(EDGES, np.float32)])


class Wrong:
    """numpy, whose exp2 is off."""

    def __init__(self, share: float) -> None:
        self.share = share

    def exp2(self, x: Any) -> Any:
        found = np.exp2(x)
        return np.where(found == 1, found, found * (1 + self.share)) if self.share else found

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.fixture(params=product((-1, 1), repeat=2), ids=lambda signs: "ex2 {:+} rcp {:+}".format(*signs))
def off(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The emulator's approximate instructions are off by what the ISA allows."""
    power, reciprocal = request.param
    monkeypatch.setattr(approximate, "np", Wrong(power * EX2))
    through = approximate._through_f64

    def wrong(i: Any, d: Any, function: Callable[[Any], Any]) -> Any:
        share = reciprocal * OFF.get(i.opcode, 0) if i.has("approx") else 0
        return through(i, d, lambda a: function(a) * (1 + share))

    monkeypatch.setattr(approximate, "_through_f64", wrong)
    yield


def run(body: str, x: np.ndarray) -> np.ndarray:
    """A kernel of one element-wise op."""
    kinds = [kernels.tensor(x.shape, "f32")] * 2
    text = kernels.generic_kernel("math", kinds, "d0 -> d0 | d0", "p", f"%x: f32, %o: f32 {{ {body} }}")
    compiled = gpu.compile_kernel(text)
    assert "approx" in compiled.ptx
    assert ".func" not in compiled.ptx  # what is called is in its place
    with np.errstate(all="ignore"):
        return gpu.run_kernel(compiled, [x, np.zeros_like(x)])[0]


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(x))


def _erf(x: np.ndarray) -> np.ndarray:
    """In f64, whatever the dtype: numpy has none."""
    return torch.erf(torch.from_numpy(x.astype(np.float64))).numpy().astype(x.dtype)


LOGISTIC = """%one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %s = arith.addf %e, %one : f32
  %r = arith.divf %one, %s : f32
  linalg.yield %r : f32"""

# exp of a number that was computed; subtracting 0 rounds nothing.
EXP = """%zero = arith.constant 0.0 : f32
  %y = arith.addf %x, %zero : f32
  %r = math.exp %y : f32
  linalg.yield %r : f32"""

# Of a sum with a number, which is no denormal.
RSQRT = """%epsilon = arith.constant 1.0e-5 : f32
  %y = arith.addf %x, %epsilon : f32
  %r = math.rsqrt %y : f32
  linalg.yield %r : f32"""


def rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt((x.astype(np.float32) + np.float32(1e-5)).astype(x.dtype))


# The op, the function, and its limit: ulp, and those more for each 1 of a number.
FUNCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], float, Callable[[np.ndarray], Any]]] = {
    "exp": (EXP, np.exp, 5, np.abs),
    "exp2": ("%r = math.exp2 %x : f32\n linalg.yield %r : f32", np.exp2, 5, np.zeros_like),
    "tanh": ("%r = math.tanh %x : f32\n linalg.yield %r : f32", np.tanh, 4.2, np.zeros_like),
    "erf": ("%r = math.erf %x : f32\n linalg.yield %r : f32", _erf, 2.5, np.zeros_like),
    "rsqrt": (RSQRT, rsqrt, 2.7, np.zeros_like),
    "logistic": (LOGISTIC, logistic, 12, lambda x: np.maximum(x, 0)),
}
MORE = 1.25


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name: str, off: None) -> None:
    body, function, limit, grows = FUNCTIONS[name]
    x = samples()
    found = run(body, x)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.longdouble))
        rounded = exact.astype(np.float32)
        own = function(x)  # what eager's f32 is
    share = np.abs(exact) / np.finfo(np.float32).max
    border = np.abs(share - 1) < 1e-5  # infinite or not
    special = ~np.isfinite(rounded) & ~border
    np.testing.assert_array_equal(found[special], rounded[special])
    zeros = rounded == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(rounded[zeros]))
    numbers = ~special & ~border & (own != 0)  # where eager's sum overflows it gives 0
    x, found, exact = x[numbers], found[numbers], exact[numbers]
    error = np.abs(found - exact)
    ulp = np.maximum(np.spacing(np.abs(rounded[numbers])).astype(np.longdouble), 2.0**-149)
    assert (error / ulp - MORE * grows(x)).max() <= limit
    assert (error <= 1e-5 * np.abs(exact) + 2.0**-149).all()


def test_divisions_by_one_number(off: None) -> None:
    x = RNG.standard_normal((300, 64)).astype(np.float32) * np.exp2(RNG.uniform(-140, 124, (300, 1))).astype(
        np.float32
    )
    d = RNG.standard_normal(300).astype(np.float32) * np.exp2(RNG.uniform(-148, 127, 300)).astype(np.float32)
    d[: len(EDGES)] = EDGES
    x[:, : len(EDGES)] = EDGES
    kinds = [kernels.tensor(shape, "f32") for shape in (x.shape, d.shape, x.shape)]
    body = "%x: f32, %d: f32, %o: f32 { %r = arith.divf %x, %d : f32\n linalg.yield %r : f32 }"
    text = kernels.generic_kernel("division", kinds, "d0,d1 -> d0,d1 | d0 | d0,d1", "pp", body)
    compiled = gpu.compile_kernel(text)
    assert "div.rn" not in compiled.ptx.split("_unaligned")[0]
    with np.errstate(all="ignore"):
        (found,) = gpu.run_kernel(compiled, [x, d, np.zeros_like(x)])
        wanted = x / d[:, None]
    small = np.abs(wanted) < 2.0**-102
    with np.errstate(invalid="ignore"):
        near = small & (np.abs(found - wanted) <= np.spacing(np.abs(wanted)))
    other = ~near & (found != wanted) & ~(np.isnan(found) & np.isnan(wanted))
    np.testing.assert_array_equal(found[other], wanted[other])
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("columns", [37, 100])
def test_divisors_that_are_quotients(columns: int) -> None:
    """As in a quantisation by rows, whose scale is a maximum by 127."""
    x = torch.randn(5, columns)

    def quantise(x: torch.Tensor) -> torch.Tensor:
        return x / (x.abs().amax(-1, keepdim=True) / 127)

    got = mlopt.jit(quantise, x, target="cuda:sm_80", device="emulator")(x)
    torch.testing.assert_close(got, quantise(x), rtol=1e-6, atol=1e-6)
