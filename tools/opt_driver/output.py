"""What passes print: an output that takes no more ends the process, as it ends mlir-opt."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STANDARD_OUTPUT = 1


class _Output(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:  # no bug of the pass that prints
            os.write(2, f"mlopt-opt: error: the output cannot be written: {error.strerror}\n".encode())
            os._exit(1)


def guard_printed() -> None:
    """Have a ``print`` that fails end the process, with a line that says why and exit status 1."""
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Output(_STANDARD_OUTPUT, "w", closefd=False)),
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering,
        )


def flush_printed() -> None:
    """Write out what was printed so far."""
    if sys.stdout is not None:  # it was closed from the start: `print` prints nothing
        sys.stdout.flush()
