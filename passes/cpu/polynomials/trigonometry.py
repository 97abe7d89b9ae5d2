"""sin and cos."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import arith, math, scf, vector

from .lanes import Lanes, in_registers
from .registry import expands

_TWO_OVER_PI = 0.6366197723675814
# pi/2 in two f64 parts.
_HALF_PI_HIGH = 1.5707963267948966
_HALF_PI_LOW = 6.123233995736766e-17
# (sin(r) - r) / r³ and (cos(r) - 1 + r²/2) / r⁴ in r², for |r| <= pi/4.
_SIN = (-0.1666666716337204, 0.008333329111337662, -0.00019839302694890648, 2.7180260531167733e-06)
_COS = (0.0416666679084301, -0.0013888883404433727, 2.4799448510748334e-05, -2.720485383633786e-07)
_LARGEST = 2.0**30


@expands("math.sin")
def sin(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """By the quadrant of x."""
    return _with_huge_arguments(b, operands[0], 0, math.sin)


@expands("math.cos")
def cos(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`sin(x + pi/2)`, by the quadrant of x."""
    return _with_huge_arguments(b, operands[0], 1, math.cos)


def _with_huge_arguments(b: Lanes, x: ir.Value, turn: int, call: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """The polynomial, and libm's function for lanes beyond 2^30, where f64 does not reduce exactly."""
    result = in_registers(b, [x], lambda part, operands: _reduced(part, operands[0], turn))
    huge = arith.cmpf(arith.CmpFPredicate.OGE, b.abs(x), b.const(_LARGEST))
    if b.shape is None:
        choice = scf.IfOp(huge, [b.float_type], has_else=True)
        with ir.InsertionPoint(choice.then_block):
            scf.YieldOp([call(x)])
        with ir.InsertionPoint(choice.else_block):
            scf.YieldOp([result])
        return choice.results[0]
    any_huge = vector.reduction(ir.IntegerType.get_signless(1), vector.CombiningKind.OR, huge)
    choice = scf.IfOp(any_huge, [b.float_type], has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.YieldOp([_lane_by_lane(b, x, call)])
    with ir.InsertionPoint(choice.else_block):
        scf.YieldOp([result])
    return choice.results[0]


def _lane_by_lane(b: Lanes, x: ir.Value, call: Callable[[ir.Value], ir.Value]) -> ir.Value:
    index = ir.IndexType.get()
    lanes = b.shape[0] if b.shape else 1
    bounds = [arith.constant(index, value) for value in (0, lanes, 1)]
    loop = scf.ForOp(*bounds, [x])
    with ir.InsertionPoint(loop.body):
        element = vector.extract(x, [loop.induction_variable], [_DYNAMIC])
        carried = loop.inner_iter_args[0]
        scf.YieldOp([vector.insert(call(element), carried, [loop.induction_variable], [_DYNAMIC])])
    return loop.results[0]


def _reduced(b: Lanes, x: ir.Value, turn: int) -> ir.Value:
    d = b.double
    wide = b.widen(x)
    n, n_int = d.round_to_int(wide, _TWO_OVER_PI)
    exact = d.fma(n, d.const(-_HALF_PI_LOW), d.fma(n, d.const(-_HALF_PI_HIGH), wide))
    r = b.narrow(exact)
    quadrant = arith.trunci(b.int_type, n_int)
    if turn:
        quadrant = arith.addi(quadrant, b.int_const(turn))
    square = b.mul(r, r)
    sine = _keep_minus_zero(b, r, b.fma(b.mul(square, r), b.polynomial(square, _SIN), r))
    cosine = b.fma(square, b.polynomial(square, (-0.5, *_COS)), b.const(1.0))
    one = b.int_const(1)
    odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(quadrant, one), b.int_const(0))
    value = b.select(odd, cosine, sine)
    negative = arith.shli(arith.andi(quadrant, b.int_const(2)), b.int_const(30))
    return b.from_bits(arith.xori(b.to_bits(value), negative))


def _keep_minus_zero(b: Lanes, r: ir.Value, sine: ir.Value) -> ir.Value:
    """The sine has the sign of r anyway; at -0 the sum above has lost it."""
    sign = arith.andi(b.to_bits(r), b.int_const(-(2**31)))
    return b.from_bits(arith.ori(b.to_bits(sine), sign))


_DYNAMIC = ir.ShapedType.get_dynamic_size()
