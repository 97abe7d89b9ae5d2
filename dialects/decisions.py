"""What became of fusions and of rewrites, as attributes of the module."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from .kinds import Kind, build_integer, build_strings, read_integer, read_string, read_strings

NO_GROUP = -1  # of what was decided before there were groups
BESIDE = " | "  # between two ops, neither of which reads what the other makes


@dataclass(frozen=True)
class Decision:
    """What became of the fusion of two groups, by their numbers, at an edge between two ops ("exp -> add").

    Or of running ops side by side that read one tensor ("sum | sum"); products that read one are joined, or
    not, before there are groups, and so are softmaxes and what is around them, and reductions of few results
    in parts: their ops come with a place ("file:line: matmul | matmul").
    ``reason`` says why they stayed apart, and is empty if they are one group now. ``bytes`` and ``seconds``
    are what the fusion saves or would save, less than nothing if it costs. ``places`` are the source lines of
    the two ops, or of all products, "file:line" each, or empty. ``kept``: bytes that @prepare makes for it,
    whenever weights change, and keeps.
    """

    producer: int
    consumer: int
    ops: str
    reason: str
    bytes: int
    seconds: float
    places: tuple[str, ...] = ()
    kept: int = 0

    @property
    def beside(self) -> bool:
        """Whether it is about kernels side by side."""
        return BESIDE in self.ops


def _read_decisions(attribute: ir.Attribute) -> tuple[Decision, ...] | None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(it, ir.DictAttr) for it in attribute):
        return None
    found = []
    for each in attribute:
        names = {named.name for named in each} - {"where", "kept"}
        if names != {"from", "to", "ops", "reason", "bytes", "seconds"}:
            return None
        numbers = [read_integer(each[name]) for name in ("from", "to", "bytes")]
        kept = read_integer(each["kept"]) if "kept" in each else 0
        words = read_string(each["ops"]), read_string(each["reason"])
        places = read_strings(each["where"]) if "where" in each else ()
        seconds = each["seconds"]
        if None in (*numbers, *words, places, kept) or not isinstance(seconds, ir.FloatAttr):
            return None
        producer, consumer, size = numbers
        found.append(Decision(producer, consumer, *words, size, float(seconds.value), places, kept))  # type: ignore[arg-type]
    return tuple(found)


def _build_decisions(decisions: tuple[Decision, ...]) -> ir.Attribute:
    real = ir.F64Type.get()
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    "from": build_integer(each.producer),
                    "to": build_integer(each.consumer),
                    "ops": ir.StringAttr.get(each.ops),
                    "reason": ir.StringAttr.get(each.reason),
                    "bytes": build_integer(each.bytes),
                    "seconds": ir.FloatAttr.get(real, each.seconds),
                    **({"where": build_strings(each.places)} if each.places else {}),
                    **({"kept": build_integer(each.kept)} if each.kept else {}),
                }
            )
            for each in decisions
        ]
    )


def _read_rewrites(attribute: ir.Attribute) -> dict[str, tuple[Decision, ...]] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    found = {named.name: _read_decisions(named.attr) for named in attribute}
    known = {name: decisions for name, decisions in found.items() if decisions is not None}
    return known if len(known) == len(found) else None


def _build_rewrites(rewrites: dict[str, tuple[Decision, ...]]) -> ir.Attribute:
    return ir.DictAttr.get({name: _build_decisions(decisions) for name, decisions in rewrites.items()})


DECISIONS_KIND: Kind[tuple[Decision, ...]] = Kind(
    "an array of {from = group, to = group, ops = string, reason = string, bytes = integer, seconds = float, "
    "where = [strings], kept = integer, which may both be missing}",
    _read_decisions,
    _build_decisions,
)
REWRITES_KIND: Kind[dict[str, tuple[Decision, ...]]] = Kind(
    "a dictionary of decisions, by the names of passes", _read_rewrites, _build_rewrites
)
