"""How far a graph's results may be from numpy's float64: the bound of docs/semantics.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .graphs import Array, Graph, as_numbers_of

SHARE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2, "i32": 0.0}
SMALLEST = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133, "i32": 0.0}  # subnormals are that far apart
SAMPLES = 8
STEP = 2.0**-20
UNSTEADY = 0.25  # how much slopes may differ; a jump seen from twice as far has half the slope


def difference(graph: Graph, call: int, results: Sequence[Array]) -> str | None:
    """Which result of a call is how wrong; None if all are as they should be."""
    for number, (ours, (right, near, allowed)) in enumerate(zip(results, bounds(graph, call), strict=True)):
        if ours.shape != right.shape:
            return f"result {number} has the shape {ours.shape}, not {right.shape}"
        with np.errstate(invalid="ignore"):  # of infinite ones
            close = np.abs(ours.astype(np.float64) - right) <= allowed
        wrong = ~np.where(np.isfinite(right) & np.isfinite(near), close, _is_as_special(ours, near, right))
        if wrong.any():
            place = tuple(int(each) for each in np.argwhere(wrong)[0])
            values = [float(each[place]) for each in (ours, near, right)]
            return (
                f"result {number} is wrong in {wrong.sum()} of {wrong.size} elements; at {list(place)} it is"
                " {!r}, op by op {!r}, in float64 {!r}".format(*values)
            )
    return None


def bounds(graph: Graph, call: int) -> list[tuple[Array, Array, Array]]:
    """Of each result its float64s, its numbers op by op, and how far from the former it may be."""
    exact = graph.evaluate(call, np.float64, lambda value: value)
    eager = graph.evaluate(call, np.float32, lambda value: as_numbers_of(graph.element, value))
    found = []
    for right, near, terms in zip(exact, eager, _terms(graph, call, exact), strict=True):
        with np.errstate(invalid="ignore"):  # of infinite ones
            allowed = np.maximum(
                2 * np.abs(near - right), SHARE[graph.element] * np.nan_to_num(terms, posinf=0)
            )
        found.append((right, near, allowed + SMALLEST[graph.element]))
    return found


def _is_as_special(ours: Array, near: Array, right: Array) -> Array:
    """Whether NaN is NaN, and an infinity the same; where float64 and op by op do not agree, as either."""
    alike = [np.isnan(ours) & np.isnan(each) | (ours == each) for each in (near, right)]
    finite = np.isfinite(near) | np.isfinite(right)  # one of them: what is finite may be any number
    return alike[0] | alike[1] | (finite & np.isfinite(ours))


def _terms(graph: Graph, call: int, exact: Sequence[Array]) -> list[Array]:
    """For each element the size of the terms that it is made of, from below: see runtime/verification.py.

    All values change by a tiny share with random signs, not the inputs alone: a graph knows them, and what
    is small because two of them nearly cancel depends on how they were rounded. A step of twice the length
    tells a slope from a jump, which has no terms: a maximum of numbers around 0 has slopes of two sizes. It
    tells the bottom of a parabola, too, as the square of what cancels is: four times the change, and terms
    that are the smaller the less the dtype's numbers may change.
    """
    found = [np.abs(value) for value in exact]
    with np.errstate(all="ignore"):  # of what is not finite, which has no terms
        return _steepest(graph, call, exact, found)


def _steepest(graph: Graph, call: int, exact: Sequence[Array], found: list[Array]) -> list[Array]:
    """At least ``found``, and what slopes say."""
    share = SHARE[graph.element]
    for sample in range(SAMPLES):
        for step in (STEP, -STEP):
            near, far = (_near(graph, call, length, sample) for length in (step, 2 * step))
            for number, (here, once, twice) in enumerate(zip(exact, near, far, strict=True)):
                change, double = np.abs(once - here), np.abs(twice - here) / 2
                steady = np.abs(change - double) <= UNSTEADY * np.maximum(change, double)
                curved = np.abs(2 * change - double) <= UNSTEADY * double
                terms = np.where(steady, change / STEP, np.where(curved, change / STEP**2 * share, 0))
                found[number] = np.fmax(found[number], terms)
    return found


def _near(graph: Graph, call: int, step: float, seed: int) -> list[Array]:
    signs = np.random.default_rng(seed)
    return graph.evaluate(
        call, np.float64, lambda value: value * (1 + step * (signs.integers(2, size=value.shape) - 0.5))
    )
