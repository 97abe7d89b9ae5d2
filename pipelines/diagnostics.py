"""What went wrong in a pipeline, and where. Imports no MLIR: errors travel between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..passes.locations import source_of

if TYPE_CHECKING:
    from mlir import ir

# MLIR adds the whole operation, thousands of lines if it is a module, to an operation's error.
_WHOLE_OPERATION = "see current operation"


@dataclass(frozen=True)
class Diagnostic:
    """One message of MLIR with the place it points at (line 0: no place known)."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """``file:line:column``, or ``unknown location``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file or "unknown location"

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.severity}: {self.message}", *(str(note) for note in self.notes)]
        return "\n".join(lines)


class PipelineError(Exception):
    """A pass failed, or left invalid IR behind."""

    def __init__(self, message: str, pass_name: str = "", diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, pass_name, diagnostics)
        self.message = message
        self.pass_name = pass_name
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n".join([self.message, *(str(diagnostic) for diagnostic in self.diagnostics)])


_RAISED = "in pass {}, {}"


def note_pass(error: BaseException, name: str, place: str) -> None:
    """Note on an exception that is no `PassError` which pass it came from, and where that was."""
    error.add_note(_RAISED.format(name, place))


def noted_pass(error: BaseException) -> str:
    """The pass that an exception came from, with its options, as `note_pass` noted it; else empty."""
    start = _RAISED.partition("{}")[0]
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(start)]
    return notes[0].removeprefix(start).rpartition(", ")[0] if notes else ""


@contextmanager
def captured_diagnostics(context: ir.Context, sink: Callable[[Diagnostic], None]) -> Iterator[None]:
    """Send each diagnostic of ``context`` to ``sink`` instead of the standard error stream."""

    def handle(info: ir.Diagnostic) -> bool:
        sink(read_diagnostic(info))
        return True

    before = context.emit_error_diagnostics
    handler = context.attach_diagnostic_handler(handle)
    context.emit_error_diagnostics = True  # else handlers see warnings and remarks only
    try:
        yield
    finally:
        context.emit_error_diagnostics = before
        handler.detach()


def read_diagnostic(info: ir.Diagnostic) -> Diagnostic:
    """Copy MLIR's diagnostic, which lives only as long as its handler runs."""
    severity = info.severity.name.lower()
    file, line, column = source_of(info.location)
    notes = (read_diagnostic(note) for note in info.notes)
    kept = tuple(note for note in notes if not note.message.startswith(_WHOLE_OPERATION))
    return Diagnostic(severity, info.message, file, line, column, kept)
