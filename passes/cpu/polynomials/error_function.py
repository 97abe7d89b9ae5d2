"""erf."""

from __future__ import annotations

from mlir import ir

from .exponential import exp_within
from .lanes import Lanes
from .registry import expands

# erf(x) / x - 1 in x², to 0.93; and -log(1 - erf(t)) / t - 1, from there to 4.
SMALL = (
    0.12837916612625122,
    -0.37612631916999817,
    0.11283663660287857,
    -0.026857705786824226,
    0.005196953658014536,
    -0.0008097716490738094,
    8.185136539395899e-05,
)
LARGE = (
    0.12864848971366882,
    0.6351513266563416,
    0.10623687505722046,
    -0.023762060329318047,
    0.003642458003014326,
    -0.0003228035639040172,
    1.1231275493628345e-05,
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
    """16 polynomials side by side where a register is a table for them, else two and an exp."""
    return _from_table(b, operands[0]) if b.has_lookup else _by_exp(b, operands[0])


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


def _by_exp(b: Lanes, x: ir.Value) -> ir.Value:
    """`x + x P(x²)` near 0, `1 - exp(-t - t Q(t))` for `t = |x|` beyond."""
    near = b.fma(x, b.polynomial(b.mul(x, x), SMALL), x)
    t = b.at_most(b.abs(x), 4.0)
    exponent = b.fma(t, b.polynomial(t, LARGE), t)
    far = b.sub(b.const(1.0), exp_within(b, b.sub(b.const(0.0), exponent)))
    return b.select(b.less(b.abs(x), b.const(BORDER)), near, b.with_sign_of(far, x))
