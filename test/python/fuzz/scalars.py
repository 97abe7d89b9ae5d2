"""What element-wise ops of random graphs compute of each element, in numpy and as text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .graphs import Array

# numpy's function, the constant %c, and what makes %y of %a, %b and %c; E stands for the type.
Scalar = tuple[Callable[..., Array], float | None, str]
SUBTRACT: Scalar = (np.subtract, None, "%y = arith.subf %a, %b : E")
DIVIDE: Scalar = (np.divide, None, "%y = arith.divf %a, %b : E")
EXP: Scalar = (np.exp, None, "%y = math.exp %a : E")
UNARY: tuple[Scalar, ...] = (
    (lambda a: np.maximum(a, 0), 0, "%y = arith.maximumf %a, %c : E"),
    (lambda a: -a, None, "%y = arith.negf %a : E"),
    (np.abs, None, "%y = math.absf %a : E"),
    (np.tanh, None, "%y = math.tanh %a : E"),
    (lambda a: a * 0.5, 0.5, "%y = arith.mulf %a, %c : E"),
    (lambda a: a + 1.5, 1.5, "%y = arith.addf %a, %c : E"),
    (lambda a: a * a, None, "%y = arith.mulf %a, %a : E"),
    (lambda a: np.exp(np.minimum(a, 2)), 2, "%m = arith.minimumf %a, %c : E %y = math.exp %m : E"),
    (
        lambda a: np.sqrt(np.abs(a) + 0.5),
        0.5,
        "%m = math.absf %a : E %n = arith.addf %m, %c : E %y = math.sqrt %n : E",
    ),
    (
        lambda a: 1 / (1 + np.exp(-a)),
        1,
        "%m = arith.negf %a : E %n = math.exp %m : E %p = arith.addf %n, %c : E %y = arith.divf %c, %p : E",
    ),
)
BINARY: tuple[Scalar, ...] = (
    (np.add, None, "%y = arith.addf %a, %b : E"),
    SUBTRACT,
    (np.multiply, None, "%y = arith.mulf %a, %b : E"),
    (np.maximum, None, "%y = arith.maximumf %a, %b : E"),
    (np.minimum, None, "%y = arith.minimumf %a, %b : E"),
    (
        lambda a, b: a / (np.abs(b) + 0.5),
        0.5,
        "%m = math.absf %b : E %n = arith.addf %m, %c : E %y = arith.divf %a, %n : E",
    ),
)

INTEGER_UNARY: tuple[Scalar, ...] = (
    (lambda a: np.maximum(a, 0), 0, "%y = arith.maxsi %a, %c : E"),
    (lambda a: -a, 0, "%y = arith.subi %c, %a : E"),
    (np.abs, None, "%y = math.absi %a : E"),
    (lambda a: a * -3, -3, "%y = arith.muli %a, %c : E"),
    (lambda a: a + 5, 5, "%y = arith.addi %a, %c : E"),
    (lambda a: np.fmod(a, 4), 4, "%y = arith.remsi %a, %c : E"),
    (lambda a: np.trunc(a / 3), 3, "%y = arith.divsi %a, %c : E"),
    (lambda a: np.floor(a / 4), 2, "%y = arith.shrsi %a, %c : E"),
)
INTEGER_BINARY: tuple[Scalar, ...] = (
    (np.add, None, "%y = arith.addi %a, %b : E"),
    (np.subtract, None, "%y = arith.subi %a, %b : E"),
    (np.multiply, None, "%y = arith.muli %a, %b : E"),
    (np.maximum, None, "%y = arith.maxsi %a, %b : E"),
    (np.minimum, None, "%y = arith.minsi %a, %b : E"),
    (
        lambda a, b: np.where(a < b, a, 7),
        7,
        "%m = arith.cmpi slt, %a, %b : E %y = arith.select %m, %a, %c : E",
    ),
    (lambda a, b: (a == b) * 1.0, 0, "%m = arith.cmpi eq, %a, %b : E %y = arith.extui %m : i1 to i32"),
)
