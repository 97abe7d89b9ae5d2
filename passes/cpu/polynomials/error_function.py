"""erf."""

from __future__ import annotations

from mlir import ir

from .lanes import Lanes
from .registry import ONE_PLUS_ERF, expands

# erf(x) / x - 1 in x², to 0.93.
SMALL = (
    0.12837916612625122,
    -0.37612631916999817,
    0.11283663660287857,
    -0.026857705786824226,
    0.005196953658014536,
    -0.0008097716490738094,
    8.185136539395899e-05,
)
# -log2(1 - erf(t)) / t, so that 1 - erf(t) is off by 2.5e-9 at most up to 4.2; t times this grows beyond.
LOGARITHM = (
    1.6279072761535645,
    0.9184431433677673,
    0.14830279350280762,
    -0.027694562450051308,
    -0.0001659676490817219,
    0.0023935462813824415,
    -0.0009470863151364028,
    0.00019952158618252724,
    -2.309385672560893e-05,
    1.1479216937004821e-06,
)
# (2^r - 1) / r for |r| <= 1/2, to 9.4e-8 of 2^r: a number that is subtracted from 1 or 2 asks for no more.
_EXP2 = (
    0.6931470036506653,
    0.24022246897220612,
    0.0555071122944355,
    0.009671296924352646,
    0.0013269443297758698,
)
BORDER = 0.9277
# Around each i * 135/512: the coefficients from the constant on, by least squares weighted until the largest
# relative error was least; the distance is one whose constants are near numbers of f32. At 0: erf(r) / r - 1.
_BETWEEN = 135 / 512
_TABLE = (
    (
        0.0,
        0.29076844,
        0.5441977,
        0.7367169,
        0.8641837,
        0.9377403,
        0.9747352,
        0.99095154,
        0.9971466,
        0.9992092,
        0.99980766,
        0.999959,
        0.9999924,
        0.99999875,
        0.9999998,
        1.0,
    ),
    (
        0.12837917,
        1.052596,
        0.85443985,
        0.6035518,
        0.3709888,
        0.19843589,
        0.09236191,
        0.03740923,
        0.013184932,
        0.004043805,
        0.0010792342,
        2.506423e-04,
        5.065313e-05,
        8.907818e-06,
        1.3631682e-06,
        1.8152681e-07,
    ),
    (
        0.0,
        -0.2775332,
        -0.45057926,
        -0.4774156,
        -0.39127642,
        -0.26162747,
        -0.14611055,
        -0.06903792,
        -0.027807113,
        -0.009608369,
        -0.002837979,
        -7.225795e-04,
        -1.7247217e-04,
        -2.9622091e-05,
        -4.8663323e-06,
        -1.2158024e-05,
    ),
    (
        -0.3761226,
        -0.30210096,
        -0.12641832,
        0.050567556,
        0.15144975,
        0.16378511,
        0.12332366,
        0.07249049,
        0.034715816,
        0.0138334185,
        0.004642263,
        0.001322033,
        3.211513e-04,
        6.6793546e-05,
        1.1925994e-05,
        1.8318179e-06,
    ),
    (
        0.0,
        0.13126916,
        0.18245676,
        0.1385944,
        0.05068093,
        -0.019304408,
        -0.049089357,
        -0.044292543,
        -0.027661586,
        -0.012539681,
        -0.0056683864,
        -0.0019554808,
        2.6726015e-04,
        -1.6079172e-04,
        -3.0725954e-05,
        6.7982334e-04,
    ),
    (
        0.11217194,
        0.07745245,
        9.517057e-05,
        -0.058304567,
        -0.06636367,
        -0.03813712,
        -0.0062505826,
        0.010503787,
        0.012605115,
        0.008398105,
        0.004079172,
        0.0015594357,
        4.8522773e-04,
        1.2509893e-04,
        2.7035581e-05,
        4.9361684e-06,
    ),
)
_END = 3.99  # from here on erf is 1 in f32


@expands("math.erf")
def erf(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """16 polynomials side by side where a register is a table for them, else two and a power of two."""
    return _from_table(b, operands[0]) if b.has_lookup else _by_power(b, operands[0])


@expands(ONE_PLUS_ERF)
def one_plus_erf(b: Lanes, operands: list[ir.Value]) -> ir.Value:
    """`1 - erf(|x|)`, or 2 less that; far below 0 as exact, where 1 + erf(x) has lost all digits."""
    (x,) = operands
    if b.has_lookup:
        return b.add(b.const(1.0), _from_table(b, x))
    rest = _complement(b, b.abs(x))
    return b.select(b.less(x, b.const(0.0)), rest, b.sub(b.const(2.0), rest))


def _from_table(b: Lanes, x: ir.Value) -> ir.Value:
    """`c0 + r (c1 + …)` with the coefficients of the nearest i; `r` is how far `|x|` is from there."""
    t = b.at_most(b.abs(x), _END)
    i, index = b.round_to_part(t, 1 / _BETWEEN)
    r = b.fma(i, b.const(-_BETWEEN), t)
    first, *rest, last = (b.lookup(index, row) for row in _TABLE)
    inner = last
    for coefficient in reversed(rest):
        inner = b.fma(inner, r, coefficient)
    # r itself is exact, where c1 r would be rounded.
    first = b.select(b.less(i, b.const(0.5)), r, first)
    return b.with_sign_of(b.fma(inner, r, first), x)


def _by_power(b: Lanes, x: ir.Value) -> ir.Value:
    """`x + x P(x²)` near 0, `1 - (1 - erf(|x|))` beyond."""
    near = b.fma(x, b.polynomial(b.mul(x, x), SMALL), x)
    t = b.abs(x)
    far = b.sub(b.const(1.0), _complement(b, t))
    return b.select(b.less(t, b.const(BORDER)), near, b.with_sign_of(far, x))


def _complement(b: Lanes, t: ir.Value) -> ir.Value:
    """`1 - erf(t) = 2^(-t Q(t))`; 0 where that is no normal number."""
    exponent = b.at_least(b.mul(t, b.polynomial(t, [-each for each in LOGARITHM])), -127.0)
    n, n_int = b.round_to_int(exponent)
    power = b.polynomial(b.sub(exponent, n), (1.0, *_EXP2))
    return b.mul(power, b.power_of_two(n_int))
