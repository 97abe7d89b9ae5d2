"""A command line with something of ours in it: registers what it names, then lets MLIR's driver run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import command_line, mlir_main
from .command_line import Flag

# Python runs one pass at a time anyway, and only outside of threads can a pass load dialects.
_SINGLE_THREADED = "--mlir-disable-threading"
_REPLACED = ("mlir-disable-threading",)
_LISTING = ("list-passes", "help", "help-hidden", "help-list", "help-list-hidden")
_SLICE = ("from", "to")
_PICKING = ("mlir-print-ir-after", "mlir-print-ir-before")


def drive(program: str, arguments: Sequence[str], dialect_file: str) -> int:
    """Run ``arguments`` through MLIR's driver in this process; returns the exit status."""
    mlir_main.load()
    from ...passes.registry import UnknownPassError, add_installed, is_ours, load_plugin, pass_names
    from .named_pipelines import PIPELINES
    from .python_passes import PythonPasses

    words = command_line.rewrite(arguments, dialect_file)
    flags = list(command_line.read_flags(words))
    for flag in flags:
        if command_line.is_plugin(flag):
            load_plugin(str(flag.value))
    flags = [
        flag for flag in flags if not command_line.is_plugin(flag) and flag.name != "mlir-disable-threading"
    ]
    add_installed(command_line.installed_passes())
    described = [flag.value or "" for flag in flags if flag.name == "describe"]
    if described:
        return _describe(program, described)
    flags = _with_stages(flags)
    named = command_line.names_in(flags, command_line.reproducer_text(flags))
    passes = PythonPasses(_picked(flags), _verifies(flags))
    everything = any(flag.name in _LISTING for flag in flags)
    try:
        passes.register([*PIPELINES, *pass_names()] if everything else filter(is_ours, named))
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


def _describe(program: str, names: Sequence[str]) -> int:
    from ...passes.registry import UnknownPassError, find_pass
    from .describe import description
    from .named_pipelines import PIPELINES

    for name in names:
        try:
            print(description(PIPELINES.get(name) or find_pass(name)))
        except UnknownPassError as error:
            print(f"{program}: error: {error}", file=sys.stderr)
            return 1
    return 0


def _with_stages(flags: Sequence[Flag]) -> list[Flag]:
    """``--mlopt-cpu --from=tile`` as ``--mlopt-cpu=from-stage=tile``; a slice alone is one of the CPU's."""
    options = " ".join(f"{flag.name}-stage={flag.value}" for flag in flags if flag.name in _SLICE)
    kept = [flag for flag in flags if flag.name not in _SLICE]
    if not options:
        return kept
    at = next((at for at, flag in enumerate(kept) if flag.name in ("mlopt-cpu", "mlopt-cuda")), None)
    whole = kept.pop(at) if at is not None else Flag("mlopt-cpu", None, ())
    value = f"{whole.value or ''} {options}".strip()
    kept.insert(len(kept) if at is None else at, Flag(whole.name, value, (f"--{whole.name}={value}",)))
    return kept


def _picked(flags: Sequence[Flag]) -> frozenset[str]:
    """The passes that flags for printing pick out."""
    values = (
        flag.value or "" for flag in flags if flag.name in ("mlir-print-ir-after", "mlir-print-ir-before")
    )
    return frozenset(name for value in values for name in value.split(","))


def _verifies(flags: Sequence[Flag]) -> bool:
    return not any(flag.name == "verify-each" and flag.value in ("0", "false") for flag in flags)
