"""Runs passes written in Python when MLIR's pass manager says so, and reports what goes wrong in them.

A failure is a few lines: the message at the operation's place, the pass, for a bug the last frames of its
traceback. The whole IR goes to a file. No exception gets out, as MLIR would not survive it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from mlir import ir

from ...dialects.context import LOADED_DIALECTS
from ...passes.base import Pass, PassError
from ...passes.remembered import forget_attributes
from ...pipelines import capi
from ...pipelines.diagnostics import Diagnostic, PipelineError, captured_diagnostics
from . import mlir_main
from .output import flush_printed

_KEPT_ERRORS = 3
_KEPT_FRAMES = 2
_KEPT_LINES = 4
_KEPT_COLUMNS = 400


class Runner:
    """Runs passes; ``failures`` says what went wrong in which pass, in order.

    ``verify_each`` has the IR verified after each pass. With ``checks_messages``, when MLIR compares all
    messages with expected ones, all of them come, and no IR is saved.
    """

    def __init__(self, verify_each: bool, checks_messages: bool) -> None:
        self.failures: list[str] = []
        self._verify_each = verify_each
        self._checks_messages = checks_messages
        self._broken = False
        self._contexts: list[ir.Context] = []

    def run(self, cls: type[Pass], address: int, action: Callable[[ir.Operation], None]) -> bool:
        """Let ``action`` do what the pass ``cls`` does to the operation at ``address``; False if it fails."""
        if self._broken:  # MLIR goes on with the next function after a failure; not after a bug
            return False
        operation = capi.operation_at(address)
        context = operation.context
        try:
            with context, mlir_main.outside_threads(capi.context_address(context)):
                self._prepare(context, dialects_of(cls))
                try:
                    action(operation)
                except PassError as error:
                    return self._fail(f"pass {cls.name} failed", operation, [(error.location, error.message)])
                except PipelineError as error:
                    return self._fail(error.message, operation, _places(error.diagnostics))
                return not self._verify_each or self._verify(cls.name, operation, address)
        except BaseException as error:
            return self._stop(cls.name, operation, error)
        finally:
            forget_attributes()  # MLIR may destroy the context next
            flush_printed()

    def _prepare(self, context: ir.Context, dialects: Iterable[str]) -> None:
        """Load what the pass writes: creating an operation of a dialect that is not loaded aborts."""
        if not any(context is each for each in self._contexts):
            self._contexts.append(context)  # the driver owns it; the last reference here would destroy it
        for name in dialects:
            context.get_dialect_descriptor(name)

    def _verify(self, name: str, operation: ir.Operation, address: int) -> bool:
        """Verify what the pass left behind."""
        found: list[Diagnostic] = []
        with captured_diagnostics(operation.context, found.append):
            valid = capi.verify_operation(address)
        return valid or self._fail(f"invalid IR after pass {name}", operation, _places(found))

    def _fail(self, what: str, operation: ir.Operation, errors: list[tuple[ir.Location, str]]) -> bool:
        shown = len(errors) if self._checks_messages else _KEPT_ERRORS - len(self.failures)
        for location, message in errors[: max(0, shown)]:
            location.emit_error(_cut(message))
        self._note(what, operation)
        return False

    def _stop(self, name: str, operation: ir.Operation, error: BaseException) -> bool:
        import traceback

        self._broken = True
        with operation.context:
            operation.location.emit_error(_cut(f"pass {name} raised {type(error).__name__}: {error}"))
        frames = error.__traceback__.tb_next if error.__traceback__ else None  # without the one here
        sys.stderr.writelines(traceback.format_tb(frames, limit=-_KEPT_FRAMES))
        self._note(f"pass {name} has a bug", operation)
        return False

    def _note(self, what: str, operation: ir.Operation) -> None:
        saved = "" if self.failures or self._checks_messages else _saved(operation)
        self.failures.append(f"{what}{saved}")


def dialects_of(cls: type[Pass]) -> tuple[str, ...]:
    """The dialects that the pass writes."""
    return LOADED_DIALECTS if cls.dialects is None else cls.dialects


def _places(diagnostics: Iterable[Diagnostic]) -> list[tuple[ir.Location, str]]:
    return [
        (
            ir.Location.file(each.file, each.line, each.column) if each.line else ir.Location.unknown(),
            each.message,
        )
        for each in diagnostics
    ]


def _cut(message: str) -> str:
    lines = message.splitlines()
    left = [f"… {len(lines) - _KEPT_LINES} more lines"] if len(lines) > _KEPT_LINES else []
    return "\n".join([*(line[:_KEPT_COLUMNS] for line in lines[:_KEPT_LINES]), *left])


def _saved(operation: ir.Operation) -> str:
    """Where the whole IR was written to, as a message goes on; empty if nothing can be written."""
    from ...runtime.reproducer import new_file

    top = operation
    while top.parent is not None:
        top = top.parent.operation
    try:
        path = new_file()
        path.write_text(top.get_asm(assume_verified=False, print_generic_op_form=True), encoding="utf-8")
    except OSError:
        return ""
    return f"; all of the IR is in {path}"
