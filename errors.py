"""The exceptions that mlopt raises: what went wrong, where, and what to do about it.

Each prints in at most `MAX_LINES` lines. One that concerns a compilation may carry a
*reproducer*: a file with the IR, and the one command that repeats the failure from it.
"""

from __future__ import annotations

import functools
from typing import Any

MAX_LINES = 15
MAX_COLUMNS = 400


class MloptError(Exception):
    """The base of everything that mlopt raises on purpose.

    ``what`` is one sentence; ``where`` a source line, a pass or a file; ``details`` further
    lines (ops, a diagnostic, what a worker printed last), cut when there are too many;
    ``remedy`` what the user can do; ``reproducer`` a path and ``command`` how to repeat it.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        details: str = "",
        remedy: str = "",
        reproducer: str = "",
        command: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.details = details
        self.remedy = remedy
        self.reproducer = reproducer
        self.command = command

    def __str__(self) -> str:
        head = self.what.splitlines() or [type(self).__name__]
        tail = [
            f"  {label}: {_one_line(text)}"
            for label, text in (
                ("where", self.where),
                ("remedy", self.remedy),
                ("reproducer", self.reproducer),
                ("repeat it with", self.command),
            )
            if text
        ]
        head = _cut(head, max(1, MAX_LINES - len(tail)))
        middle = _cut(["  " + line for line in self.details.splitlines()], MAX_LINES - len(tail) - len(head))
        return "\n".join([line[:MAX_COLUMNS] for line in head + middle] + tail)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.what, dict(self.__dict__)))


class VersionError(MloptError, ImportError):
    """Two installed packages do not go together."""


class CompileError(MloptError):
    """A module could not be compiled."""


class PassBugError(CompileError):
    """A user's own pass raised an exception that is not a refusal."""


class UnsupportedOpError(CompileError):
    """The module uses ops, dtypes or features that mlopt cannot compile (yet)."""


class InputError(MloptError, ValueError):
    """A compiled function was called with what it was not compiled for."""


class DeviceError(MloptError, RuntimeError):
    """A GPU program cannot run: no driver, the wrong device, a launch that is refused or fails."""


class VerifyError(MloptError):
    """Compiled code gave other results than eager."""


class CompileTimeout(CompileError):  # noqa: N818
    """A compilation, or a tool for machine code, was stopped at its time limit."""


class WorkerDied(CompileError):  # noqa: N818
    """The process that compiled died (an assertion, a crash, or somebody killed it)."""


class WorkerOutOfMemory(WorkerDied):
    """The process that compiled ran out of memory."""


def user_line(error: BaseException | None) -> str:
    """The innermost line of an exception's traceback that is the user's own, as ``file:line``."""
    import traceback

    if error is None:
        return ""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_others())
        and not frame.f_globals.get("__name__", "").startswith(f"{__package__}.")
    ]
    return frames[-1] if frames else ""


@functools.cache
def _others() -> tuple[str, ...]:
    """What the file names of code begin with that is not the user's."""
    import sysconfig

    return ("<", *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))


def _one_line(text: str) -> str:
    """Paths and commands must stay whole; only the line ends go."""
    return " ".join(text.splitlines())


def _cut(lines: list[str], limit: int) -> list[str]:
    """At most ``limit`` lines, saying how many were left out."""
    if len(lines) <= limit:
        return lines
    if limit <= 0:
        return []
    return [*lines[: limit - 1], f"  … {len(lines) - limit + 1} more lines"]


def _rebuild(cls: type[MloptError], what: str, state: dict[str, Any]) -> MloptError:
    """Unpickle: exceptions cross from the workers to the user's process."""
    error = cls(what)
    error.__dict__.update(state)
    return error
