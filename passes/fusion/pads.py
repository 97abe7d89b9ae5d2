"""Pads that go with the convolution or pooling that reads them, whose kernel then needs no padded copy."""

from __future__ import annotations

from mlir import ir

from ...dialects.decisions import Decision
from ..costs.cost import Cost
from ..costs.count import bytes_of
from ..costs.machine import Machine
from ..domain import Domain
from ..groups import is_init
from ..operations import defining_op
from ..rewrites import rewrite_of, seconds_of
from ..structured import ASSUMED, is_used, structured_ops, word_for
from ..tiling.access import nest_of
from ..tiling.pads import fill_of_pad
from ..tiling.registry import can_tile
from .kinds import Kind, kind_of


def give_windows_their_pads(func: ir.Operation, machine: Machine) -> list[Decision]:
    """Give each window op that can read through a pad a pad of its own, with its fill.

    Returns what was decided about each: a pad that is read through is neither written nor read.
    """
    decisions = []
    for pad in structured_ops(func, "tensor.insert_slice"):
        fill = fill_of_pad(pad)
        if fill is None:
            continue
        for use in list(pad.results[0].uses):
            reader, number = use.owner.operation, use.operand_number
            if reader.name != "linalg.generic" or is_init(reader, number):
                continue
            reason = why_not_read_through(reader)
            if kind_of(reader, nest_of) is Kind.ANCHOR:  # else compute_padded has decided
                decisions.append(_decision(pad, reader, reason or "", machine))
            if reason is None:
                at = ir.InsertionPoint(reader)
                own = pad.clone(at).operation
                own.operands[1] = fill.clone(ir.InsertionPoint(own)).operation.results[0]
                reader.operands[number] = own.results[0]
        for op in (pad, fill):
            if not is_used(op.results[0]):
                op.erase()
    return decisions


def _decision(pad: ir.Operation, reader: ir.Operation, reason: str, machine: Machine) -> Decision:
    cost = Cost(2 * bytes_of(pad.results[0], ASSUMED))
    word = f"{word_for(pad)} read through by {word_for(reader)}"
    return rewrite_of(pad, reason, cost.bytes, seconds_of(cost, machine), word=word)


def can_read_through(op: ir.Operation) -> bool:
    """Whether the pads that a window op, or an element-wise one, reads can be part of its kernel."""
    return why_not_read_through(op) is None


def why_not_read_through(op: ir.Operation) -> str | None:
    """Why they cannot."""
    kind = kind_of(op, nest_of)
    if kind not in (Kind.ANCHOR, Kind.POINTWISE):
        return f"{word_for(op)} goes through whole rows"
    fills = [
        defining_op(value, "linalg.fill") for number, value in enumerate(op.operands) if is_init(op, number)
    ]
    ops = [*(fill for fill in fills if fill is not None), *_pads_and_fills(op), op]
    domain = Domain.build(ops, list(op.results))
    return domain if isinstance(domain, str) else can_tile(domain)


def pads_of(op: ir.Operation) -> list[ir.Operation]:
    """The pads, each after its fill, that nobody but ``op`` reads, which can read through them."""
    own = [each for each in _pads_and_fills(op) if len(list(each.results[0].uses)) == 1]
    return own if own and can_read_through(op) else []


def _pads_and_fills(op: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for number, value in enumerate(op.operands):
        pad = (
            None
            if op.name != "linalg.generic" or is_init(op, number)
            else defining_op(value, "tensor.insert_slice")
        )
        fill = None if pad is None else fill_of_pad(pad)
        if pad is not None and fill is not None and pad not in found:
            found += [fill, pad]
    return found
