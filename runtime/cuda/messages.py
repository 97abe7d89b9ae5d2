"""What a C library prints to standard error, caught: MLIR's CUDA runtime reports errors only there."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..process import above_standard

# 'cuLaunchKernel(…)' failed with 'CUDA_ERROR_INVALID_VALUE', and what else mgpu* say.
_FAILED = re.compile(r"'(\w+)\(.*' failed with '(\w+)'")
_JIT = re.compile(r"JIT compilation failed with: \[(.*?)\]", re.DOTALL)
_SHARED = re.compile(r"Requested shared memory .*")
_lock = threading.Lock()


class Caught:
    """What was printed; ``text`` is complete when the block has ended."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def error(self) -> str:
        """The first error in it, with the driver's function; empty if there is none."""
        jit, failed, shared = (pattern.search(self.text) for pattern in (_JIT, _FAILED, _SHARED))
        if jit is not None:
            return f"the driver's compiler refuses the PTX: {jit[1].strip()}"
        if failed is not None:
            return f"{failed[2]} in {failed[1]}"
        return shared[0] if shared is not None else ""


@contextmanager
def caught_messages() -> Iterator[Caught]:
    """Catch what the process writes to standard error meanwhile; what holds no error is passed on."""
    caught = Caught()
    with _lock:
        with suppress(AttributeError, ValueError, OSError):  # none, closed, or nobody reads it any more
            sys.stderr.flush()
        kept = _standard_error()
        file = above_standard(os.memfd_create("mlopt-messages"))
        os.dup2(file, 2)
        try:
            yield caught
        finally:
            if kept is None:
                os.close(2)
            else:
                os.dup2(kept, 2)
            caught.text = _read(file).decode(errors="replace")
            os.close(file)
            if kept is not None:
                if caught.text and not caught.error:
                    with suppress(OSError):
                        os.write(kept, caught.text.encode())
                os.close(kept)


def _standard_error() -> int | None:
    """A copy of file 2, which is to be put back; None if this process has closed it."""
    try:
        return above_standard(os.dup(2))
    except OSError:
        return None


def _read(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, os.fstat(file).st_size)
