"""What named ops compute, as formulas of their input ``x``, and what of their names fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..structured import DYNAMIC
from .patterns import EPS, LET, SIZE, Formula, Found, last_ops

_X, _WEIGHT, _BIAS = "x", "weight", "bias"


def _mean(of: Formula) -> Formula:
    return ("div", ("sum of", of), SIZE)


def _normalized(of: Formula, again: Formula) -> Formula:
    variance: Formula = ("add", _mean(("mul", again, again)), EPS)
    return [("mul", of, ("rsqrt", variance)), ("div", of, ("sqrt", variance))]


def _halved(of: Formula) -> Formula:
    """``x / 2 * of``, in any order."""
    return [("mul", ("mul", _X, 0.5), of), ("mul", _X, ("mul", of, 0.5)), ("mul", ("mul", _X, of), 0.5)]


_LAYER: Formula = _normalized((LET, "centred", ("sub", _X, _mean(_X))), "centred")
_RMS: Formula = _normalized(_X, _X)
_LESS: Formula = ("sub", _X, ("max of", _X))
_EXP: Formula = (LET, "exp", ("exp", _LESS))
_SUM: Formula = ("sum of", "exp")
_ERF: Formula = ("erf", [("mul", _X, math.sqrt(0.5)), ("div", _X, math.sqrt(2))])
_CUBE: Formula = [
    ("mul", ("mul", ("mul", _X, _X), _X), 0.044715),
    ("mul", ("mul", ("mul", _X, 0.044715), _X), _X),
]
_TANH: Formula = ("tanh", ("mul", ("add", _X, _CUBE), math.sqrt(2 / math.pi)))
_MORE: Formula = ("add", ("exp", ("neg", _X)), 1.0)

# The largest first: a layer_norm without a weight is part of one with a weight, and has an rms_norm in it.
_FORMULAS: tuple[tuple[str, Formula], ...] = (
    ("layer_norm", ("add", ("mul", _LAYER, _WEIGHT), _BIAS)),
    ("layer_norm", ("mul", _LAYER, _WEIGHT)),
    ("layer_norm", _LAYER),
    ("rms_norm", ("mul", _RMS, _WEIGHT)),
    ("rms_norm", _RMS),
    ("softmax", [("div", _EXP, _SUM), ("mul", _EXP, ("div", 1.0, _SUM))]),
    ("log_softmax", ("sub", _LESS, ("log", ("sum of", ("exp", _LESS))))),
    ("gelu", _halved(("add", [_ERF, _TANH], 1.0))),
    ("silu", [("mul", _X, ("div", 1.0, _MORE)), ("div", _X, _MORE)]),
)
# The name and the formula of each that may end with an op of a body.
FORMULAS_BY_LAST_OP: dict[str, list[tuple[str, Formula]]] = {}
for _entry in _FORMULAS:
    for _op in last_ops(_entry[1]):
        FORMULAS_BY_LAST_OP.setdefault(_op, []).append(_entry)


def fits(found: Found, shape: Sequence[int]) -> bool:
    """Whether what is found of a formula for the elements of a tensor of ``shape`` is all that its name says.

    All reductions run along the same dims, means are of all elements there, and a weight and a bias have none
    but these dims. Without a weight they are the last of ``x``: a batch norm is no layer_norm.
    """
    if not found.reduced:
        return True
    row = found.row
    if row is None:
        return False
    for name in found.inputs.keys() & {_WEIGHT, _BIAS}:
        if not found.inputs[name].place or not row.issuperset(found.inputs[name].place):
            return False
    size = math.prod(shape[dim] if isinstance(dim, int) else DYNAMIC for dim in row)
    if any(divisor != size for divisor in found.sizes):
        return False
    is_norm = bool(found.sizes)
    return not is_norm or _WEIGHT in found.inputs or row == set(found.inputs[_X].place[-len(row) :])
