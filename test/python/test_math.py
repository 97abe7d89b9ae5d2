"""Mathematical functions: errors in ulp against f64, and the edges; half floats: every bit pattern.

The limits are those that passes/cpu/expand_math.py states. Samples are all f32 bit patterns a fixed step
apart, so all magnitudes occur, denormals and NaNs too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import torch
from mlir import ir
from mlopt.pipelines.driver import run_pipeline
from mlopt.runtime import codegen, loader

PIPELINE = """builtin.module(
  mlopt-cpu-widen-floats, mlopt-cpu-expand-math{vector-bits=BITS}, mlopt-cpu-entry,
  convert-scf-to-cf, mlopt-cpu-status, expand-strided-metadata, lower-affine, arith-expand{include-bf16=true},
  convert-vector-to-llvm, convert-math-to-llvm, convert-math-to-libm, convert-arith-to-llvm,
  finalize-memref-to-llvm, convert-func-to-llvm, convert-cf-to-llvm, reconcile-unrealized-casts
)"""

# The largest error in ulp of each function.
LIMITS = {
    "exp": 1.0,
    "exp2": 0.9,
    "expm1": 1.4,
    "log": 0.9,
    "log2": 1.0,
    "log10": 1.0,
    "log1p": 1.4,
    "tanh": 2.4,
    "erf": 1.4,
    "sin": 1.5,
    "cos": 1.5,
    "tan": 0.8,
    "atan": 1.5,
    "sinh": 2.5,
    "cosh": 2.0,
    "rsqrt": 1.5,
}
# Scalars, one register, four registers, and lanes that fill none.
# Lanes, and the bits of a vector register: those that this processor has.
SHAPES = [
    (lanes, bits)
    for lanes, bits in [(1, 128), (4, 128), (1, 256), (8, 256), (32, 256), (16, 512), (64, 512), (12, 512)]
    if bits <= codegen.Target.resolve().vector_bits
]
SPECIALS = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    2.0**-149,
    -(2.0**-149),
    2.0**-126,
    3.4e38,
    -3.4e38,
]
EDGES = [
    88.7228,
    88.73,
    -87.34,
    -103.9,
    -104.1,
    127.99,
    128.0,
    -126.0,
    -149.0,
    -150.0,
    9.0,
    -10.0,
    0.5,
    2.0**30,
]

Function = Callable[..., np.ndarray]


def loop(lanes: int, element: str, body: str, operands: int = 1, result: str | None = None) -> str:
    """@main over 1-D buffers, ``lanes`` elements a step: ``body`` makes %y from %x0, %x1 …"""
    result = result or element
    value, out = (f"vector<{lanes}x{t}>" if lanes > 1 else t for t in (element, result))
    arguments = ", ".join(f"%a{i}: memref<?x{element}>" for i in range(operands))
    read = "vector.load" if lanes > 1 else "memref.load"
    suffix = f", {value}" if lanes > 1 else ""
    loads = "\n".join(f"%x{i} = {read} %a{i}[%i] : memref<?x{element}>{suffix}" for i in range(operands))
    store = f"vector.store %y, %out[%i] : memref<?x{result}>, {out}"
    if lanes == 1:
        store = f"memref.store %y, %out[%i] : memref<?x{result}>"
    return f"""
    func.func @main({arguments}, %out: memref<?x{result}>) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      %n = memref.dim %a0, %c0 : memref<?x{element}>
      scf.for %i = %c0 to %n step %step {{
        {loads}
        {body.replace("TYPE", value).replace("RESULT", out)}
        {store}
      }}
      return
    }}"""


def build(text: str, vector_bits: int) -> Function:
    """Compile ``text`` for the host; the function takes the inputs and the output's dtype."""
    with ir.Context():
        module = ir.Module.parse(text)
        run_pipeline(module.operation, PIPELINE.replace("BITS", str(vector_bits)))
        code = codegen.generate(module)
    library = loader.load(code.object, ["mlopt_main"])
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library.address("mlopt_main"))

    def call(*inputs: np.ndarray, dtype: type) -> np.ndarray:
        out = np.empty(len(inputs[0]), dtype)
        buffers = [*inputs, out]
        values = [buffer.ctypes.data for buffer in buffers] + [0, 1] + [len(out)] * len(buffers)
        assert entry((ctypes.c_int64 * len(values))(*values)) == 0
        assert library is not None  # the code lives as long as this
        return out

    return call


def samples(step: int) -> np.ndarray:
    """All f32 bit patterns ``step`` apart, and the special ones; a multiple of 192 in number."""
    special = np.array([*SPECIALS, *EDGES, *(-value for value in EDGES)], np.float32)
    every = np.arange(0, 2**32, step, dtype=np.uint32).view(np.float32)
    x = np.concatenate([special, every])
    return np.ascontiguousarray(x[: len(x) // 192 * 192])


def error_in_ulp(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The distance from the f64 value in units of f32's last place; 0 where both are not finite."""
    exponent = np.floor(np.log2(np.maximum(np.abs(expected), 2.0**-126)))
    with np.errstate(invalid="ignore"):
        error = np.abs(got.astype(np.float64) - expected) / 2.0 ** (exponent - 23)
    finite = np.isfinite(got) & np.isfinite(expected.astype(np.float32))
    return np.where(finite, error, 0.0)


def check(x: np.ndarray, got: np.ndarray, expected: np.ndarray, limit: float) -> None:
    """Errors within ``limit``; NaN, infinities and the signs of zeros as expected."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected.astype(np.float32)
        error = error_in_ulp(got, expected)
    worst = int(error.argmax())
    assert error[worst] <= limit, (
        f"{error[worst]} ulp at {x[worst]!r}: {got[worst]!r}, not {expected[worst]!r}"
    )
    odd = ~(np.isfinite(rounded) & np.isfinite(got))
    np.testing.assert_array_equal(got[odd], rounded[odd])
    zero = (rounded == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
@pytest.mark.parametrize("name", LIMITS)
def test_functions(name: str, lanes: int, vector_bits: int) -> None:
    function = build(loop(lanes, "f32", f"%y = math.{name} %x0 : TYPE"), vector_bits)
    x = samples(40009 if name in ("sin", "cos", "tan") else 20011)
    expected = getattr(torch, name)(torch.from_numpy(x).double()).numpy()
    check(x, function(x, dtype=np.float32), expected, LIMITS[name])


def one_plus(name: str, lanes: int, summands: str) -> str:
    return f"""
        %one = arith.constant {"1.0" if lanes == 1 else "dense<1.0>"} : TYPE
        %t = math.{name} %x0 : TYPE
        %y = arith.addf {summands} : TYPE"""


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_one_plus_tanh(lanes: int, vector_bits: int) -> None:
    body = one_plus("tanh", lanes, "%t, %one")
    x = samples(20011)
    x[x < -44] = 0  # from there on exp(-2x) is infinite in f32, and 1 + tanh(x) less than 1e-37: 0
    with np.errstate(over="ignore", invalid="ignore"):
        expected = 2 / (1 + np.exp(-2 * x.astype(np.float64)))
    check(x, build(loop(lanes, "f32", body), vector_bits)(x, dtype=np.float32), expected, 2.4)


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_one_plus_erf(lanes: int, vector_bits: int) -> None:
    """As exact as erf + 1; far below 0 it has digits of its own, but where a register is a table."""
    body = one_plus("erf", lanes, "%one, %t")
    x = np.concatenate([samples(20011), np.linspace(-12, 6, 192 * 500).astype(np.float32)])
    x = x[: len(x) // 192 * 192]
    got = build(loop(lanes, "f32", body), vector_bits)(x, dtype=np.float32)
    expected = torch.erfc(-torch.from_numpy(x).double()).numpy()
    above = ~(x < 0)
    check(x[above], got[above], expected[above], 1.5)
    np.testing.assert_allclose(got[~above], expected[~above], rtol=0, atol=1.3e-7)
    if vector_bits < 512 or lanes % 16:
        own = (x < 0) & (x > -4.2)
        np.testing.assert_allclose(got[own], expected[own], rtol=3e-5)
    assert (got[x < -9] == 0).all()


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_exp_not_positive(lanes: int, vector_bits: int) -> None:
    """As in a softmax: right into the denormals, NaN and -inf as in C."""
    x = samples(20011)
    x = np.where(np.isnan(x), x, -np.abs(x))
    x[: len(x) // 4] = np.linspace(-110, 0, len(x) // 4, dtype=np.float32)
    body = "%y = math.exp %x0 {mlopt.not_positive} : TYPE"
    got = build(loop(lanes, "f32", body), vector_bits)(x, dtype=np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.exp(x.astype(np.float64))
    check(x, got, expected, LIMITS["exp"])


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_sigmoid(lanes: int, vector_bits: int) -> None:
    body = """
        %one = arith.constant ONE : TYPE
        %minus = arith.negf %x0 : TYPE
        %e = math.exp %minus : TYPE
        %s = arith.addf %e, %one : TYPE
        %y = arith.divf %one, %s : TYPE""".replace("ONE", "1.0" if lanes == 1 else "dense<1.0>")
    x = samples(20011)
    x[x < -87] = 0  # a little below, exp(-x) is infinite in f32, and the result 0, as eager's
    with np.errstate(over="ignore", invalid="ignore"):
        expected = 1 / (1 + np.exp(-x.astype(np.float64)))
    check(x, build(loop(lanes, "f32", body), vector_bits)(x, dtype=np.float32), expected, 2.9)


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_powers(lanes: int, vector_bits: int) -> None:
    function = build(loop(lanes, "f32", "%y = math.powf %x0, %x1 : TYPE", operands=2), vector_bits)
    random = np.random.default_rng(0)
    special = np.array([*SPECIALS, 0.5, -0.5, 3.0, -3.0], np.float32)
    x = np.concatenate(
        [np.repeat(special, 16), random.random(9472) * 100, 0.995 + random.random(9472) * 0.01]
    )
    y = np.concatenate([np.tile(special, 16), random.normal(size=9472) * 10, random.normal(size=9472) * 1000])
    x, y = (np.concatenate([v, w]).astype(np.float32) for v, w in ((x, -x), (y, np.round(y))))
    expected = torch.pow(torch.from_numpy(x).double(), torch.from_numpy(y).double()).numpy()
    count = len(x) // 192 * 192
    check(x[:count], function(x[:count], y[:count], dtype=np.float32), expected[:count], 0.6)


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """All pairs of special values, of neighbours, of all magnitudes, and of multiples."""
    random = np.random.default_rng(0)
    special = np.array([*SPECIALS, 0.5, -0.5, 3.0, -3.0], np.float32)
    bits = random.integers(0, 2**32, (2, 6000), dtype=np.uint32).view(np.float32)
    y = random.normal(size=6000).astype(np.float32)
    near = y * np.float32(1 + 2**-22)
    multiples = (y * random.integers(-1000, 1000, 6000)).astype(np.float32)
    x = np.concatenate([np.repeat(special, 16), bits[0], near, multiples])
    y = np.concatenate([np.tile(special, 16), bits[1], y, y])
    count = len(x) // 192 * 192
    return x[:count], y[:count]


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_angles(lanes: int, vector_bits: int) -> None:
    x, y = pairs()
    with np.errstate(invalid="ignore"):
        expected = np.arctan2(x.astype(np.float64), y.astype(np.float64))
    function = build(loop(lanes, "f32", "%y = math.atan2 %x0, %x1 : TYPE", operands=2), vector_bits)
    small = np.abs(expected) < 2.0**-126  # denormals, where f64's has been rounded once
    got = function(x, y, dtype=np.float32)
    check(x[~small], got[~small], expected[~small], 2.0)
    np.testing.assert_allclose(got[small], expected[small], rtol=1e-6, atol=2.0**-149)
    np.testing.assert_array_equal(np.signbit(got[small]), np.signbit(expected[small]))


@pytest.mark.parametrize(("lanes", "vector_bits"), SHAPES)
def test_remainders_are_exact(lanes: int, vector_bits: int) -> None:
    x, y = pairs()
    function = build(loop(lanes, "f32", "%y = arith.remf %x0, %x1 : TYPE", operands=2), vector_bits)
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x, y)
    got = function(x, y, dtype=np.float32)
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -0.5, -1.0, -2.0])
def test_constant_powers(exponent: float) -> None:
    body = f"%e = arith.constant dense<{exponent}> : TYPE\n%y = math.powf %x0, %e : TYPE"
    x = samples(200003)
    got = build(loop(8, "f32", body), 256)(x, dtype=np.float32)
    np.testing.assert_allclose(got, torch.pow(torch.from_numpy(x), exponent).numpy(), rtol=2.5e-7)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(("op", "reference"), [("maximumf", np.maximum), ("minimumf", np.minimum)])
@pytest.mark.parametrize("constant", [None, 0.0])
def test_extremes_propagate_nan(op: str, reference: Function, lanes: int, constant: float | None) -> None:
    dense = f"dense<{constant}>" if lanes > 1 else f"{constant}"
    body = f"%c = arith.constant {dense} : TYPE\n" if constant is not None else ""
    body += f"%y = arith.{op} %x0, {'%x1' if constant is None else '%c'} : TYPE"
    x = np.repeat(np.array([*SPECIALS, 2.0, 3.0, -2.0, -3.0], np.float32), 16)
    y = np.tile(x[::16], 16)
    got = build(loop(lanes, "f32", body, operands=2), 256)(x, y, dtype=np.float32)
    np.testing.assert_array_equal(got, reference(x, y if constant is None else np.float32(constant)))


def _exact_sqrt(x: torch.Tensor) -> torch.Tensor:
    """Correctly rounded, which torch's own is not everywhere."""
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.sqrt(x.numpy()))


@pytest.mark.parametrize("lanes", [1, 16, 64])
@pytest.mark.parametrize(("element", "dtype"), [("bf16", torch.bfloat16), ("f16", torch.float16)])
def test_half_floats(element: str, dtype: torch.dtype, lanes: int) -> None:
    """All bit patterns: a sum, a chain and a function, computed in f32 and rounded once."""
    patterns = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    x = patterns.view(dtype)
    y = x.flip(0)
    bodies = {
        "%y = arith.addf %x0, %x1 : TYPE": x.float() + y.float(),
        "%s = arith.mulf %x0, %x1 : TYPE\n%y = arith.subf %s, %x0 : TYPE": x.float() * y.float() - x.float(),
        "%s = arith.maximumf %x0, %x1 : TYPE\n%y = math.sqrt %s : TYPE": _exact_sqrt(
            torch.maximum(x, y).float()
        ),
    }
    for body, expected in bodies.items():
        function = build(loop(lanes, element, body, operands=2), 256)
        got = torch.from_numpy(function(patterns.numpy(), y.view(torch.int16).numpy(), dtype=np.int16)).view(
            dtype
        )
        assert torch.equal(got.isnan(), expected.isnan())
        numbers = ~expected.isnan()
        assert torch.equal(got[numbers], expected.to(dtype)[numbers]), body


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(("element", "dtype"), [("bf16", torch.bfloat16), ("f16", torch.float16)])
def test_rounding_to_half(element: str, dtype: torch.dtype, lanes: int) -> None:
    """To nearest even, into the denormals, NaN stays NaN."""
    x = samples(20011)
    # Ties and their neighbours: an upper half with 0x7fff, 0x8000 and 0x8001 below it.
    ties = np.arange(0, 2**16, 5, dtype=np.uint32)[:, None] << 16 | np.array(
        [0x7FFF, 0x8000, 0x8001], np.uint32
    )
    x = np.concatenate([x, ties.ravel().view(np.float32)])
    x = x[: len(x) // 16 * 16]
    function = build(loop(lanes, "f32", "%y = arith.truncf %x0 : TYPE to RESULT", result=element), 256)
    got = torch.from_numpy(function(x, dtype=np.int16)).view(dtype)
    expected = torch.from_numpy(x).to(dtype)
    assert torch.equal(got.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(got.view(torch.int16)[numbers], expected.view(torch.int16)[numbers])


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_exp_of_doubles(lanes: int) -> None:
    """0.9 ulp, into the denormals; to infinity and 0 where f64 ends."""
    random = np.random.default_rng(0)
    ends = [
        *SPECIALS,
        709.7827,
        709.7828,
        710.5,
        -708.3,
        -708.4,
        -745.13,
        -745.14,
        -746.5,
        1e308,
        -1e308,
        5e-324,
    ]
    x = np.concatenate([np.array(ends), random.uniform(-745, 709.7, 20000), random.normal(size=20000)])
    x = x[: len(x) // 16 * 16]
    got = build(loop(lanes, "f64", "%y = math.exp %x0 : TYPE"), 256)(x, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x.astype(np.longdouble))
        rounded = expected.astype(np.float64)
    odd = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(got[odd], rounded[odd])
    error = np.abs(got[~odd] - expected[~odd]) / np.spacing(rounded[~odd])
    assert error.max() <= 0.9


@pytest.mark.parametrize("lanes", [1, 4])
def test_double_precision_is_libm(lanes: int) -> None:
    x = np.linspace(-20, 20, 64)
    got = build(loop(lanes, "f64", "%y = math.sin %x0 : TYPE"), 256)(x, dtype=np.float64)
    np.testing.assert_allclose(got, np.sin(x), rtol=1e-15)
