"""Products with bias and relu as kernels, compared with numpy: what tests of contractions on GPUs share."""

# ruff: noqa: E501 (MLIR as text)

from __future__ import annotations

import ml_dtypes
import numpy as np
from gpu_kernels import compile_kernel, run_kernel
from gpu_numbers import to_bf16, wide

RELU = """
  %q = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                                        affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r, %bias : tensor<{m}x{n}x{acc}>, tensor<{n}x{acc}>) outs(%out : tensor<{m}x{n}x{acc}>) {{
  ^bb0(%x: {acc}, %y: {acc}, %s: {acc}):
    %p = {add} %x, %y : {acc}
    %t = {most} %p, %zero : {acc}
    linalg.yield %t : {acc}
  }} -> tensor<{m}x{n}x{acc}>
"""

PRODUCT = """
func.func private @product(%a: tensor<{a}x{kind}>, %b: tensor<{b}x{kind}>, %bias: tensor<{n}x{acc}>,
                           %out: tensor<{m}x{n}x{acc}>) -> tensor<{m}x{n}x{acc}> attributes {{mlopt.kernel}} {{
  %zero = arith.constant {zero} : {acc}
  %e = tensor.empty() : tensor<{m}x{n}x{acc}>
  %f = linalg.fill ins(%zero : {acc}) outs(%e : tensor<{m}x{n}x{acc}>) -> tensor<{m}x{n}x{acc}>
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> ({at})>, affine_map<(m, n, k) -> ({bt})>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{a}x{kind}>, tensor<{b}x{kind}>) outs(%f : tensor<{m}x{n}x{acc}>) {{
  ^bb0(%x: {kind}, %y: {kind}, %s: {acc}):
    {widen}
    %p = {mul} {operands} : {acc}
    %t = {add} %s, %p : {acc}
    linalg.yield %t : {acc}
  }} -> tensor<{m}x{n}x{acc}>
{relu}
  return %q : tensor<{m}x{n}x{acc}>
}}
"""

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "i8": np.int8,
}  # fmt: skip
TF32 = "tf32"  # f32 that is rounded
WIDE = {TF32: "f32", "f16": "f32", "bf16": "f32", "i8": "i32", "e4m3": "f32", "e5m2": "f32"}
FLOATS8 = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}  # stored as their bits
NUMPY_FLOATS8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def product(m: int, n: int, k: int, kind: str = "f32", left: bool = False, right: bool = False) -> str:
    """``relu(a @ b + bias)``; ``left`` and ``right`` say which factor is transposed in memory."""
    acc = WIDE.get(kind, kind)
    kind = "f32" if kind == TF32 else kind
    floating = acc.startswith("f")
    cast = "arith.extf" if floating else "arith.extsi"
    form, names = FLOATS8.get(kind, kind), "xy"
    bits = [f"%{name}b = arith.bitcast %{name} : i8 to {form}\n    " for name in names if kind in FLOATS8]
    read = "b" if bits else ""
    widened = [f"%{name}w = {cast} %{name}{read} : {form} to {acc}\n    " for name in names if acc != kind]
    words = {
        "m": m, "n": n, "kind": "i8" if bits else kind, "acc": acc,
        "a": f"{k}x{m}" if left else f"{m}x{k}", "at": "k, m" if left else "m, k",
        "b": f"{n}x{k}" if right else f"{k}x{n}", "bt": "n, k" if right else "k, n",
        "zero": "0.0" if floating else "0",
        "mul": "arith.mulf" if floating else "arith.muli", "add": "arith.addf" if floating else "arith.addi",
        "most": "arith.maximumf" if floating else "arith.maxsi",
        "widen": "".join([*bits, *widened]).strip(),
        "operands": "%x, %y" if acc == kind else "%xw, %yw",
    }  # fmt: skip
    return PRODUCT.format(relu=RELU.format(**words), **words)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind.startswith("i"):
        return rng.integers(-9, 9, shape).astype(DTYPES[kind])
    values = rng.standard_normal(shape)
    if kind == TF32:
        return between_tf32(values.astype(np.float32))
    if kind in FLOATS8:
        return values.astype(NUMPY_FLOATS8[kind])
    return to_bf16(values) if kind == "bf16" else values.astype(DTYPES[kind])


def between_tf32(values: np.ndarray) -> np.ndarray:
    """f32 of which every third number lies in the middle between two of TF32."""
    bits = values.view(np.uint32).copy()
    bits.flat[::3] = bits.flat[::3] & 0xFFFFE000 | 0x1000
    return bits.view(np.float32)


def nearest_tf32(values: np.ndarray) -> np.ndarray:
    """Finite f32 rounded to TF32, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).view(np.float32)


def drawn(
    size: tuple[int, int, int], kind: str, left: bool, right: bool, rng: np.random.Generator
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The arguments of a `product`, what it is, and how far each of its elements may be off."""
    m, n, k = size
    a = numbers(rng, (k, m) if left else (m, k), kind)
    b = numbers(rng, (n, k) if right else (k, n), kind)
    acc = WIDE.get(kind, kind)
    bias = numbers(rng, (n,), acc)
    exact = np.int64 if kind.startswith("i") else np.float64
    read = nearest_tf32 if kind == TF32 else wide
    one, other = (
        (each.T if turned else each).astype(exact) for each, turned in ((read(a), left), (read(b), right))
    )
    # (k + 2) roundings, each within half an ulp of the sum of the terms' absolute values.
    half_ulp = 0 if exact is np.int64 else np.finfo(DTYPES[acc]).eps
    bound = (k + 2) * half_ulp * (np.abs(one) @ np.abs(other) + np.abs(bias))
    stored = [each.view(np.int8) if kind in FLOATS8 else each for each in (a, b)]
    return [*stored, bias, np.full((m, n), 77, DTYPES[acc])], np.maximum(one @ other + bias, 0), bound


def check(m: int, n: int, k: int, kind: str, left: bool, right: bool, rng: np.random.Generator) -> None:
    arguments, want, bound = drawn((m, n, k), kind, left, right, rng)
    (found,) = run_kernel(compile_kernel(product(m, n, k, kind, left, right)), arguments)
    assert (np.abs(found - want) <= bound).all()
