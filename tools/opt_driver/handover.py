"""Whether a command is for the mlir-opt that ships with the bindings, decided in two milliseconds.

The script ``mlopt-opt`` asks before anything else is imported, mlopt itself too: so this imports
nothing but ``os`` and ``sys``. In doubt the answer is no, and MLIR's driver runs in this process, to the
same effect. Ours are the passes called ``mlopt-…``, those of plug-ins (``--load-pass-plugin FILE.py``,
the variable ``MLOPT_PASS_PLUGINS``, the entry-point group ``mlopt.passes``), help, and stages by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"
ENTRY_POINT_GROUP = "mlopt.passes"
LISTING = ("list-passes", "help", "help-hidden", "help-list", "help-list-hidden")
_OWN_FLAGS = ("describe", "from", "to", *LISTING)
_NAMES_PASSES = ("pass-pipeline", "load-pass-plugin", "mlir-print-ir-after", "mlir-print-ir-before")
_WITHOUT_INPUT = ("describe", "show-dialects", "version", *LISTING)
# The flags that take a value which may be the next word.
_TAKES_VALUE = (
    *_NAMES_PASSES, "o", "load-dialect-plugin", "irdl-file", "describe", "from", "to",
    "mlir-pass-pipeline-crash-reproducer", "mlir-print-ir-tree-dir", "split-input-file-marker",
    "mlir-elide-elementsattrs-if-larger",
)  # fmt: skip

_folders: dict[str, dict[str, str]] = {}  # what was found in folders of the path


class Flag:
    """One flag of a command line: its name without dashes, its value or None, and the words it is."""

    def __init__(self, name: str, value: str | None, words: tuple[str, ...]) -> None:
        self.name, self.value, self.words = name, value, words


def read_flags(arguments: Sequence[str]) -> Iterator[Flag]:
    """The flags in order; a word that is none (the input file) comes with an empty name."""
    arguments = list(_expanded(arguments))
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if not word.startswith("-") or word == "-":
            yield Flag("", word, (word,))
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if equals:
            yield Flag(name, value, (word,))
        elif name in _TAKES_VALUE and position < len(arguments):
            yield Flag(name, arguments[position], (word, arguments[position]))
            position += 1
        else:
            yield Flag(name, None, (word,))


def _expanded(arguments: Sequence[str]) -> Iterator[str]:
    """``arguments`` with what response files (``@FILE``) hold in their places."""
    for word in arguments:
        if word.startswith("@") and os.path.isfile(word[1:]):  # noqa: PTH113 (pathlib takes 6 ms)
            import shlex

            with open(word[1:], encoding="utf-8") as file:  # noqa: PTH123
                yield from _expanded(shlex.split(file.read()))
        else:
            yield word


def mlir_opt_alone(arguments: Sequence[str]) -> str:
    """The path of the mlir-opt that can run ``arguments``; empty if they need more than it has."""
    if os.environ.get(PLUGINS_VARIABLE):
        return ""
    ours = ("mlopt-", *installed_passes())
    flags = list(read_flags(arguments))
    for flag in flags:
        value = flag.value or ""
        if flag.name in _OWN_FLAGS or flag.name == "run-reproducer" or is_plugin(flag):
            return ""
        texts = (flag.name, value if flag.name in _NAMES_PASSES else "")
        if any(name in text for name in ours for text in texts):
            return ""
        if flag.name == "pass-pipeline" and ("//" in value or "\n" in value):  # mlir-opt has no comments
            return ""
    # It may hold operations of our dialect, which mlir-opt learns from a file only.
    return "" if b"mlopt" in input_data(flags) else tool_path()


def is_on(flags: Sequence[Flag], name: str) -> bool:
    """Whether the flag ``name`` is there, and is not said to be false."""
    return any(flag.name == name and (flag.value or "").lower() not in ("0", "false") for flag in flags)


def is_plugin(flag: Flag) -> bool:
    """Whether the flag loads passes written in Python (mlir-opt's own plug-ins are shared libraries)."""
    return flag.name == "load-pass-plugin" and (flag.value or "").endswith(".py")


def tool_path() -> str:
    """The mlir-opt that ships with the bindings; empty if it is not there."""
    for folder in sys.path:
        path = f"{folder}/mlir/bin/mlir-opt"
        if os.access(path, os.X_OK):
            return path
    return ""


def installed_passes() -> dict[str, str]:
    """The passes of other packages: name to ``module:class``, as their entry points say.

    Reads the entry_points.txt files itself: importlib.metadata takes twenty milliseconds.
    """
    for folder in sys.path:
        if folder not in _folders:
            _folders[folder] = dict(_passes_below(folder or "."))
    found: dict[str, str] = {}
    for folder in reversed(sys.path):  # the first on the path wins
        found.update(_folders[folder])
    return found


def _passes_below(folder: str) -> Iterator[tuple[str, str]]:
    try:
        entries = os.listdir(folder)  # noqa: PTH208 (pathlib takes 6 ms)
    except OSError:
        return
    for entry in sorted(entries, reverse=True):
        if entry.endswith((".dist-info", ".egg-info")):
            yield from _entry_points(f"{folder}/{entry}/entry_points.txt")


def _entry_points(path: str) -> Iterator[tuple[str, str]]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError:
        return
    text = data.decode() if ENTRY_POINT_GROUP.encode() in data else ""
    if f"[{ENTRY_POINT_GROUP}]" not in text:
        return
    section = text.split(f"[{ENTRY_POINT_GROUP}]", 1)[1].split("\n[", 1)[0]
    for line in section.splitlines():
        name, equals, place = line.partition("=")
        if equals:
            yield name.strip(), place.strip()


def input_data(flags: Sequence[Flag]) -> bytes:
    """What the input holds, a file or standard input; empty if it is not read, or cannot be read twice."""
    words = [flag.value or "" for flag in flags if not flag.name]
    try:
        for path in filter(os.path.isfile, words):  # others are values of flags
            with open(path, "rb") as file:  # noqa: PTH123
                return file.read()
        if (words and "-" not in words) or any(flag.name in _WITHOUT_INPUT for flag in flags):
            return b""
        return b"" if os.isatty(0) else _standard_input()
    except OSError:  # mlir-opt says what is wrong
        return b""


def _standard_input() -> bytes:
    """All of standard input, which MLIR then reads from its start again."""
    data = b"".join(iter(lambda: os.read(0, 1 << 20), b""))
    copy = os.memfd_create("input")
    with os.fdopen(copy, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(copy, 0, os.SEEK_SET)
    os.dup2(copy, 0)
    os.close(copy)
    return data
