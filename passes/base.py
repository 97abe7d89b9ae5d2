"""What a pass is: a frozen dataclass whose fields are its options.

A pass named ``mlopt-foo-bar`` is the one `Pass` subclass in ``passes/foo_bar.py``;
``mlopt-cpu-foo`` lives in ``passes/cpu/foo.py``. The registry finds it by that rule, so a
new pass is a new file and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir


class PassError(Exception):
    """A pass cannot go on: what is wrong, and at which op.

    The driver turns it into a diagnostic at ``op``'s location and fails the pipeline.
    """

    def __init__(self, op: ir.Operation | ir.OpView, message: str) -> None:
        super().__init__(message)
        self.location = _location_of(op)
        self.message = message


def _location_of(op: ir.Operation | ir.OpView) -> ir.Location:
    """Where ``op`` is in the user's program; a function may not know, but what is in it does."""
    if op.location != op.location.unknown(op.context):
        return op.location
    inner = (each for region in op.regions for block in region for each in block)
    return next((each.location for each in inner if each.location != op.location), op.location)


class UnsupportedError(PassError):
    """A pass cannot go on, and that is no bug: the program asks for what mlopt does not do.

    ``message`` names the op and what about it; ``remedy`` says what to write instead.
    """

    def __init__(self, op: ir.Operation | ir.OpView, message: str, remedy: str) -> None:
        super().__init__(op, message)
        self.remedy = remedy


@dataclass(frozen=True)
class Pass(ABC):
    """One rewrite of the IR below ``op_name``; subclasses add typed options as fields.

    Fields may be ``int``, ``bool``, ``str``, ``float`` or ``tuple[int, ...]``, each with a
    default; ``some_option`` is spelled ``some-option`` in a pipeline.
    """

    name: ClassVar[str]
    op_name: ClassVar[str] = "builtin.module"  # or "any"
    # The dialects that it writes, loaded before it runs; None stands for all that mlopt's passes write.
    dialects: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def run(self, op: ir.Operation) -> None:
        """Rewrite ``op`` (an operation named ``op_name``) in place, or raise `PassError`."""
