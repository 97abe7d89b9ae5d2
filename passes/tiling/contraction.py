"""Matrix products and convolutions: vector.contract inside scf.for over the reduced loops.

``acc[p] += a * b`` where each factor is an input of the body (perhaps through one widening cast). The
registers' lanes run along a parallel loop that only one of them has: one in which it is contiguous, or else
the result's last, as for a product with a transposed matrix. The reduced loop that
both factors have in a dim alone is taken in steps (its tail is one shorter contraction after the loop; of a
dim of unknown size a step with zeros beyond, where factors are read as they are), the
others, such as a convolution's window, one element at a time around it. Attention's scores of a few rows are
not made here: their lanes run along a key, as those of any sum of rows (`reduction`). Those that tensor cores
make are (`ROW_SCORES`): their instructions have rows to spare.

The factors keep the type that they are stored in if it is one (vector.contract allows narrower factors,
signed where they are integers), the accumulator is f32 for half floats and at least i32 for integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from mlir import ir
from mlir.dialects import arith, vector

from ...dialects.attributes import OP
from ..structured import ROW_SCORES, SCORES, WIDENING, stored_bits
from .access import Access, Index, Nest, shape_of
from .analysis import single_loops
from .combiner import combiners, convert
from .emitter import Emitter
from .reduction import finish, start_of
from .registry import SINGLE
from .staged import fill_stages
from .vectors import reshape

if TYPE_CHECKING:
    from ..domain import Domain

DEFAULT_STEP = 8
FEWEST_ROWS = 6  # of scores: of fewer, most lanes of a vector along the rows would be idle


def can_tile(nest: Nest) -> str | None:
    """A sum of products of two inputs, with lanes to run along."""
    if nest.body is None or len(nest.reductions) == 0:
        return "not a contraction"
    if len(nest.writes) != 1 or nest.once(_factors) is None:
        return "not a sum of products of two inputs"
    if OP.get(nest.op) == SCORES and _rows(nest) < FEWEST_ROWS:
        return "scores of so few rows that the lanes run along a key"
    if nest.once(_lane_loop) is None and OP.get(nest.op) not in (SCORES, ROW_SCORES) and not _is_turned(nest):
        return "a contraction whose factors do not both have a loop of their own to run lanes along"
    one, other = (_all_loops(access) for access in factor_accesses(nest))
    if not set(nest.parallels) <= one | other or stepped_loop(nest) is None:
        return "a contraction with a loop that neither factor has"
    return None


def needs(nest: Nest) -> dict[int, int]:
    """Parallel loops inside a window's index cannot be tiled."""
    return dict.fromkeys(single_loops(nest) & set(nest.parallels), SINGLE)


def stepped_loop(nest: Nest) -> int | None:
    """The reduced loop that is taken in steps: the longest that is a dim of its own in both factors."""
    return nest.once(_stepped_loop)


def _stepped_loop(nest: Nest) -> int | None:
    single = single_loops(nest)
    one, other = (_plain_loops(access) for access in factor_accesses(nest))
    common = [loop for loop in nest.reductions if loop in one & other and loop not in single]
    return max(common, key=lambda loop: nest.extents[loop] or 1 << 62, default=None)


def can_step(domain: Domain, nest: Nest) -> bool:
    """Whether a step may reach beyond a depth of any size: there both factors are zero, as they are read.

    What is computed of zeros may be anything, an infinity too; behind a part of a tensor comes the next one.
    """
    stepped = stepped_loop(nest)
    return all(
        domain.writer(access.value) is None and access.value not in domain.stages and access.padding is None
        for access in factor_accesses(nest)
    ) and all(
        index.plain for access in factor_accesses(nest) for index in access.indices if stepped in index.loops
    )


def batch_loops(nest: Nest) -> set[int]:
    """The parallel loops that both factors have."""
    one, other = (_all_loops(access) for access in factor_accesses(nest))
    return one & other & set(nest.parallels)


def lane_loop(nest: Nest) -> int:
    """The parallel loop along which a factor is contiguous and that the other does not have.

    If both have one, the one along which the result is contiguous, but of a window the second factor's, its
    weights': rows of pixels are contiguous where it has one column. If none has, the result's last.
    """
    loop = nest.once(_lane_loop)
    return nest.writes[0].indices[-1].loops[0] if loop is None else loop


def strip_loops(nest: Nest) -> set[int]:
    """The parallel loops, but that of the lanes, that the factor with the lanes has alone: strips of it."""
    lane = lane_loop(nest)
    one, other = (_all_loops(access) for access in factor_accesses(nest))
    own = one - other if lane in one else other - one
    return own & set(nest.parallels) - {lane}


def factor_types(nest: Nest) -> list[ir.Type]:
    """The types that the factors are multiplied in: those that they are stored in, if it is one."""
    stored = stored_types(nest)
    return [total_type(nest)] * len(stored) if _is_widened(nest) else stored


def stored_types(nest: Nest) -> list[ir.Type]:
    """Those of what memory has, of 8-bit floats theirs."""
    return nest.once(_stored_types)


def _stored_types(nest: Nest) -> list[ir.Type]:
    found = []
    for (argument, _), access in zip(nest.once(_factors) or (), factor_accesses(nest), strict=True):
        (use, *_) = argument.uses
        cast = use.owner
        is_bits = cast.name == "arith.bitcast"
        found.append(cast.results[0].type if is_bits else access.value.type.element_type)
    return found


def total_type(nest: Nest) -> ir.Type:
    """The accumulator's type: at least i32 for integers, the same modulo two to the power of the width."""
    return nest.once(_total_type)


def _total_type(nest: Nest) -> ir.Type:
    found = combiners(nest)
    assert found is not None
    wide = found[0].wide
    narrow = isinstance(wide, ir.IntegerType) and wide.width < 32
    return ir.IntegerType.get_signless(32) if narrow else wide


def _is_widened(nest: Nest) -> bool:
    """Whether factors are widened first: vector.contract wants one type, and extends integers as signed."""
    stored = set(map(str, stored_types(nest)))
    return len(stored) > 1 or any(cast == "arith.extui" for _, cast in nest.once(_factors) or ())


def _lane_loop(nest: Nest) -> int | None:
    one, other = factor_accesses(nest)
    candidates = [_own_last_loop(nest, other, one), _own_last_loop(nest, one, other)]
    written = nest.writes[0].indices[-1].loops if nest.writes[0].indices else ()
    found = [loop for loop in candidates if loop is not None]
    is_window = any(len(index.loops) > 1 for access in (one, other) for index in access.indices)
    return next((loop for loop in found if loop in written or is_window), found[0] if found else None)


def _own_last_loop(nest: Nest, access: Access, other: Access) -> int | None:
    """The parallel loop of more than one element that is the last dim of ``access`` and not in ``other``."""
    index = access.indices[-1] if access.indices else Index()
    last = index.loops if index.stride == 1 and index.rest is None else ()  # no window's positions
    if len(last) != 1 or last[0] not in nest.parallels or last[0] in _all_loops(other):
        return None
    return last[0] if nest.extents[last[0]] != 1 else None


def _is_turned(nest: Nest) -> bool:
    """Whether both factors are contiguous along the one reduced loop, and have several rows of their own.

    The result's last loop must be one of these.
    """
    one, other = factor_accesses(nest)
    rows = _own_rows(nest, one, other), _own_rows(nest, other, one)
    along = all(
        access.indices[-1].plain and access.indices[-1].loops == nest.reductions for access in (one, other)
    )
    written = nest.writes[0].indices[-1].loops if nest.writes[0].indices else ()
    return along and all(rows) and len(written) == 1 and written[0] in rows[0] | rows[1]


def _rows(nest: Nest) -> int:
    """How many rows of scores each key has."""
    keys = nest.writes[0].indices[-1].loops[0]
    shared = next(loops for loops in map(_all_loops, factor_accesses(nest)) if keys in loops)
    extents = [nest.extents[loop] for loop in nest.parallels if loop not in shared]
    return FEWEST_ROWS if None in extents else prod(extent or 1 for extent in extents)


def _own_rows(nest: Nest, access: Access, other: Access) -> set[int]:
    """The parallel loops of more than one element that ``access`` has and ``other`` has not."""
    own = _all_loops(access) - _all_loops(other) - {*nest.reductions}
    return {loop for loop in own if nest.extents[loop] != 1}


def _all_loops(access: Access) -> set[int]:
    return {loop for index in access.indices for loop in index.loops}


def _plain_loops(access: Access) -> set[int]:
    return {index.loops[0] for index in access.indices if index.plain}


def factor_accesses(nest: Nest) -> tuple[Access, Access]:
    """Where the body reads the two factors."""
    return nest.once(_factor_accesses)


def _factor_accesses(nest: Nest) -> tuple[Access, Access]:
    factors = nest.once(_factors)
    assert factors is not None
    one, other = (nest.reads[argument.arg_number] for argument, _ in factors)
    assert one is not None and other is not None
    return one, other


def _factors(nest: Nest) -> list[tuple[ir.BlockArgument, str | None]] | None:
    """The body's two arguments that are multiplied, each with the name of the cast that widens it."""
    found = combiners(nest)
    if found is None or found[0].op.name not in ("arith.addf", "arith.addi"):
        return None
    product = found[0].element.owner
    if isinstance(product, ir.Block) or product.name not in ("arith.mulf", "arith.muli"):
        return None
    factors = []
    for value in product.operands:
        cast = None
        if not isinstance(value, ir.BlockArgument):
            cast = value.owner.name
            if cast not in WIDENING:
                return None
            value = stored_bits(value.owner.operands[0])
        if not isinstance(value, ir.BlockArgument) or value.owner != nest.body:
            return None
        access = nest.reads[value.arg_number]
        if access is None or not shape_of(access.value):
            return None
        factors.append((value, cast))
    return factors


def emit(emitter: Emitter, nest: Nest) -> Sequence[ir.Value]:
    """The product's tile, from an scf.for over the reduced loops."""
    found = combiners(nest)
    assert found is not None
    accumulator = start_of(emitter, nest, found)
    result_type = accumulator[0].type.element_type
    stepped = stepped_loop(nest)
    assert stepped is not None
    around = [loop for loop in nest.reductions if loop != stepped]
    fill_stages(emitter, nest)
    emitter.ahead(nest, {emitter.dim(nest, loop) for loop in nest.reductions})
    for access in factor_accesses(nest):
        for index in access.indices:
            if index.start and index.rest is None and not {*index.loops} & {*nest.reductions}:
                emitter.position_ahead(nest, index)
    totals = _over(emitter, nest, [*around, stepped], [convert(accumulator[0], total_type(nest))])
    return finish(emitter, nest, found, [convert(totals[0], result_type)])


def _over(
    emitter: Emitter, nest: Nest, loops: Sequence[int], carried: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    if not loops:
        return [_contract(emitter, nest, carried[0])]
    loop, *inner = loops
    dim = emitter.dim(nest, loop)
    step, beyond = 1, False
    if not inner:
        beyond = can_step(emitter.domain, nest)
        if isinstance(emitter.extents[dim], int) or beyond:
            step = emitter.tiles[dim.id] or DEFAULT_STEP
    tail = not (beyond and emitter.beyond)
    return emitter.chunks(dim, step, carried, lambda values: _over(emitter, nest, inner, values), tail=tail)


def _own(
    emitter: Emitter, nest: Nest, access: Access, loops: Sequence[int]
) -> tuple[ir.Value, Sequence[int | None]]:
    """A factor as it is read, and the loop along each of its dims.

    Blocks of warps read no dims without a loop: what is copied to shared memory has the product's.
    """
    axes = emitter.axes(nest, access, loops)
    made = emitter.domain.writer(access.value) is not None or access.value in emitter.domain.stages
    order = [dim for dim, index in enumerate(access.indices) if axes[dim] is not None or index.padded]
    if emitter.has_scratch or made or not order:
        return emitter.own(nest, access), axes
    return emitter.read(nest, access, order), [axes[dim] for dim in order]


def _contract(emitter: Emitter, nest: Nest, accumulator: ir.Value) -> ir.Value:
    stepped = stepped_loop(nest)
    assert stepped is not None
    loops = [*nest.parallels, stepped]
    pairs = _factors(nest) or (), factor_accesses(nest)
    explicit = _is_widened(nest)
    factors, maps = [], []
    for (_, cast), access, kind in zip(*pairs, stored_types(nest), strict=True):
        own, axes = _own(emitter, nest, access, loops)
        kept = [axis for axis in axes if axis is not None]
        sizes = zip(own.type.shape, axes, strict=True)
        factor = reshape(own, [size for size, axis in sizes if axis is not None])
        if factor.type.element_type != kind:
            factor = arith.bitcast(ir.VectorType.get(factor.type.shape, kind), factor)
        if explicit:
            factor = _widen(factor, cast, accumulator.type.element_type)
        factors.append(factor)
        maps.append([loops.index(axis) for axis in kept])
    maps.append(list(range(len(nest.parallels))))
    where = [ir.AffineMap.get(len(loops), 0, [ir.AffineDimExpr.get(at) for at in dims]) for dims in maps]
    kinds = ["parallel"] * len(nest.parallels) + ["reduction"]
    return vector.ContractionOp(
        accumulator.type,
        factors[0],
        factors[1],
        accumulator,
        ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in where]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#vector.iterator_type<{kind}>") for kind in kinds]),
    ).result


def _widen(factor: ir.Value, cast: str | None, element: ir.Type) -> ir.Value:
    if cast != "arith.extui":
        return convert(factor, element)
    return arith.ExtUIOp(ir.VectorType.get(factor.type.shape, element), factor).result
