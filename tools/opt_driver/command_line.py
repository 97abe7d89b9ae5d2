"""What a command line asks for: the passes that it names, and itself in mlir-opt's own words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from .handover import Flag, input_data, is_on

REPRODUCER_MARK = "// mlopt-reproducer: "
PLUGINS_MARK = "// mlopt-plugins: "
_NAME = re.compile(r"(?<![\w./-])[A-Za-z_][\w.-]*")  # not in paths


def names_in(flags: Sequence[Flag], text: str = "") -> set[str]:
    """Whatever could be the name of a pass: flags, the words of pipelines, and those of ``text``."""
    names = {flag.name for flag in flags}
    listed = ("pass-pipeline", "mlir-print-ir-after", "mlir-print-ir-before")
    for value in (*(flag.value or "" for flag in flags if flag.name in listed), text):
        names.update(_NAME.findall(value))
    return names - {""}


def reproducer_text(flags: Sequence[Flag]) -> str:
    """The pipeline in the file that ``--run-reproducer`` repeats; empty without that flag."""
    return _pipeline_in(_input_text(flags)) if is_on(flags, "run-reproducer") else ""


def reproducer_plugins(flags: Sequence[Flag]) -> list[str]:
    """The plug-ins that the file which ``--run-reproducer`` repeats needs."""
    if not is_on(flags, "run-reproducer"):
        return []
    found = re.search(rf"^{PLUGINS_MARK}(.*)$", _input_text(flags), re.MULTILINE)
    return found[1].split(os.pathsep) if found else []


def reproducer_head(text: str, plugins: Sequence[str]) -> str:
    """The first lines of a reproducer, whose pipeline ``text`` holds."""
    loads = [f"{PLUGINS_MARK}{os.pathsep.join(plugins)}"] if plugins else []
    return "\n".join([f"{REPRODUCER_MARK}pipeline={_pipeline_in(text)}", *loads, ""])


def _input_text(flags: Sequence[Flag]) -> str:
    return input_data(flags).decode(errors="replace")


def _pipeline_in(text: str) -> str:
    upstream = re.search(r'\bpipeline:\s*"((?:[^"\\]|\\.)*)"', text)
    own = re.search(rf"^{REPRODUCER_MARK}pipeline=(.*)$", text, re.MULTILINE)
    return upstream[1] if upstream else own[1] if own else ""


def rewrite(flags: Sequence[Flag], dialect_file: str) -> list[str]:
    """The same command in mlir-opt's own words.

    Comments and line breaks leave pipelines; a reproducer in our form becomes its pipeline; a file
    with operations of our dialect is read with it. ValueError for a reproducer that has no pipeline.
    """
    text = _input_text(flags)
    repeats = is_on(flags, "run-reproducer") and REPRODUCER_MARK in text and "mlir_reproducer" not in text
    words: list[str] = []
    for flag in flags:
        if flag.name == "pass-pipeline" and ("//" in (flag.value or "") or "\n" in (flag.value or "")):
            words.append(f"--pass-pipeline={_plain(flag.value or '')}")
        elif flag.name == "run-reproducer" and repeats:
            if not (pipeline := _pipeline_in(text)):
                raise ValueError("this reproducer repeats a call: python -P -m mlopt.runtime.reproducer FILE")
            words.append(f"--pass-pipeline={pipeline}")
        else:
            words.extend(flag.words)
    if re.search(r"(?<![\w.#\"])\"?mlopt\.\w+\"?\s*\(|!mlopt\.|#mlopt\.", text) and not any(
        flag.name == "irdl-file" for flag in flags
    ):
        words.append(f"--irdl-file={dialect_file}")
    return words


def _plain(pipeline: str) -> str:
    from ...pipelines.text import parse_pipeline

    return str(parse_pipeline(pipeline))
