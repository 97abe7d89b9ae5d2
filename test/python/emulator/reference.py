"""Arithmetic by rational numbers, rounded as the ISA says: slow, simple, and apart from the emulator's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

# name: precision with the hidden bit, exponent of the least normal number, greatest exponent
FORMATS = {
    "f16": (11, -14, 15),
    "bf16": (8, -126, 127),
    "f32": (24, -126, 127),
    "tf32": (11, -126, 127),
    "f64": (53, -1022, 1023),
}


def rounded(value: Fraction, name: str, mode: str = "rn") -> float:
    """An exact value in a format, by rn, rna, rz, rm or rp. The sign of zero is lost."""
    precision, least, greatest = FORMATS[name]
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, least) - precision + 1)
    scaled = magnitude / quantum
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    rest = Fraction(rest, scaled.denominator)
    negative = value < 0
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    out = (whole + up) * quantum
    top = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest
    if out > top:
        stays = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        result = float(top) if stays else math.inf
    else:
        result = float(out)
    return -result if negative else result


def to_bits(values: list[float], name: str) -> np.ndarray:
    """Values of a format as the bits that a register holds."""
    if name == "bf16":
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name == "tf32":
        return np.array(values, np.float32).view(np.uint32)
    return np.array(values, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name])


def from_bits(bits: np.ndarray, name: str) -> list[float]:
    """The values of such bits."""
    if name == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64).tolist()
    kind = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64}[name]
    return bits.view(kind).astype(np.float64).tolist()


def samples(name: str, count: int, rng: np.random.Generator) -> list[float]:
    """Finite values of a format: of all sizes, near each other, small integers, the ends of the range."""
    precision, least, greatest = FORMATS[name]
    significands = rng.integers(0, 1 << precision, count)
    exponents = rng.integers(least - precision, greatest - precision + 2, count)
    near = rng.integers(-3, 4, count)
    exponents = np.where(rng.random(count) < 0.5, near, exponents)
    signs = rng.choice([-1.0, 1.0], count)
    values = [
        rounded(Fraction(int(s)) * Fraction(2) ** int(e) * int(sign), name)
        for s, e, sign in zip(significands, exponents, signs, strict=True)
    ]
    tiny = math.ldexp(1.0, least - precision + 1)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        0.5,
        tiny,
        -tiny,
        math.ldexp(1.0, least),
        1.0 + 2.0 ** (1 - precision),
    ]
    values[: len(special)] = special
    return [value if math.isfinite(value) else 1.0 for value in values]


def eight(name: str) -> np.ndarray:
    """The values of all patterns of e4m3 or e5m2; those of e4m3 that end in 127, and e5m2's beyond 123, are
    no numbers (124 and 252 are infinite)."""
    exponent_bits, fraction_bits = int(name[1]), int(name[3])
    bias, out = 2 ** (exponent_bits - 1) - 1, []
    for pattern in range(256):
        exponent, fraction = (pattern & 127) >> fraction_bits, pattern % 2**fraction_bits
        value = math.ldexp(
            fraction + (exponent > 0) * 2**fraction_bits, max(exponent, 1) - bias - fraction_bits
        )
        if name == "e4m3" and pattern & 127 == 127:
            value = math.nan
        elif name == "e5m2" and pattern & 127 >= 124:
            value = math.nan if fraction else math.inf
        out.append(-value if pattern & 128 else value)
    return np.array(out)
