"""`mlopt-raise-attention`: a softmax between two products becomes one op, whose scores are never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.decisions import NO_GROUP, Decision
from .attending.causal import index_mask
from .attending.guards import is_arithmetic
from .attending.match import Attention, attention_of
from .attending.repeated import unrepeated
from .attending.rewrite import Rewriter, Splits, can_split, joined, make_attention, numbered
from .attending.rows import Rows, Shape, parts, refined
from .attending.saving import has_few_rows, rows_of, saving_of, tasks_of
from .base import Pass
from .costs.cost import Cost
from .costs.count import bytes_of
from .costs.machine import DEFAULT_CPU, Machine, machine_of
from .costs.roofline import are_enough, predict
from .locations import place_of
from .moving.reads import is_move
from .operations import brought_before, defining_op, plain_functions
from .raising.reshape import RESHAPES
from .rewrites import note_rewrites
from .structured import (
    ASSUMED,
    DYNAMIC,
    ROW_SCORES,
    SCORES,
    erase_dead,
    has_one_use,
    indexing_maps,
    inputs_of,
    label_of,
    maps_of,
    structured_ops,
)

WIDEST = 256  # elements of one key or value, that a task should hold for each of its rows


@dataclass(frozen=True)
class RaiseAttention(Pass):
    """Recognise scaled dot-product attention, called or written out.

    ::

        %s = generic {bmm} (b, m, n | d) ins(%q, %kt)
        %t = generic {mul} …, {where} …              // whatever is done to the scores
        %m = generic {amax} ins(%t)
        %e = generic {exp} (t - m)
        %o = generic {bmm} (b, m, d | n) ins(%e, %v)
        %r = generic {div} ins(%o, sum of %e)
      ->
        %s = generic {scores} (b, h, m, n | d) ins(%q, %k)
        %t = generic {mul} …, {where} …
        %r = mlopt.attention {mlopt.op = "attention"} (b, h, m, d | n) ins(%t, %v)

    ``mlopt.attention`` is sum over n of exp(t - max of t) * v, divided by sum over n of exp(t - max of t):
    loops, maps and inits as a linalg.generic has them, the last loop along the keys. ``zero_rows``: a row
    whose scores are all -inf is zero, else NaN; ``zero_nans``: a row with a NaN is zero, too. ``causal`` is
    the loop that keys are not ahead of, or -1: the scores beyond are -inf. Its tile rule goes through the
    keys in blocks and keeps a running maximum and sum (`passes/tiling/attention.py`), so that mlopt-fuse can
    put all of it into one kernel.

    Legal where nobody else reads what lies between: a graph that keeps the weights for its backward pass
    stays as it is. The weights are divided after the second product. ``mlopt.rounds`` is the half float that
    the program rounds them to before it: tensor cores take it, others leave them as they are. Dims of rows
    that reshapes join and split (grouped heads) become the finest ones, so that no reshape lies between the
    products; keys and values that were repeated for several heads are read as they are. Run it before
    mlopt-fold-moves, which reads queries, keys and values in place.

    A softmax may be written as the exp of a log_softmax, and zeros may stand for its NaN (torch.nan_to_num).
    One between two products that stays as it is leaves a decision in ``mlopt.rewrites`` of the module: where
    its exp is, why, and what one op would save (`passes/attending/saving.py`).

    A CPU's task also has the few rows of one matrix, as in decoding, with its lanes along a key, if there are
    tasks enough (`are_enough`): else several kernels share the keys, and ``mlopt.rewrites`` says so. On a GPU
    several blocks share them (mlopt-gpu-split-keys), if the number of rows is known; tensor cores make the
    scores of few rows of half floats, which are labelled ``row_scores``.

    Effect: 1 kernel for 4, and 2 * rows * keys * 4 bytes less to move in either direction. One row of 12
    heads, 512 keys of 64 elements, one Zen 5 core: 37 µs for 40 in three kernels, 98 for 110 where the keys
    come from memory; two rows 47 for 61, and 122 for 195.
    """

    name: ClassVar[str] = "mlopt-raise-attention"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine = machine_of(op, self.machine)
        apart: list[Decision] = []
        for function in plain_functions(op):
            for generic in structured_ops(function):
                if label_of(generic) != "exp" or not len(generic.regions[0].blocks):
                    continue  # the latter has given its body to the op that stands for it
                decision = _try(generic, machine)
                if decision is not None:
                    apart.append(decision)
            erase_dead(function)
        note_rewrites(op, self.name, apart)


def _try(exp: ir.Operation, machine: Machine) -> Decision | None:
    """Raise what ``exp`` is part of; or why not, if it is of a softmax between two products."""
    found = attention_of(exp)
    if found is None:
        return None
    reason = (
        found
        if isinstance(found, str)
        else can_hold(found) or should_raise(found, machine) or _raise(found, _label(found, machine))
    )
    if reason is None:
        return None
    size, seconds = saving_of(found, exp.results[0], machine)
    place = place_of(exp.location)
    word = f"{place}: softmax" if place else "softmax"
    return Decision(NO_GROUP, NO_GROUP, word, reason, size, seconds, (place,) if place else ())


def can_hold(found: Attention) -> str | None:
    """Why a task cannot have whole keys and values: nobody knows how wide they are, or they are empty."""
    if all(width > 0 for width in _widths(found)):
        return None
    return f"a task has keys and values of a known number of elements, not {_sizes(found)}"


def should_raise(found: Attention, machine: Machine) -> str | None:
    """Why several kernels are quicker: rows are wide, or few, or too few tasks have them; None if one is."""
    if any(width > WIDEST for width in _widths(found)):
        return f"keys and values have 1 to {WIDEST} elements in a task, not {_sizes(found)}"
    rows, matrices = rows_of(found)
    if not has_few_rows(rows):
        return None
    if maps_of(found.product)[-1].n_dims < 3:
        return "1 row of one matrix would be one task"
    return None if machine.chips else _too_few_tasks(found, tasks_of(matrices), machine)


def _too_few_tasks(found: Attention, tasks: int, machine: Machine) -> str | None:
    """Why several kernels are better than ``tasks`` that have the few rows of one matrix each."""
    factors = sum(bytes_of(op.operands[1], ASSUMED) for op in (found.product, found.sums))
    serial = predict(Cost(factors), machine, 1).seconds
    if are_enough(tasks, serial, machine):
        return None
    each = f"{serial / tasks * 1e6:.0f} microseconds"
    return f"tasks of {each} should be {machine.tasks // 2} or more, the few rows of each matrix make {tasks}"


def _widths(found: Attention) -> tuple[int, int]:
    """The elements of a key and of a value; less than none if nobody knows how many."""
    return found.product.operands[0].type.shape[-1], found.sums.results[0].type.shape[-1]


def _sizes(found: Attention) -> str:
    return " and ".join("an unknown number" if size == DYNAMIC else str(size) for size in _widths(found))


def _label(found: Attention, machine: Machine) -> str:
    """What its scores are called: those of few rows of half floats are a product of a GPU's tensor cores."""
    halves = all(_half_name(value.type.element_type) for value in list(found.product.operands)[:2])
    few = has_few_rows(rows_of(found)[0])
    return ROW_SCORES if machine.chips and few and halves else SCORES


def _raise(found: Attention, label: str) -> str | None:
    """Write the op, with its scores' ``label``; or why reshapes do not let it."""
    rows = Rows()
    shape: Shape | None = rows.first(found.product.results[0])
    shapes = [shape]
    for op in (*found.chain, *found.path, *found.output):
        if op.name in RESHAPES and shape is not None:
            shape = rows.reshaped(shape, op)
        shapes.append(shape)
    known = [each for each in shapes if each is not None]
    factors = None
    if shape is not None and len(known) == len(shapes):
        finest = [*known, *_unrepeated(rows, found, shapes)]
        factors = refined([*finest, *_behind(rows, shape, found.result)]) or refined(finest)
    if factors is None or any(size.symbols and size not in rows.known for size in factors):
        return "reshapes of its rows are not known to split and join the same sizes"
    groups = [parts(each, factors) for each in known]
    splits = [each for each in groups if each is not None]
    if len(splits) < len(known):
        return "reshapes split its rows across one another"
    with found.result.owner.location, ir.InsertionPoint(found.result.owner):
        return _write(found, Rewriter(rows, factors), splits, label)


def _unrepeated(rows: Rows, found: Attention, shapes: Sequence[Shape | None]) -> list[Shape]:
    """The rows with dims split as those of keys and values that are repeated for them."""
    at = len(found.chain) + len(found.path)
    factors = ((shapes[0], found.product, 1), (shapes[at], found.sums, 1))
    split = (unrepeated(rows, shape, op, number) for shape, op, number in factors if shape is not None)
    return [each for each in split if each is not None]


def _behind(rows: Rows, shape: Shape, result: ir.Value) -> list[Shape]:
    """The rows with dims split as behind element-wise work on ``result``: a cast, then a view of heads."""
    value = result
    while has_one_use(value):
        (use,) = value.uses
        reader, number = use.owner.operation, use.operand_number
        if reader.name == "tensor.expand_shape" and len(list(reader.attributes["reassociation"])[-1]) == 1:
            at = result.owner.operation
            known = all(brought_before(size, at) for size in reader.opview.output_shape)
            split = rows.reshaped(shape, reader) if known else None
            return [] if split is None else [split]
        if not is_arithmetic(reader) or maps_of(reader)[number] != maps_of(reader)[-1]:
            break
        value = reader.results[0]
    return []


def _write(found: Attention, write: Rewriter, splits: list[list[list[int]]], label: str) -> str | None:
    chain = found.chain
    of_ops: list[Splits] = [[*groups, None] for groups in splits]
    pairs = list(zip(chain, of_ops[1:], strict=False))
    carried = [_carried(op, [found.product, *chain][at]) for at, op in enumerate(chain)]
    generics = [
        (op, how, on) for (op, how), on in zip(pairs, carried, strict=True) if op.name not in RESHAPES
    ]
    if not all(can_split(op, how, [on]) for op, how, on in generics):
        return "what is done to its scores uses the numbers of rows that reshapes split"
    for op, number in ((found.product, 0), (found.product, 1), (found.sums, 1)):
        _read_where_it_was(op, number)
    product_splits = [*of_ops[0], None]
    count = len(write.factors)
    scores = write.generic(found.product, product_splits, {}, label)
    causal = -1
    for op, how, on in generics:
        masked = index_mask(op, on, numbered(how))
        scores = write.generic(masked.op if masked else op, how, {masked.carried if masked else on: scores})
        causal = masked.row if masked else -1
    sums, after = found.sums, of_ops[len(chain) + len(found.path)]
    _, where, result = maps_of(sums)
    sums_splits = [*after, None]
    values, exprs = write.operand(sums.operands[1], where, sums_splits)
    maps = [
        ir.AffineMap.get(count + 2, 0, [ir.AffineDimExpr.get(at) for at in (*range(count), count + 1)]),
        ir.AffineMap.get(count + 2, 0, exprs),
        ir.AffineMap.get(count + 2, 0, [ir.AffineDimExpr.get(at) for at in range(count + 1)]),
    ]
    init = write.empty(sums.results[0], result, sums_splits)
    weights, read = (operand.type.element_type for operand in list(sums.operands)[:2])
    rounds = _half_name(weights) if weights == read else ""  # a product of two types rounds neither
    made = make_attention(scores, values, init, maps, found.zero_rows, found.zero_nans, causal, rounds)
    _follow(found.result, made, write, of_ops[-1])
    return None


def _half_name(element: ir.Type) -> str:
    """What a half float's type is called; nothing of another type."""
    return str(element) if isinstance(element, (ir.F16Type, ir.BF16Type)) else ""


def _read_where_it_was(op: ir.Operation, number: int) -> None:
    """Read the source of a transpose: only then can reshapes before it and after it be one."""
    move = defining_op(op.operands[number], "linalg.generic")
    if move is None or not is_move(move):
        return
    here, before = maps_of(op)[number], maps_of(move)[0]
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in before.results):
        return
    exprs = [here.results[expr.position] for expr in before.results]
    maps = maps_of(op)
    maps[number] = ir.AffineMap.get(here.n_dims, 0, exprs)
    op.attributes["indexing_maps"] = indexing_maps(maps)
    op.operands[number] = move.operands[0]


def _carried(op: ir.Operation, before: ir.Operation) -> int:
    """Which operand of ``op`` is made by the op before it."""
    return next(number for number, value in enumerate(op.operands) if value == before.results[0])


def _follow(old: ir.Value, value: ir.Value, write: Rewriter, splits: Splits) -> None:
    """Let ``value`` stand for ``old``; what is done to it element by element comes before its dims join."""
    while any(factors is not None and len(factors) != 1 for factors in splits) and has_one_use(old):
        (use,) = old.uses
        reader, number = use.owner.operation, use.operand_number
        if not is_arithmetic(reader) or number >= len(inputs_of(reader)):
            break
        where = maps_of(reader)[number]
        positions = [expr.position for expr in where.results if isinstance(expr, ir.AffineDimExpr)]
        if sorted(positions) != list(range(where.n_dims)):
            break
        turned: Splits = [splits[positions.index(loop)] for loop in range(where.n_dims)]
        if not can_split(reader, turned, [number]):
            break
        with reader.location, ir.InsertionPoint(reader):
            value = write.generic(reader, turned, {number: value})
        old, splits = reader.results[0], turned
    with value.location, ir.InsertionPoint.after(value.owner):
        old.replace_all_uses_with(joined(value, old.type, numbered(splits)))
