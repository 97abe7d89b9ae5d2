"""The tables of docs/emulator.md, made from the code: what is found, which instructions are run.

python -m mlopt.runtime.emulator.coverage docs/emulator.md
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from . import families, findings, registry, sections
from .registry import Entry

BEGIN, END = "<!-- made by mlopt.runtime.emulator.coverage -->", "<!-- end -->"


def table() -> str:
    """A line for each group of instructions that one function decodes, by section of the ISA."""
    groups: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
    for entry in registry.ENTRIES.values():
        others = [sections.TITLES[number] for number in re.findall(r"9\.7\.\d+", entry.section)[1:]]
        for section in (entry.section.split(":")[0], *others):
            groups[section, entry.family, entry.summary].append(entry)
    lines = ["| PTX ISA | instructions | what | family |", "|---|---|---|---|"]
    for (section, family, summary), entries in sorted(groups.items(), key=_order):
        names = ", ".join(f"`{entry.opcode}`" for entry in entries)
        lines.append(f"| {section} | {names} | {_escaped(summary)} | `{family}` |")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _order(item: tuple[tuple[str, str, str], list[Entry]]) -> tuple[list[int], str]:
    section = item[0][0].split()[0]
    return [int(part) for part in section.split(".")], item[1][0].opcode


def kinds() -> str:
    """A line for each kind of finding."""
    lines = ["| finding | what |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{kind}` | {text} |" for kind, text in findings.KINDS.items())])


def filled(text: str) -> str:
    """A document with the parts between the marks made anew: the findings, then the instructions."""
    assert families
    out, rest = "", text
    for part in _parts():
        before, mark, rest = rest.partition(BEGIN)
        _, end, rest = rest.partition(END)
        out += f"{before}{mark}\n{part}\n{end}"
    return out + rest


def _parts() -> Iterator[str]:
    yield kinds()
    yield table()


def main(path: Path) -> None:
    """Make the tables of the document at ``path`` anew."""
    path.write_text(filled(path.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
