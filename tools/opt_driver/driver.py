"""A command line with something of ours in it: registers what it names, then lets MLIR's driver run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from . import command_line, mlir_main
from .handover import LISTING, Flag, installed_passes, is_on, is_plugin, read_flags
from .output import flush_printed, guard_printed

# Python runs one pass at a time anyway, and only outside of threads can a pass load dialects.
_SINGLE_THREADED = "--mlir-disable-threading"
_WITHOUT_OPERATIONS = "--mlir-print-op-on-diagnostic=false"
_REPLACED = ("mlir-disable-threading",)
_SLICE = ("from", "to")
_PICKING = ("mlir-print-ir-after", "mlir-print-ir-before")
_REPRODUCERS = ("mlir-pass-pipeline-crash-reproducer", "mlir-generate-reproducer")


def drive(program: str, arguments: Sequence[str], dialect_file: str) -> int:
    """Run ``arguments`` through MLIR's driver in this process; returns the exit status."""
    guard_printed()
    mlir_main.load()
    from ...errors import user_line
    from ...passes.registry import (
        UnknownPassError,
        add_installed,
        is_ours,
        load_plugin,
        pass_names,
        plugins_of,
    )
    from .near_names import check_pipelines, near_flags
    from .python_passes import NAMED_PIPELINES, PythonPasses

    given = list(read_flags(arguments))
    for path in (*command_line.reproducer_plugins(given), *(flag.value for flag in given if is_plugin(flag))):
        try:
            load_plugin(path or "")
        except Exception as error:
            where = f"{user_line(error) or path}: "
            print(f"{where}error: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"{program}: the pass plug-in {path} cannot be loaded", file=sys.stderr)
            return 1
    flags = list(read_flags(command_line.rewrite(given, dialect_file)))
    add_installed(installed_passes())
    flags = [flag for flag in flags if not is_plugin(flag) and flag.name not in _REPLACED]
    valued = (flag for flag in flags if flag.name in (*_SLICE, "describe"))
    if missing := next((flag.name for flag in valued if not flag.value), ""):
        print(f"{program}: for the --{missing} option: requires a value!", file=sys.stderr)
        return 1
    described = [flag.value or "" for flag in flags if flag.name == "describe"]
    if described:
        return _describe(program, described)
    flags = _with_stages(flags)
    named = command_line.names_in(flags, command_line.reproducer_text(flags))
    checks = any(flag.name == "verify-diagnostics" for flag in flags)
    passes = PythonPasses(_picked(flags), _verifies(flags), checks)
    everything = any(flag.name in LISTING for flag in flags)
    try:
        passes.register([*NAMED_PIPELINES, *pass_names()] if everything else filter(is_ours, named))
        passes.register(near_flags(flags))
        check_pipelines(flags)
    except UnknownPassError as error:
        print(f"{program}: error: {error}", file=sys.stderr)
        return 1
    names = {flag.name for flag in flags}
    words = [word for flag in flags for word in flag.words]
    if passes.of_package and "irdl-file" not in names:  # they write its operations
        words.append(f"--irdl-file={dialect_file}")
    if named & set(NAMED_PIPELINES) and "mlir-print-op-on-diagnostic" not in names:
        words.append(_WITHOUT_OPERATIONS)  # modules of thousands of lines
    gc.enable()  # off while modules are imported
    flush_printed()
    done = mlir_main.run([program, *words, _SINGLE_THREADED])
    if passes.names:
        for flag in flags:
            if flag.name in _REPRODUCERS:
                _complete(flag.value or "", plugins_of(passes.names))
    if passes.failures and not checks:
        print(f"{program}: {passes.failures[0]}", file=sys.stderr)
    return 0 if done else 1


def _describe(program: str, names: Sequence[str]) -> int:
    from ...passes.registry import UnknownPassError, find_pass, is_ours
    from .describe import description, upstream_description
    from .named_pipelines import PIPELINES

    for name in names:
        known = "" if is_ours(name) else upstream_description(name)
        try:
            print(known or description(PIPELINES.get(name) or find_pass(name)))
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
    values = (flag.value or "" for flag in flags if flag.name in _PICKING)
    return frozenset(name for value in values for name in value.split(","))


def _verifies(flags: Sequence[Flag]) -> bool:
    given = [flag for flag in flags if flag.name == "verify-each"]
    return not given or is_on(given, "verify-each")


def _complete(reproducer: str, plugins: Sequence[str]) -> None:
    """Give a reproducer that MLIR wrote a head that names its pipeline, and the plug-ins that it needs."""
    if os.path.isfile(reproducer):  # noqa: PTH113 (pathlib takes 6 ms)
        with open(reproducer, "r+", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            text = file.read()
            if text.startswith(command_line.REPRODUCER_MARK):  # of an earlier run
                return
            file.seek(0)
            file.write(command_line.reproducer_head(text, plugins) + text)
