"""From how a request ended to what the user gets: the result, or an exception that says what to do."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import (
    CompileError,
    CompileTimeout,
    MloptError,
    PassBugError,
    WorkerDied,
    WorkerOutOfMemory,
)
from . import reproducer
from .outcome import End, Outcome
from .protocol import RemoteError, loads

# What allocators print before they abort: LLVM, libstdc++, Python.
_MEMORY = re.compile(r"out of memory|bad_alloc|MemoryError|Cannot allocate memory", re.IGNORECASE)
# "python: /a/long/path/File.cpp:12: a signature of three lines: Assertion `…' failed."
_ASSERTION = re.compile(r"^.*?([^/ ]+:\d+): .*: (Assertion `.*)$")
_CRASH = re.compile(r"^Fatal Python error", re.MULTILINE)
_PRINTED_LINES = 5
_NOTED_LINES = 200


class Call:
    """A request as the user's side knows it: enough to say what failed and to write a reproducer.
    ``argument`` names the one of ``kwargs`` that holds IR; empty: there is none.
    """

    def __init__(
        self,
        role: str,
        function: str,
        argument: str,
        kwargs: Mapping[str, Any],
        timeout: float | None,
        memory: int,
    ) -> None:
        self.role = role
        self.function = function
        self.argument = argument
        self.kwargs = kwargs
        self.timeout = timeout
        self.memory = memory

    def result(self, outcome: Outcome) -> Any:
        """The result of a finished request; raises if it failed."""
        if outcome.end == End.RESULT:
            return loads(outcome.payload)
        if outcome.end == End.ERROR:
            self._raise(RemoteError(*loads(outcome.payload)), outcome)
        error = self._death(outcome)
        self._attach_reproducer(error, outcome, outcome.log)
        raise error

    def _raise(self, remote: RemoteError, outcome: Outcome) -> NoReturn:
        """The worker's own exception. If the request is a compilation, what is not on purpose (one of
        mlopt's) becomes a CompileError with a reproducer: a bug in a pass must not look like one in the
        user's code.
        """
        error: BaseException | None = None
        if remote.pickled is not None:
            # It fails for a class that this process has not loaded; its text is enough then.
            with contextlib.suppress(Exception):
                error = loads(remote.pickled)
        if not isinstance(error, Exception) or (self.argument and not isinstance(error, MloptError)):
            error = CompileError(
                _failure(self.role, remote),
                where=self._where(outcome),
                remedy=_REPORT if self.argument else "",
            )
            self._attach_reproducer(error, outcome, f"{outcome.log}\n{remote.traceback}")
        elif isinstance(error, PassBugError):
            self._attach_reproducer(error, outcome, f"{outcome.log}\n{remote.traceback}")
        if isinstance(error, MloptError):  # what the caller did wrong needs no reproducer
            raise error
        raise error from WorkerTraceback(remote.traceback)

    def _death(self, outcome: Outcome) -> MloptError:
        what = f"the {self.role} worker"
        if outcome.end == End.CANCELLED:
            return WorkerDied(f"{what}'s request was given up: {outcome.how}", remedy="Call again.")
        if outcome.end == End.NOT_STARTED:
            return WorkerDied(f"{what} could not be started: {outcome.how}", remedy=_NO_START)
        if outcome.end == End.TIMEOUT:
            return CompileTimeout(
                f"{what} was stopped at its time limit of {self.timeout:g} s",
                where=self._where(outcome),
                remedy="Allow more time (timeout=…), or compile a smaller part, or please report it.",
            )
        printed = _printed(outcome.log)
        if outcome.end == End.OUT_OF_MEMORY or _MEMORY.search(outcome.log):
            return WorkerOutOfMemory(
                f"{what} ran out of memory{_limit_text(self.memory)}",
                where=self._where(outcome),
                details=printed,
                remedy="Compile a smaller part, or where there is more memory.",
            )
        killed = "SIGKILL" in outcome.how
        return WorkerDied(
            f"{what} {outcome.how}"
            + (" (by the kernel if memory ran out, or by a person)" if killed else ""),
            where=self._where(outcome),
            details=printed,
            remedy="See if memory is short (dmesg), then call again." if killed else _REPORT,
        )

    def _where(self, outcome: Outcome) -> str:
        return f"in {outcome.progress.running or self.function}"

    def _attach_reproducer(self, error: MloptError, outcome: Outcome, printed: str) -> None:
        if not self.argument or outcome.end in (End.CANCELLED, End.NOT_STARTED):
            return
        notes = [error.what, error.where, *printed.splitlines()[-_NOTED_LINES:]]
        found = self._reproducer(outcome)
        error.reproducer, error.command = reproducer.write(found, "\n".join(filter(None, notes)))

    def _reproducer(self, outcome: Outcome) -> reproducer.Reproducer:
        ir, elements, running = outcome.progress
        if ir is not None and running:
            pipeline = f"builtin.module({','.join(elements)})"
            return reproducer.Reproducer(ir, pipeline, plugins=tuple(self.kwargs.get("plugins", ())))
        others = {name: value for name, value in self.kwargs.items() if name != self.argument}
        text = str(self.kwargs[self.argument])
        return reproducer.Reproducer(text, call=self.function, argument=self.argument, others=others)


class WorkerTraceback(Exception):  # noqa: N818
    """The cause of an exception that was raised in a worker: where it was raised there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"in the worker:\n{self.text}"


_REPORT = "This is a bug in mlopt or in what it uses: please report it."
_NO_START = "See that processes, memory and open files are not used up (ulimit -a), then call again."


def _failure(role: str, remote: RemoteError) -> str:
    """What failed; mlopt's own exceptions speak for themselves."""
    named = (
        remote.message if remote.type_name.startswith("mlopt.") else f"{remote.type_name}: {remote.message}"
    )
    return f"the {role} worker failed: {named}"


def _limit_text(memory: int) -> str:
    return f" (its limit is {memory / (1 << 30):.1f} GiB)" if memory else ""


def _printed(log: str) -> str:
    """The last lines that were printed before a crash, without Python's own report of the crash."""
    crash = _CRASH.search(log)
    lines = [line for line in log[: crash.start() if crash else None].splitlines() if line.strip()]
    return "\n".join(_ASSERTION.sub(r"\1: \2", line) for line in lines[-_PRINTED_LINES:])
