"""A command line with something of ours in it: registers what it names, then lets MLIR's driver run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import command_line, mlir_main
from .command_line import Flag

# Python runs one pass at a time anyway, and only outside of threads can a pass load dialects.
_SINGLE_THREADED = "--mlir-disable-threading"
_REPLACED = ("mlir-disable-threading",)
_PICKING = ("mlir-print-ir-after", "mlir-print-ir-before")


def drive(program: str, arguments: Sequence[str], dialect_file: str) -> int:
    """Run ``arguments`` through MLIR's driver in this process; returns the exit status."""
    mlir_main.load()
    from ...passes.registry import UnknownPassError, is_ours, load_plugin, pass_names
    from .python_passes import PythonPasses

    words = command_line.rewrite(arguments, dialect_file)
    flags = list(command_line.read_flags(words))
    for flag in flags:
        if command_line.is_plugin(flag):
            load_plugin(str(flag.value))
    flags = [
        flag for flag in flags if not command_line.is_plugin(flag) and flag.name != "mlir-disable-threading"
    ]
    named = command_line.names_in(flags, command_line.reproducer_text(flags))
    passes = PythonPasses(_picked(flags), _verifies(flags))
    everything = any(flag.name in command_line.OWN_FLAGS for flag in flags)
    try:
        passes.register(pass_names() if everything else filter(is_ours, named))
    except UnknownPassError as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return 1
    if passes.of_package and not any(flag.name == "irdl-file" for flag in flags):
        flags.append(Flag("irdl-file", dialect_file, (f"--irdl-file={dialect_file}",)))  # they write its ops
    sys.stdout.flush()
    done = mlir_main.run([program, *(word for flag in flags for word in flag.words), _SINGLE_THREADED])
    if passes.failures and not any(flag.name == "verify-diagnostics" for flag in flags):
        print(f"{program}: {passes.failures[0]}", file=sys.stderr)
    return 0 if done else 1


def _picked(flags: Sequence[Flag]) -> frozenset[str]:
    """The passes that flags for printing pick out."""
    values = (
        flag.value or "" for flag in flags if flag.name in ("mlir-print-ir-after", "mlir-print-ir-before")
    )
    return frozenset(name for value in values for name in value.split(","))


def _verifies(flags: Sequence[Flag]) -> bool:
    return not any(flag.name == "verify-each" and flag.value in ("0", "false") for flag in flags)
