"""The attribute that passes write their decisions into."""

from mlir import ir
from mlopt.dialects.attributes import DECISIONS
from mlopt.dialects.context import make_context
from mlopt.dialects.decisions import Decision


def test_decisions_are_read_as_they_were_written() -> None:
    made = (
        Decision(0, 3, "exp -> add", "because", -5, 1.5e-7),
        Decision(1, 1, "a -> b", "", 7, 0.0, ("f.py:3", "")),
    )
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        DECISIONS.set(module.operation, made)
        assert DECISIONS.get(module.operation) == made
        numbers = "bytes = 1, from = 0, seconds = 1.0"
        for wrong in (
            '"text"',
            "[1]",
            "[{from = 0}]",
            f'[{{{numbers}, to = "a", ops = "", reason = ""}}]',
            '[{bytes = 1, from = 0, to = 1, ops = "", reason = "", seconds = 1}]',
        ):
            module.operation.attributes["mlopt.decisions"] = ir.Attribute.parse(wrong)
            assert DECISIONS.get(module.operation) is None
