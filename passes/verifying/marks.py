"""The ``mlopt.*`` attributes are known, of their types, and where they belong."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ...dialects.attributes import ARGUMENT_MARKS, MARKS, SCHEDULE
from ..operations import nested_ops
from ..registry import did_you_mean
from .problem import Problem

_PREFIX = "mlopt."


def problems(module: ir.Operation) -> Iterator[Problem]:
    """The malformed attributes on ``module`` and on what is inside."""
    for op in (module, *nested_ops(module)):
        for name in op.attributes:
            if name.startswith(_PREFIX):
                message = _objection(op, name, op.attributes[name])
                if message is not None:
                    yield Problem(op, message)
            elif name == "arg_attrs":
                yield from _argument_problems(op)


def _objection(op: ir.Operation, name: str, value: ir.Attribute) -> str | None:
    mark = MARKS.get(name)
    if mark is None:
        return f"unknown attribute '{name}'{did_you_mean(name, MARKS)}"
    if mark.on and op.name not in mark.on:
        return f"'{name}' belongs on {' or '.join(mark.on)}, not on '{op.name}'"
    read = mark.kind.read(value)
    if read is None:
        return f"'{name}' must be {mark.kind.words}, not {value}"
    if mark is SCHEDULE and any(size < 0 for sizes in read.values() for size in sizes):
        return f"'{name}' has a negative size: {value}"
    return None


def _argument_problems(op: ir.Operation) -> Iterator[Problem]:
    for position, attributes in enumerate(ir.ArrayAttr(op.attributes["arg_attrs"])):
        for named in ir.DictAttr(attributes):
            if not named.name.startswith(_PREFIX):
                continue
            mark = ARGUMENT_MARKS.get(named.name)
            if mark is None:
                near = did_you_mean(named.name, ARGUMENT_MARKS)
                yield Problem(op, f"argument {position} has an unknown attribute '{named.name}'{near}")
            elif mark.kind.read(named.attr) is None:
                words = mark.kind.words
                yield Problem(op, f"'{named.name}' of argument {position} must be {words}, not {named.attr}")
