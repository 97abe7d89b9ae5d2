"""What attention looks like as generics: a product, ops on its scores, a softmax, a product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from ..operations import defining_op
from ..raising.bodies import is_contraction
from ..raising.reshape import RESHAPES
from ..structured import body_of, fill_value, has_one_use, inits_of, inputs_of, kinds_of, maps_of, word_for
from .between import is_between_products, is_joined_with_others, keeps_last
from .guards import is_arithmetic, is_identity, unguarded, without_nans
from .products import is_plain_product, is_row_major
from .reasons import named, why_no_path, why_no_product, why_no_sums, why_no_weights

_CASTS = ("arith.truncf", "arith.extf")


@dataclass(frozen=True)
class Attention:
    """The ops of one attention.

    ``chain`` leads from the first product's result to the scores, ``path`` from there to the weights that the
    second product reads, ``output`` from the second product to what has been divided by the weights' sum, and
    through the reshapes behind that.
    ``zero_rows``: a row with nothing to attend to is zero, else NaN. ``zero_nans``: so is a row of NaN.
    """

    product: ir.Operation
    chain: Sequence[ir.Operation]
    path: Sequence[ir.Operation]
    sums: ir.Operation
    output: Sequence[ir.Operation]
    zero_rows: bool
    zero_nans: bool

    @property
    def result(self) -> ir.Value:
        """What all of it makes."""
        return (self.output[-1] if self.output else self.sums).results[0]


def attention_of(exp: ir.Operation) -> Attention | str | None:
    """The attention around ``exp``, the generic that makes the weights; None if it is something else.

    Of a softmax between two products that is no attention the reason.
    """
    if not _computes(exp, "math.exp") or not is_identity(exp, 0):
        return None
    less = defining_op(exp.operands[0], "linalg.generic")
    if less is None or not _computes(less, "arith.subf") or not _drops_last(less, 1):
        return None
    scores, top = less.operands[0], less.operands[1]
    highest, finite = unguarded(top, -math.inf, 0.0)
    if not is_identity(less, 0) or not _reduces(highest, "arith.maximumf", scores, -math.inf):
        return None
    total = next((reader for reader in _readers(exp.results[0]) if _is_sum_of(reader, exp)), None)
    if total is None or not is_between_products(scores, less):
        return None
    if _count(scores) != 2:
        return f"its scores are read by {named(scores, less, highest.owner)}, too"
    weights = _weights(less, exp, total)
    if weights is None:
        return why_no_weights(less, exp, total)
    back = _back_to_product(scores)
    if back is None and is_joined_with_others(scores):
        return "its scores are joined with others, as with an attention sink, that no values belong to"
    if back is None:
        return why_no_product(scores)
    forth = _forth_to_sums(weights)
    if isinstance(forth, str):
        return forth
    plain, guarded = unguarded(forth.divisor, 0.0, 1.0)
    if plain != total.results[0]:
        return "its weights are divided by something else than their sum"
    if not _alone(highest, top):
        return "the greatest scores of its rows are read by others, too"
    if not _alone(total.results[0], forth.divisor):
        return "the sums of its rows are read by others, too"
    weighed, added = (op.results[0].type.element_type for op in (exp, forth.sums))
    if weighed != added:
        return f"its softmax is in {weighed}, its values are added up in {added}"
    # Without the first, -inf - -inf makes NaN of a row before the second could make zeros of it.
    zero_rows = forth.zero_nans or (finite and guarded)
    path = [less, exp, *forth.path]
    return Attention(back[0], back[1], path, forth.sums, forth.output, zero_rows, forth.zero_nans)


@dataclass(frozen=True)
class _Weights:
    """Weights as they are made, by ``path`` from the first exp on; their ``divisor`` if they are divided."""

    value: ir.Value
    reader: ir.Operation
    path: tuple[ir.Operation, ...]
    divisor: ir.Value | None


def _weights(less: ir.Operation, exp: ir.Operation, total: ir.Operation) -> _Weights | None:
    """What ``exp`` makes, or exp(less - log(total)), which is that divided by ``total``."""
    if _count(exp.results[0]) == 2 and has_one_use(less.results[0]):
        reader = next(each for each in _readers(exp.results[0]) if each != total)
        return _Weights(exp.results[0], reader, (), None)
    if not has_one_use(exp.results[0]) or not has_one_use(total.results[0]) or _count(less.results[0]) != 2:
        return None
    shifted = next(each for each in _readers(less.results[0]) if each != exp)
    log = _readers(total.results[0])[0]
    if not _computes(log, "math.log") or not has_one_use(log.results[0]) or not is_identity(log, 0):
        return None
    if not _computes(shifted, "arith.subf") or shifted.operands[0] != less.results[0]:
        return None
    if shifted.operands[1] != log.results[0] or not is_identity(shifted, 0) or not _drops_last(shifted, 1):
        return None
    path = [shifted]
    while not _computes(path[-1], "math.exp"):
        if not has_one_use(path[-1].results[0]) or (len(path) > 1 and not _only_moves_or_casts(path[-1])):
            return None
        path.append(_readers(path[-1].results[0])[0])
    if not is_identity(path[-1], 0) or not has_one_use(path[-1].results[0]):
        return None
    value = path[-1].results[0]
    return _Weights(value, _readers(value)[0], tuple(path), total.results[0])


def _back_to_product(scores: ir.Value) -> tuple[ir.Operation, list[ir.Operation]] | None:
    """The product that the scores come from, and the ops in between, the first first."""
    op = defining_op(scores)
    if op is None:
        return None
    if is_contraction(op):
        return (op, []) if is_plain_product(op) and is_row_major(op) else None
    if op.name in RESHAPES:
        candidates = [0] if keeps_last(op) else []
    elif is_arithmetic(op):
        candidates = [number for number in range(len(inputs_of(op))) if is_identity(op, number)]
    else:
        return None
    for number in candidates:
        value = op.operands[number]
        if has_one_use(value) and (found := _back_to_product(value)) is not None:
            return found[0], [*found[1], op]
    return None


@dataclass(frozen=True)
class _Forth:
    """The path to the second product, that, what follows it, the divisor, and what becomes of NaN."""

    path: list[ir.Operation]
    sums: ir.Operation
    output: list[ir.Operation]
    divisor: ir.Value
    zero_nans: bool


def _forth_to_sums(weights: _Weights) -> _Forth | str:
    """From the weights to the second product and what divides it; or why there is no such way."""
    path, reader, value, divisor = list(weights.path), weights.reader, weights.value, weights.divisor
    zero_nans = False
    while True:
        guard = without_nans(value) if divisor is not None and not zero_nans else None
        if guard is not None:
            reader, zero_nans = guard, True
        elif not has_one_use(value) and (value != weights.value or divisor is not None):
            return f"its weights are read by {named(value)}: by more than the second product"
        elif is_contraction(reader):
            break
        elif divisor is None and _divides(reader, value):
            divisor = reader.operands[1]
        elif not _only_moves_or_casts(reader):
            return why_no_path(reader)
        path.append(reader)
        value = reader.results[0]
        reader = _readers(value)[0] if _count(value) else reader
    if reader.operands[0] != value or not is_plain_product(reader) or not _is_weighted_sum(reader):
        return why_no_sums(reader, value)
    output: list[ir.Operation] = []
    after = reader
    while divisor is None:
        value = after.results[0]
        if not has_one_use(value):
            return f"the second product is read by {named(value)} before it is divided by the sums"
        after = _readers(value)[0]
        if _divides(after, value):
            divisor = after.operands[1]
        elif after.name not in RESHAPES or not keeps_last(after):
            return f"{word_for(after)} reads the second product before it is divided by the sums"
        output.append(after)
    while has_one_use(after.results[0]):
        after = _readers(after.results[0])[0]
        if after.name not in RESHAPES or not keeps_last(after):
            break
        output.append(after)
    return _Forth(path, reader, output, divisor, zero_nans)


# -- one op --


def _only_moves_or_casts(op: ir.Operation) -> bool:
    if op.name in RESHAPES:
        return keeps_last(op)
    return any(_computes(op, cast) for cast in _CASTS) and is_identity(op, 0)


def _computes(op: ir.Operation, name: str) -> bool:
    """Whether a generic yields the op ``name`` of its inputs, in their order."""
    if op.name != "linalg.generic" or "reduction" in kinds_of(op) or len(op.results) != 1:
        return False
    body = [inner.operation for inner in body_of(op).operations]
    if len(body) != 2 or body[0].name != name or body[1].operands[0] != body[0].results[0]:
        return False
    arguments = list(body_of(op).arguments)[: len(inputs_of(op))]
    return list(body[0].operands) == arguments and is_identity(op, len(op.operands) - 1)


def _reduces(value: ir.Value, name: str, source: ir.Value, start: float) -> bool:
    """Whether ``value`` is ``source`` reduced by ``name`` along its last dim, beginning with ``start``."""
    op = defining_op(value, "linalg.generic")
    if op is None or len(inputs_of(op)) != 1 or op.operands[0] != source or not is_identity(op, 0):
        return False
    kinds = kinds_of(op)
    first = fill_value(inits_of(op)[0])
    body = [inner.operation for inner in body_of(op).operations]
    if len(body) != 2 or body[0].name != name or {*body[0].operands} != {*body_of(op).arguments}:
        return False
    last_only = kinds == ["parallel"] * (len(kinds) - 1) + ["reduction"]
    starts = isinstance(first, ir.FloatAttr) and first.value == start
    return bool(last_only and starts and _drops_last(op, 1))


def _is_sum_of(op: ir.Operation, exp: ir.Operation) -> bool:
    return len(op.results) == 1 and _reduces(op.results[0], "arith.addf", exp.results[0], 0.0)


def _divides(op: ir.Operation, value: ir.Value) -> bool:
    """Whether ``op`` divides ``value`` by one number for each row."""
    return (
        _computes(op, "arith.divf") and op.operands[0] == value and is_identity(op, 0) and _drops_last(op, 1)
    )


def _is_weighted_sum(op: ir.Operation) -> bool:
    """Whether the second product's weights are rows (rows, keys), and its result has (rows, own dim)."""
    weights, values, result = maps_of(op)
    if not result.results:
        return False  # one row and one column: a number
    rows = list(weights.results)[:-1]
    keys = ir.AffineDimExpr.get(kinds_of(op).index("reduction"), op.context)
    own = result.results[-1]
    in_order = [expr.position for expr in result.results] == list(range(result.n_dims - 1))
    return (
        weights.results[-1] == keys
        and in_order
        and list(result.results)[:-1] == rows
        and own not in rows
        and own in list(values.results)
        and keys in list(values.results)
    )


def _drops_last(op: ir.Operation, number: int) -> bool:
    """Whether an operand is read with all loops but the last, in order."""
    where = maps_of(op)[number]
    wanted = [ir.AffineDimExpr.get(loop, op.context) for loop in range(where.n_dims - 1)]
    return list(where.results) == wanted


def _alone(value: ir.Value, guarded: ir.Value) -> bool:
    """Whether a row's number is read for its guarded form only, and that once."""
    if value == guarded:
        return has_one_use(value)
    return _count(value) == 2 and has_one_use(guarded)


def _count(value: ir.Value) -> int:
    return len(list(value.uses))


def _readers(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]
