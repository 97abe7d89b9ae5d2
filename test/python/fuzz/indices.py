"""Index arithmetic of random graphs: masks and places, as numbers that other values are combined with."""

from __future__ import annotations

import numpy as np

from .element_wise import element_wise, of_two
from .graphs import Array, Operand, dims, empty, generic
from .maker import Maker

COMPARISONS = {"slt": np.less, "sge": np.greater_equal, "eq": np.equal}
MIDDLE = 2  # what the index of one dim is compared with
MODULUS = 5


def mask(maker: Maker) -> bool:
    """Of the last one or two dims of a value: as causal masks, diagonals and places in a sequence are."""
    x = maker.pick(least_rank=1)
    if x is None:
        return False
    rank = len(maker.shape(x))
    kept = maker.rng.randint(1, min(rank, 2))
    where = ", ".join(f"d{dim}" for dim in range(rank - kept, rank))
    return _indices(maker, x, kept) and element_wise(
        maker, [x, maker.last], of_two(maker), [dims(rank), where]
    )


def _indices(maker: Maker, x: int, kept: int) -> bool:
    """1 where the first index, scaled and shifted, compares with the last one; or a remainder of it."""
    shape, element, rng = maker.shape(x)[-kept:], maker.graph.element, maker.rng
    comparison = rng.choice((*COMPARISONS, "remainder"))
    step, shift = rng.choice((1, 1, 2)), rng.choice((-1, 0, 0, 1, 3))

    def function(a: Array) -> Array:
        places = np.indices(a.shape[-kept:], np.float64)
        first = places[0] * step + shift
        if comparison == "remainder":
            return np.fmod(first, MODULUS)
        return COMPARISONS[comparison](first, places[1] if kept == 2 else MIDDLE) * 1.0

    def text(out: str, name: str) -> str:
        body = [
            f"%s = arith.constant {step} : i64\n    %t = arith.constant {shift} : i64",
            "%d = linalg.index 0 : index\n    %i = arith.index_cast %d : index to i64",
            "%m = arith.muli %i, %s : i64\n    %n = arith.addi %m, %t : i64",
        ]
        if comparison == "remainder":
            body += [f"%k = arith.constant {MODULUS} : i64\n    %p = arith.remsi %n, %k : i64"]
            body += [f"%y = arith.{'trunci' if maker.is_integer else 'sitofp'} %p : i64 to {element}"]
        else:
            body += [
                "%l = linalg.index 1 : index\n    %k = arith.index_cast %l : index to i64"
                if kept == 2
                else f"%k = arith.constant {MIDDLE} : i64",
                f"%p = arith.cmpi {comparison}, %n, %k : i64",
                f"%y = arith.{'extui' if maker.is_integer else 'uitofp'} %p : i1 to {element}",
            ]
        result = Operand(out, shape, element, dims(kept))
        made = generic(result, f"{out}_e", [], "p" * kept, "\n    ".join(body))
        source = Operand(name, maker.shape(x), element, "")
        return "\n".join([empty(f"{out}_e", shape, element, [source]), made])

    return maker.add([x], function, text)
