"""Reductions one element at a time: scf.for over the reduced loops, the accumulators carried as vectors.

For windows (pooling, depthwise convolution), whose elements lie at ``i + k``, and for bodies whose results
depend on each other (argmax, max_pool with indices): the body runs as it is, with the carried vectors as its
accumulators. What needs all of a reduced dim is made before the loops: softmax's sum, of an argmax behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir

from .access import Nest
from .analysis import single_loops
from .body import Body
from .combiner import Combiner, combiners, convert
from .emitter import Emitter
from .reduction import finish, start_of
from .registry import SINGLE
from .staged import fill_stages


def can_tile(nest: Nest) -> str | None:
    """Every other reduction whose body can run on tiles."""
    if nest.body is None or not nest.reductions:
        return "not a reduction"
    if None in nest.reads[len(nest.reads) - len(nest.writes) :]:
        return "a reduction that does not use its last value"
    return None


def needs(nest: Nest) -> dict[int, int]:
    """As for element-wise ops; the reduced loops are run here."""
    return dict.fromkeys(single_loops(nest), SINGLE)


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The accumulators after the last element."""
    fill_stages(emitter, nest)
    emitter.ahead(nest, {emitter.dim(nest, loop) for loop in nest.reductions})
    found = combiners(nest)
    if found is not None:
        starts = start_of(emitter, nest, found)
        return finish(emitter, nest, found, _over(emitter, nest, nest.reductions, starts, found))
    inits = nest.reads[len(nest.reads) - len(nest.writes) :]
    starts = [emitter.operand(nest, init, nest.parallels) for init in inits if init is not None]
    lasts = _over(emitter, nest, nest.reductions, starts, None)
    return [
        emitter.result(last, nest.parallels, write) for last, write in zip(lasts, nest.writes, strict=True)
    ]


def _over(
    emitter: Emitter,
    nest: Nest,
    loops: Sequence[int],
    carried: Sequence[ir.Value],
    found: Sequence[Combiner] | None,
) -> Sequence[ir.Value]:
    if loops:
        loop, *inner = loops
        return emitter.chunks(
            emitter.dim(nest, loop), 1, carried, lambda values: _over(emitter, nest, inner, values, found)
        )
    assert nest.body is not None
    if found is not None:
        body = Body(emitter, nest, nest.parallels)
        body.asserts()
        return [
            combiner.combine(value, convert(body.value(combiner.element), combiner.wide))
            for combiner, value in zip(found, carried, strict=True)
        ]
    arguments = list(nest.body.arguments)
    accumulators = arguments[len(arguments) - len(nest.writes) :]
    body = Body(emitter, nest, nest.parallels, dict(zip(accumulators, carried, strict=True)))
    body.asserts()
    return [body.value(value) for value in body.yielded()]
