"""The edges between the kernels of a host function: which result goes where, and why not inside a kernel.

And the kernels that read one tensor, where mlopt-fuse asked whether they should be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from ..dialects.attributes import GROUP
from ..dialects.decisions import Decision
from ..passes.costs.count import bytes_of
from ..passes.costs.host import is_host_work, stores_of, written_by
from ..passes.fusion.behind import passes_values, why_behind
from ..passes.fusion.edges import PARTS
from ..passes.groups import operands_of
from ..passes.structured import ASSUMED
from .explain_savings import Program

COPY = "it copies a result into memory of its own, which is decided after fusion"
HOST = "the host function does one of them itself, on one thread: "
NOT_TRIED = "mlopt-fuse did not try it"


@dataclass(frozen=True)
class _Source:
    """A result of the kernel called by ``call``, and the op of the host function that it went through."""

    call: ir.Operation
    result: ir.Value
    through: str = ""


@dataclass(frozen=True)
class _Use:
    """What a call reads of a ``source``, why from memory, and the bytes that else need not move."""

    source: _Source
    reason: str
    bytes_saved: int = 0


def edges_of(
    function: ir.OpView,
    numbers: Mapping[ir.Operation, int],
    program: Program,
    refused: Mapping[tuple[int, int], Sequence[Decision]],
) -> list[dict[str, Any]]:
    """Each two of ``numbers`` (calls, host work), one of which reads what the other makes: bytes, reasons.

    Then those side by side that mlopt-fuse kept apart, with the bytes that both read.
    """
    sources: dict[ir.Value, list[_Source]] = {}
    edges: dict[tuple[ir.Operation, ir.Operation], list[_Use]] = {}
    for op in (each.operation for each in function.regions[0].blocks[0].operations):
        if is_host_work(op):
            for value in dict.fromkeys(value for _, _, value in operands_of(op)):
                for source in sources.get(value, ()):
                    saved = program.bytes_through(source.result, value, op)
                    edges.setdefault((source.call, op), []).append(_Use(source, _of_host(op), saved))
            for value in written_by(op):
                sources[value] = [_Source(op, value)]
        elif op in numbers:
            for place, value in enumerate(op.operands):
                for source in sources.get(value, ()):
                    use = _use_of(source, program, op, place)
                    edges.setdefault((source.call, op), []).append(use)
            for result in op.results:
                sources[result] = [_Source(op, result)]
        elif op.name == "bufferization.materialize_in_destination":  # loops go on in what kernels fill
            sources[op.operands[1]] = sources.get(op.operands[0], [])
        elif passes_values(op.name):
            read = [source for _, _, value in operands_of(op) for source in sources.get(value, ())]
            for result in op.results:
                sources[result] = [_Source(each.call, each.result, each.through or op.name) for each in read]
    found = [
        {
            "from": numbers[maker],
            "to": numbers[reader],
            "beside": False,
            "bytes": sum(_bytes(value) for value in dict.fromkeys(use.source.result for use in uses)),
            "reasons": _reasons(maker, reader, uses, program, refused),
        }
        for (maker, reader), uses in edges.items()
    ]
    found += [
        {
            "from": numbers[first],
            "to": numbers[second],
            "beside": True,
            "bytes": shared,
            "reasons": [as_dict(each) for each in decisions],
        }
        for (first, second), decisions in _beside(numbers, refused)
        if (first, second) not in edges
        # What they share may be a constant, which is in no memory.
        and (shared := sum(map(_bytes, {*first.operands} & {*second.operands})))
    ]
    return found


def _bytes(value: ir.Value) -> int:
    return bytes_of(value, ASSUMED)


def _beside(
    numbers: Mapping[ir.Operation, int], refused: Mapping[tuple[int, int], Sequence[Decision]]
) -> Iterator[tuple[tuple[ir.Operation, ir.Operation], list[Decision]]]:
    """The calls that mlopt-fuse tried side by side, in their order, and why they are two."""
    calls = {GROUP.get(call): call for call in numbers}
    for (one, other), decisions in refused.items():
        reasons = [each for each in decisions if each.beside and each.reason]
        if reasons and one in calls and other in calls:
            first, second = sorted((calls[one], calls[other]), key=numbers.__getitem__)
            yield (first, second), reasons


def _reasons(
    maker: ir.Operation,
    reader: ir.Operation,
    uses: Sequence[_Use],
    program: Program,
    refused: Mapping[tuple[int, int], Sequence[Decision]],
) -> list[dict[str, Any]]:
    """What mlopt-fuse said, else what lies between the two."""
    one, other = GROUP.get(maker), GROUP.get(reader)
    if one is not None and other is not None and (one, other) in refused:
        return [as_dict(each) for each in refused[one, other]]
    # mlopt-outline makes kernels without a group: fills of results, copies of what is returned twice.
    unknown = NOT_TRIED if one is not None and other is not None else COPY
    found = {unknown if use.reason == NOT_TRIED else use.reason for use in uses}
    if other is None and not is_host_work(maker) and not is_host_work(reader):
        found = {COPY}
    saved = sum({use.source.result: use.bytes_saved for use in uses}.values())
    seconds = program.seconds_saved((maker, reader), saved)
    return [
        {"ops": "", "reason": reason, "bytes_saved": saved, "seconds_saved": seconds}
        for reason in sorted(found)
    ]


def as_dict(decision: Decision) -> dict[str, Any]:
    """Plain data for programs."""
    return {
        "ops": decision.ops,
        **({"where": list(decision.places)} if decision.places else {}),
        "reason": decision.reason,
        "bytes_saved": decision.bytes,
        "seconds_saved": decision.seconds,
    }


def _use_of(source: _Source, program: Program, reader: ir.Operation, place: int) -> _Use:
    """What keeps a value from being made in the kernel that takes it as its argument ``place``."""
    if is_host_work(source.call):
        value = reader.operands[place]
        saved = program.bytes_through(source.result, value, reader)
        return _Use(source, _of_host(source.call), saved)
    saved = program.bytes_saved(source.result, reader, place)
    if source.through:
        return _Use(source, why_behind(source.through), saved)
    return _Use(source, PARTS if program.is_written(reader, place) else NOT_TRIED, saved)


def _of_host(work: ir.Operation) -> str:
    """What the host function does: tasks of a kernel would write to one place at the same time."""
    if stores := stores_of(work, ASSUMED):
        return f"{HOST}a loop that writes {stores} elements where indices say"
    return f"{HOST}a copy of {_bytes(work.operands[1])} bytes for loops of its own"
