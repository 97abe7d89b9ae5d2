"""From and to 8-bit floats, as integer arithmetic on their bits: the same on every target."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

_F32_MANTISSA, _F32_BIAS = 23, 127
_F32_INFINITY = 0xFF << _F32_MANTISSA
_REST = 0x7FFFFFFF  # all but the sign
ALL_BUT_SIGN = 0x7F  # of an 8-bit float
_NAN = 0x7F  # torch's NaN in both formats


@dataclass(frozen=True)
class Format:
    """An 8-bit float: how many bits of it are mantissa, what is added to its exponent; mlopt's name of it.

    ``limit`` is what a larger f32 counts as: the largest number, or what is rounded to infinity.
    """

    name: str
    mantissa: int
    bias: int
    limit: float

    @property
    def smallest(self) -> int:
        """The bits of the smallest normal number as an f32."""
        return (_F32_BIAS - self.bias + 1) << _F32_MANTISSA


# OCP 8-bit Floating Point Specification 1.0. torch (c10/util/Float8_*.h) rounds to nearest even; what is too
# large becomes the largest number of e4m3fn, which has no infinity, and infinity in e5m2.
FORMATS = {
    "f8E4M3FN": Format("f8e4m3fn", mantissa=3, bias=7, limit=448.0),
    "f8E5M2": Format("f8e5m2", mantissa=2, bias=15, limit=65536.0),
}


def code_of(number: float, form: Format) -> int:
    """The bits of a number that the format has."""
    size, sign = abs(number), 0x80 if math.copysign(1.0, number) < 0 else 0
    if math.isnan(size):
        return sign | _NAN
    size = min(size, form.limit)
    exponent = max(math.frexp(size)[1] - 1, 1 - form.bias) if size else 1 - form.bias
    whole = int(math.ldexp(size, form.mantissa - exponent))
    return sign | (((exponent + form.bias - 1) << form.mantissa) + whole)


def decode(bits: ir.Value, form: Format) -> ir.Value:
    """The f32 of an i8, or those of a vector.

    By way of the f16 with the same fields, which e5m2 is the upper half of. The bias of e4m3fn is 8 less than
    f16's: a product puts it right, of denormals, too.
    """
    short, f32 = _like(bits, ir.IntegerType.get_signless(16)), _like(bits, ir.F32Type.get())
    wide = arith.extui(short, bits)
    if form.bias == FORMATS["f8E5M2"].bias:
        return _as_float(arith.shli(wide, _integer(short, 8)))
    rest = arith.andi(wide, _integer(short, ALL_BUT_SIGN))
    sign = arith.shli(arith.andi(wide, _integer(short, 0x80)), _integer(short, 8))
    half = arith.ori(arith.shli(rest, _integer(short, 7)), sign)
    number = arith.mulf(_as_float(half), _constant(f32, 256.0))
    is_nan = arith.cmpi(arith.CmpIPredicate.eq, rest, _integer(short, _NAN))
    result: ir.Value = arith.select(is_nan, _constant(f32, float("nan")), number)
    return result


def encode(value: ir.Value, form: Format) -> ir.Value:
    """The i8 of an f32, rounded to nearest even."""
    word, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    bits = arith.bitcast(word, value)
    size = arith.andi(bits, _integer(word, _REST))
    limited = arith.minui(size, arith.bitcast(word, _float(form.limit)))
    dropped = _F32_MANTISSA - form.mantissa
    # Normal numbers: the exponent as this format has it, and a half of the last bit, or a little less.
    odd = arith.andi(arith.shrui(limited, _integer(word, dropped)), _integer(word, 1))
    shift = ((form.bias - _F32_BIAS) << _F32_MANTISSA) + (1 << (dropped - 1)) - 1
    rounded = arith.addi(arith.addi(limited, odd), _integer(word, shift))
    normal = arith.shrui(rounded, _integer(word, dropped))
    # Denormals: a sum with what has their last bit as its own last one rounds them.
    anchor = (_F32_BIAS - form.bias + dropped + 1) << _F32_MANTISSA
    sum_ = arith.addf(arith.bitcast(f32, limited), arith.bitcast(f32, _integer(word, anchor)))
    denormal = arith.subi(arith.bitcast(word, sum_), _integer(word, anchor))
    is_small = arith.cmpi(arith.CmpIPredicate.ult, limited, _integer(word, form.smallest))
    is_nan = arith.cmpi(arith.CmpIPredicate.ugt, size, _integer(word, _F32_INFINITY))
    number = arith.select(is_nan, _integer(word, _NAN), arith.select(is_small, denormal, normal))
    sign = arith.andi(arith.shrui(bits, _integer(word, 24)), _integer(word, 0x80))
    return arith.trunci(ir.IntegerType.get_signless(8), arith.ori(number, sign))


def _as_float(half: ir.Value) -> ir.Value:
    return arith.extf(_like(half, ir.F32Type.get()), arith.bitcast(_like(half, ir.F16Type.get()), half))


def _like(value: ir.Value, element: ir.Type) -> ir.Type:
    """A type, or a vector's of it."""
    return ir.VectorType.get(value.type.shape, element) if isinstance(value.type, ir.VectorType) else element


def _integer(kind: ir.Type, value: int) -> ir.Value:
    return _constant(kind, value)


def _float(value: float) -> ir.Value:
    return arith.constant(ir.F32Type.get(), value)


def _constant(kind: ir.Type, value: float) -> ir.Value:
    """A number, or a vector of it."""
    if not isinstance(kind, ir.VectorType):
        return arith.constant(kind, value)
    element = kind.element_type
    make = ir.FloatAttr.get if isinstance(element, ir.FloatType) else ir.IntegerAttr.get
    return arith.constant(kind, ir.DenseElementsAttr.get_splat(kind, make(element, value)))
