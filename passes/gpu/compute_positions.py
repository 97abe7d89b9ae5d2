"""`mlopt-gpu-compute-positions`: what is nothing but a position is computed where it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import linalg

from ..base import Pass
from ..moving.gathered import clone, clone_body
from ..structured import (
    body_of,
    erase_dead,
    inits_of,
    inputs_of,
    kinds_of,
    label_of,
    make_generic,
    maps_of,
    replace_op,
    shows_all_loops,
    structured_ops,
)

_CHEAP = (
    "arith.index_cast",
    "arith.trunci",
    "arith.sitofp",
    "arith.uitofp",
    "arith.addi",
    "arith.muli",
    "arith.addf",
)
_MOST = 4  # instructions: as many as a load's address takes


@dataclass(frozen=True)
class ComputePositions(Pass):
    """Let the readers of an arange compute the elements that they read.

    ::

        %a = linalg.generic outs(tensor<1024xi64>) { linalg.index 0; arith.index_cast }   // arange
        %w = linalg.generic ins(%c at (i, j), %a at (j)) { select %c, %a, … }
      ->
        %w = linalg.generic ins(%c at (i, j)) { linalg.index 1; arith.index_cast; select %c, …, … }

    So does a gather from an arange: the element is its own, checked, index.

    Legal always: the element at a position is a function of it. Done for tensors of one dim, whose readers'
    loops cannot run together with others in any case, and for a few instructions. An argmax of rows of 1024
    floats then asks the caches for what it reads, not for three times as much. Not done for CPUs, whose
    vectors load a row of positions faster than they make one: an argmax of 4096x1024 would take 1.45 of the
    time.
    It also runs without a kernel for the positions: 232 instructions of PTX instead of 269 for 1024x1024.
    """

    name: ClassVar[str] = "mlopt-gpu-compute-positions"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the readers; what nobody reads any more is erased."""
        for function in [each.operation for each in op.regions[0].blocks[0].operations]:
            if function.name != "func.func" or not function.regions[0].blocks:
                continue
            made = [each for each in structured_ops(function) if is_position(each)]
            for each in made:
                compute_what_is_extracted(each)
                made += filter(is_position, compute_in_readers(each))  # a cast of an arange becomes one
            erase_dead(function)


def is_position(op: ir.Operation) -> bool:
    """Whether the elements of a generic's result depend on their position alone, by a few instructions."""
    if inputs_of(op) or len(op.results) != 1 or maps_of(op)[0] != ir.AffineMap.get_identity(1):
        return False
    *inner, end = (each.operation for each in body_of(op).operations)
    names = [each.name for each in inner if each.name != "linalg.index"]
    if len(names) > _MOST or not set(names) <= set(_CHEAP) or not len(inner) > len(names):
        return False
    read = {operand for each in (*inner, end) for operand in each.operands}
    return not read & set(body_of(op).arguments)


def compute_in_readers(made: ir.Operation) -> list[ir.Operation]:
    """Let what reads a tensor of positions compute them, where it can; the readers as they are now."""
    owners = [use.owner.operation for use in made.results[0].uses]
    readers = dict.fromkeys(each for each in owners if each.name == "linalg.generic")
    return [compute_in(reader, made) for reader in readers if can_compute_in(reader, made)]


def compute_what_is_extracted(made: ir.Operation) -> None:
    """Let bodies that take single elements of a tensor of positions compute them."""
    for use in list(made.results[0].uses):
        extract = use.owner.operation
        if extract.name == "tensor.extract":
            with ir.InsertionPoint(extract), extract.location:
                (element,) = clone_body(made, [extract.operands[1]], {})
            extract.results[0].replace_all_uses_with(element)
            extract.erase()


def can_compute_in(reader: ir.Operation, made: ir.Operation) -> bool:
    """Whether a generic reads ``made`` by loops that its other operands show, too."""
    value = made.results[0]
    places = [
        where.results[0]
        for operand, where in zip(reader.operands, maps_of(reader), strict=True)
        if operand == value
    ]
    return (
        value not in inits_of(reader)
        and all(isinstance(place, ir.AffineDimExpr) for place in places)
        and shows_all_loops(_other_maps(reader, value))
        and not any(len(inner.operation.regions) for inner in body_of(reader).operations)
    )


def _other_maps(reader: ir.Operation, value: ir.Value) -> list[ir.AffineMap]:
    """The maps of a generic's operands but ``value``."""
    return [
        where for operand, where in zip(reader.operands, maps_of(reader), strict=True) if operand != value
    ]


def compute_in(reader: ir.Operation, made: ir.Operation) -> ir.Operation:
    """The generic ``reader``, with what makes an element of ``made`` in its body."""
    value = made.results[0]
    new = make_generic(
        [operand for operand in inputs_of(reader) if operand != value],
        inits_of(reader),
        _other_maps(reader, value),
        kinds_of(reader),
        label_of(reader),
        location=reader.location,
        at=ir.InsertionPoint(reader),
    )
    given = iter(body_of(new).arguments)
    known: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(body_of(new)), made.location:
        for operand, where, argument in zip(
            reader.operands, maps_of(reader), body_of(reader).arguments, strict=True
        ):
            known[argument] = next(given) if operand != value else _element(made, where.results[0].position)
        for inner in [each.operation for each in body_of(reader).operations]:
            clone(inner, known)
    replace_op(reader, list(new.results))
    return new


def _element(made: ir.Operation, loop: int) -> ir.Value:
    """The element of ``made`` where a loop of the body that is being written is."""
    place = linalg.IndexOp(loop).result
    (element,) = clone_body(made, [place], {})
    return element
