"""`mlopt-join-products`: products of one tensor with several weights become one product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import DECISIONS
from ..dialects.decisions import BESIDE, NO_GROUP, Decision
from .base import Pass
from .costs.cost import Cost
from .costs.count import bytes_of, cost_alone
from .costs.machine import DEFAULT_CPU, Machine, machine_of
from .costs.roofline import predict
from .groups import entry_ops
from .hoist import made_of_weights
from .joined_products import Chain, join_chains
from .locations import place_of
from .moving.reads import is_move
from .operations import defining_op, plain_functions
from .raising.bodies import is_contraction
from .raising.reshape import RESHAPES
from .structured import (
    ASSUMED,
    ATTENTION,
    DYNAMIC,
    body_of,
    erase_dead,
    has_one_use,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    maps_of,
    word_for,
)

_VIEWS = (*RESHAPES, "tensor.cast")


@dataclass(frozen=True)
class JoinProducts(Pass):
    """Multiply by the weights of several products at once, and read the parts of the result.

    ::

        %q = generic {matmul} (m, n | k) ins(%x, %wq)     %r = generic {add} ins(%q, %bq at (n))
        %k = generic {matmul} (m, n | k) ins(%x, %wk)     %s = generic {add} ins(%k, %bk at (n))
      ->
        %w = concat %wq, %wk    %b = concat %bq, %bk      // of weights: mlopt-hoist takes them to @prepare
        %qk = generic {matmul} (m, n | k) ins(%x, %w)     %rs = generic {add} ins(%qk, %b at (n))
        %r = tensor.extract_slice %rs[0, 0] …             %s = tensor.extract_slice %rs[0, 768] …

    Legal where the right factors are weights, or made of weights, and all else is the same; element-wise ops
    after them join too while each product has the same one. Done where other products and attention read the
    results, which read the parts in place: element-wise readers would have been fused with the products.
    ``%x`` is read once, and one kernel runs instead of several. Run it before mlopt-fold-moves, which lets
    those who read a slice read the whole.
    Of each set of such products the module gets a decision with its numbers, taken or refused, in
    ``mlopt.decisions``: what joining them saves on ``machine``.

    Effect: queries, keys and values of 128 rows, 768 wide, are 3 kernels and 13.4 MB with it and without:
    mlopt-fuse runs their products side by side, too. On sm_80 they are one product of 2304 columns instead of
    three in one kernel; on a CPU the code is the same, and such products stay apart.
    """

    name: ClassVar[str] = "mlopt-join-products"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine = machine_of(op, self.machine)
        decisions = []
        for function in plain_functions(op):
            weights = made_of_weights(function)
            for products in _alike(function, weights):
                chains = _chains(products, weights)
                reason = should_join(chains, weights)
                decisions.append(_decision(products, machine, reason or ""))
                if reason is None:
                    join_chains(chains, weights)
            erase_dead(function)
        if decisions:
            with op.location:
                DECISIONS.set(op, tuple(decisions))


def of_unequal_widths(function: ir.Operation, weights: Set[ir.Value]) -> set[ir.Operation]:
    """The products that are to be joined and could not share a kernel as they are: their results differ."""
    found: set[ir.Operation] = set()
    for products in _alike(function, weights):
        shapes = {op.results[0].type for op in products}
        if len(shapes) > 1 and should_join(_chains(products, weights), weights) is None:
            found.update(products)
    return found


def _decision(products: Sequence[ir.Operation], machine: Machine, reason: str) -> Decision:
    """What one product saves in the place of several, if all read its parts in place."""
    costs = [cost_alone(op, ASSUMED) for op in products]
    size = (len(products) - 1) * bytes_of(products[0].operands[0], ASSUMED)
    joined = sum(costs, Cost(-size))
    seconds = sum(predict(each, machine).seconds for each in costs) - predict(joined, machine).seconds
    places = tuple(place_of(op.location) for op in products)
    ops = BESIDE.join(map(word_for, products))
    ops = f"{places[0]}: {ops}" if places[0] else ops
    return Decision(NO_GROUP, NO_GROUP, ops, reason, size, seconds, places)


def _alike(function: ir.Operation, weights: Set[ir.Value]) -> Iterator[list[ir.Operation]]:
    """The products that differ in their right factors and columns only, two or more at a time."""
    found: list[list[ir.Operation]] = []
    # The same tensor, all by weights or none: few, of any number of layers.
    reading: dict[tuple[ir.Value, bool], list[list[ir.Operation]]] = {}
    for op in entry_ops(function):
        if not can_join(op, weights):
            continue
        others = reading.setdefault((op.operands[0], op.operands[1] in weights), [])
        same = next((each for each in others if _is_alike(each[0], op)), None)
        if same is None:
            others.append([op])
            found.append(others[-1])
        else:
            same.append(op)
    yield from (each for each in found if len(each) > 1)


def can_join(op: ir.Operation, weights: Set[ir.Value]) -> bool:
    """Whether ``op`` multiplies what no weight makes by a matrix, whose columns are the result's last dim."""
    if not is_contraction(op):
        return False
    right_factor, (left, right, written) = op.operands[1], maps_of(op)
    exprs = [expr for where in (left, right, written) for expr in where.results]
    if op.operands[0] in weights or right_factor.type.rank != 2:
        return False
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in exprs) or not written.results:
        return False
    column = written.results[-1]
    fill = defining_op(inits_of(op)[0], "linalg.fill")
    is_column = right.results[1] == column and column not in left.results and right.results[0] != column
    return is_column and fill is not None and op.results[0].type.shape[-1] != DYNAMIC


def _is_alike(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two products of one tensor differ in their right factors and columns only."""
    fills = [inits_of(op)[0].owner.operation.operands[0] for op in (one, other)]
    kinds = [[value.type.element_type for value in op.operands] for op in (one, other)]
    return fills[0] == fills[1] and kinds[0] == kinds[1] and _same_work(one, other)


def _same_work(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two generics do the same with their operands."""
    if one.name != "linalg.generic" or other.name != one.name or len(one.operands) != len(other.operands):
        return False
    if (label_of(one), maps_of(one), kinds_of(one)) != (label_of(other), maps_of(other), kinds_of(other)):
        return False
    bodies = [[inner.operation for inner in body_of(op).operations] for op in (one, other)]
    if [inner.name for inner in bodies[0]] != [inner.name for inner in bodies[1]]:
        return False
    same = dict(zip(body_of(one).arguments, body_of(other).arguments, strict=True))
    for left, right in zip(*bodies, strict=True):
        if left.regions or dict(_attributes(left)) != dict(_attributes(right)):
            return False
        if [same.get(value, value) for value in left.operands] != list(right.operands):
            return False
        if [value.type for value in left.results] != [value.type for value in right.results]:
            return False
        same.update(zip(left.results, right.results, strict=True))
    return True


def _attributes(op: ir.Operation) -> Iterator[tuple[str, ir.Attribute]]:
    for name in op.attributes:
        yield name, op.attributes[name]


def _chains(products: Sequence[ir.Operation], weights: Set[ir.Value]) -> list[Chain]:
    chains = [[op] for op in products]
    while True:
        readers = [_only_reader(chain[-1].results[0]) for chain in chains]
        following = [op for op in readers if op is not None]
        if len(following) < len(chains) or not all(
            _continues(op, chain, weights) and _same_work(following[0], op)
            for op, chain in zip(following, chains, strict=True)
        ):
            return chains
        for op, chain in zip(following, chains, strict=True):
            chain.append(op)


def _only_reader(value: ir.Value) -> ir.Operation | None:
    return next(iter(value.uses)).owner.operation if has_one_use(value) else None


def _continues(op: ir.Operation, chain: Chain, weights: Set[ir.Value]) -> bool:
    """Whether ``op`` goes through the chain's last result, and vectors of weights along its columns."""
    if op.name != "linalg.generic" or len(op.results) != 1 or "reduction" in kinds_of(op):
        return False
    if any(inner.operation.name == "linalg.index" for inner in body_of(op).operations):
        return False
    before, maps = chain[-1].results[0], maps_of(op)
    identity = ir.AffineMap.get_identity(before.type.rank, op.context)
    column = ir.AffineMap.get(identity.n_dims, 0, [identity.results[-1]], op.context)
    for value, where in zip(inputs_of(op), maps, strict=False):
        is_vector = value in weights and where == column
        if not (value == before and where == identity) and not is_vector:
            return False
    return maps[-1] == identity and defining_op(inits_of(op)[0], "tensor.empty") is not None


def should_join(chains: Sequence[Chain], weights: Set[ir.Value]) -> str | None:
    """Why joining products does not pay; None where the right factors are weights, and parts read in place.

    That is what products do with the results, in their own order or moved.
    """
    if chains[0][0].operands[1] not in weights:
        return "their right factors are no weights, and would be put side by side in each call"
    readers = (_reader_of_all(chain[-1].results[0]) for chain in chains)
    reader = next((op for op in readers if op is not None), None)
    if reader is None:
        return None
    word = "the caller" if reader.name == "func.return" else word_for(reader)
    return f"{word} reads one of them, and only products and attention read a part where it is"


def _reader_of_all(value: ir.Value) -> ir.Operation | None:
    """What reads ``value``, moved perhaps, and would not read it as a part of something; None if nobody."""
    for use in value.uses:
        op: ir.Operation | None = use.owner.operation
        assert op is not None
        if op.name in _VIEWS or (op.name == "linalg.generic" and is_move(op)):
            op = _reader_of_all(op.results[0])
        elif op.name == ATTENTION or is_contraction(op):
            op = None
        if op is not None:
            return op
    return None
