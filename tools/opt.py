"""``mlopt-opt``: mlir-opt, and passes written in Python, ours or a user's, anywhere in its pipelines.

A command that asks for nothing of ours becomes the mlir-opt of the same installation (the script
``tools/mlopt-opt`` sees to that). With a pass of ours in it, MLIR's driver runs in this process: every
flag works the same either way.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

from .opt_driver.output import flush_printed

_PROGRAM = "mlopt-opt"


def entry_point() -> None:
    """Run the tool and leave as a program in C does: taking the interpreter apart would cost 20 ms.

    MLIR says then, with exit status 1, if not all of its output could be written.
    """
    try:
        status = main(sys.argv[1:])
        flush_printed()
    except (OSError, ValueError, ImportError) as error:
        print(f"{_PROGRAM}: error: {error}", file=sys.stderr)
        status = 1
    sys.stderr.flush()
    ctypes.CDLL(None).exit(status)


def main(arguments: Sequence[str]) -> int:
    """Run MLIR's driver here, with the passes in Python that ``arguments`` name; returns the exit status.

    Once a process. A wrong flag, and ``--help``, end the process without returning.
    """
    from .opt_driver.driver import drive

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib takes 6 ms)
    return drive(_PROGRAM, arguments, os.path.join(root, "dialects", "mlopt.irdl.mlir"))  # noqa: PTH118


if __name__ == "__main__":
    entry_point()
