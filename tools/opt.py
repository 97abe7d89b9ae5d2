"""``mlopt-opt``: mlir-opt, and passes written in Python, ours or a user's, anywhere in its pipelines.

A command that asks for nothing of ours becomes the mlir-opt of the same installation. With a pass of
ours in it, MLIR's driver runs in this process: every flag works the same either way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .opt_driver import command_line, mlir_main

_PROGRAM = "mlopt-opt"


def entry_point() -> None:
    """Run the tool and leave at once: taking the interpreter apart would cost 20 ms."""
    arguments = sys.argv[1:]
    installed = command_line.installed_passes()
    try:
        if not command_line.wants_ours(arguments, set(installed)):
            words = command_line.rewrite(arguments, _dialect_file())
            os.execv(mlir_main.tool_path(), [_PROGRAM, *words])
        status = main(arguments)
    except (OSError, ValueError, ImportError) as error:
        print(f"{_PROGRAM}: error: {error}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(arguments: Sequence[str]) -> int:
    """Run MLIR's driver here, with the passes in Python that ``arguments`` name; returns the exit status.

    Once a process. A wrong flag, and ``--help``, end the process without returning.
    """
    from .opt_driver.driver import drive

    return drive(_PROGRAM, arguments, _dialect_file())


def _dialect_file() -> str:
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    return os.path.join(root, "dialects", "mlopt.irdl.mlir")  # noqa: PTH118


if __name__ == "__main__":
    entry_point()
