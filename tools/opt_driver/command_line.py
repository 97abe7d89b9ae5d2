"""What a command line asks for, decided in a millisecond: no MLIR, and of the library little, is imported.

A command that names nothing of ours is for the mlir-opt that ships with the bindings. Ours are the
passes called ``mlopt-…``, those of plug-ins (``--load-pass-plugin FILE.py``, the variable
``MLOPT_PASS_PLUGINS``, the entry-point group ``mlopt.passes``), help, and stages by name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

PREFIX = "mlopt-"
PLUGINS_VARIABLE = "MLOPT_PASS_PLUGINS"
ENTRY_POINT_GROUP = "mlopt.passes"
OWN_FLAGS = ("describe", "from", "to", "list-passes", "help", "help-hidden", "help-list", "help-list-hidden")
# The flags that take a value which may be the next word.
TAKES_VALUE = (
    "o", "pass-pipeline", "load-pass-plugin", "load-dialect-plugin", "irdl-file", "describe", "from", "to",
    "mlir-pass-pipeline-crash-reproducer", "mlir-print-ir-tree-dir", "mlir-print-ir-after",
    "mlir-print-ir-before", "mlir-elide-elementsattrs-if-larger", "split-input-file-marker",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
REPRODUCER_MARK = "// mlopt-reproducer: "


class Flag:
    """One flag of a command line: its name without dashes, its value or None, and the words it is."""

    def __init__(self, name: str, value: str | None, words: tuple[str, ...]) -> None:
        self.name, self.value, self.words = name, value, words


def read_flags(arguments: Sequence[str]) -> Iterator[Flag]:
    """The flags in order; a word that is none (the input file) comes with an empty name."""
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
        elif name in TAKES_VALUE and position < len(arguments):
            yield Flag(name, arguments[position], (word, arguments[position]))
            position += 1
        else:
            yield Flag(name, None, (word,))


def names_in(flags: Sequence[Flag], text: str = "") -> set[str]:
    """Whatever could be the name of a pass: flags, the words of pipelines, and those of ``text``."""
    names = {flag.name for flag in flags}
    listed = ("pass-pipeline", "mlir-print-ir-after", "mlir-print-ir-before")
    for value in (*(flag.value or "" for flag in flags if flag.name in listed), text):
        names.update(_NAME.findall(value))
    return names - {""}


def wants_ours(arguments: Sequence[str], installed: set[str]) -> bool:
    """Whether the command needs what mlir-opt does not have; ``installed`` are passes of other packages."""
    flags = list(read_flags(arguments))
    if os.environ.get(PLUGINS_VARIABLE) or any(flag.name in OWN_FLAGS for flag in flags):
        return True
    if any(is_plugin(flag) for flag in flags):
        return True
    names = names_in(flags, reproducer_text(flags))
    return any(name.startswith(PREFIX) for name in names) or not names.isdisjoint(installed)


def is_plugin(flag: Flag) -> bool:
    """Whether the flag loads passes written in Python (mlir-opt's own plug-ins are shared libraries)."""
    return flag.name == "load-pass-plugin" and (flag.value or "").endswith(".py")


def input_text(flags: Sequence[Flag]) -> str:
    """What the input file holds; empty for standard input, and for a file that cannot be read."""
    path = next((flag.value for flag in flags if not flag.name and flag.value), "-")
    if path == "-":
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 (pathlib takes 6 ms)
            return file.read()
    except OSError:
        return ""


def reproducer_text(flags: Sequence[Flag]) -> str:
    """The pipeline in the file that ``--run-reproducer`` repeats; empty without that flag."""
    if not any(flag.name == "run-reproducer" for flag in flags):
        return ""
    text = input_text(flags)
    own = re.search(rf"^{REPRODUCER_MARK}pipeline=(.*)$", text, re.MULTILINE)
    upstream = re.search(r'\bpipeline:\s*"((?:[^"\\]|\\.)*)"', text)
    return own[1] if own else upstream[1] if upstream else ""


def rewrite(arguments: Sequence[str], dialect_file: str) -> list[str]:
    """The same command in mlir-opt's own words.

    Comments and line breaks leave pipelines; a reproducer in our form becomes its pipeline; a file
    with operations of our dialect is read with it.
    """
    flags = list(read_flags(arguments))
    text = input_text(flags)
    words: list[str] = []
    for flag in flags:
        if flag.name == "pass-pipeline" and ("//" in (flag.value or "") or "\n" in (flag.value or "")):
            words.append(f"--pass-pipeline={_plain(flag.value or '')}")
        elif flag.name == "run-reproducer" and REPRODUCER_MARK in text:
            words.append(f"--pass-pipeline={reproducer_text(flags)}")
        else:
            words.extend(flag.words)
    if re.search(r"(?<![\w.#\"])\"?mlopt\.\w+\"?\s*\(|!mlopt\.|#mlopt\.", text) and not any(
        flag.name == "irdl-file" for flag in flags
    ):
        words.append(f"--irdl-file={dialect_file}")
    return words


def installed_passes() -> dict[str, str]:
    """The passes of other packages: name to ``module:class``, as their entry points say.

    Reads the entry_points.txt files itself: importlib.metadata takes twenty milliseconds.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = sorted(os.listdir(folder or "."))  # noqa: PTH208 (pathlib takes 6 ms)
        except OSError:
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                for name, place in _entry_points(f"{folder or '.'}/{entry}/entry_points.txt"):
                    found.setdefault(name, place)
    return found


def _entry_points(path: str) -> Iterator[tuple[str, str]]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return
    if f"[{ENTRY_POINT_GROUP}]" not in text:
        return
    section = text.split(f"[{ENTRY_POINT_GROUP}]", 1)[1].split("\n[", 1)[0]
    for line in section.splitlines():
        name, equals, place = line.partition("=")
        if equals:
            yield name.strip(), place.strip()


def _plain(pipeline: str) -> str:
    from ...pipelines.text import parse_pipeline

    return str(parse_pipeline(pipeline))
