"""``--verify-diagnostics``: the messages that a file announces are those that come.

``// expected-error@+1 {{text}}`` expects an error on the next line whose message contains
``text``; also ``expected-warning``, ``-remark`` and ``-note``, ``@above``, ``@below``,
``@unknown`` for a message without a place, and ``expected-error-re`` where parts between
double braces inside the text are regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..pipelines.diagnostics import Diagnostic

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?"
    r"\s*(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}(?=\s*(?://|$|expected-))"
)


@dataclass(frozen=True)
class Expectation:
    """One announced message; line 0 stands for a message without a place."""

    severity: str
    pattern: re.Pattern[str]
    line: int
    written_at: int
    text: str

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether ``diagnostic`` is the announced message."""
        same_place = self.line == diagnostic.line and self.severity == diagnostic.severity
        return same_place and self.pattern.search(diagnostic.message) is not None


def read_expectations(text: str) -> list[Expectation]:
    """All announcements in ``text``; lines are counted from 1."""
    expectations: list[Expectation] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        for match in _EXPECTED.finditer(line):
            pattern = _pattern(match["text"], is_regex=bool(match["regex"]))
            place = _line(match["where"], number, lines)
            expectations.append(Expectation(match["severity"], pattern, place, number, match["text"]))
    return expectations


def mismatches(
    expectations: Iterable[Expectation], diagnostics: Iterable[Diagnostic], file: str
) -> list[str]:
    """What was announced and did not come, and what came unannounced."""
    missing = list(expectations)
    problems: list[str] = []
    for diagnostic in _flat(diagnostics):
        found = next((expected for expected in missing if expected.matches(diagnostic)), None)
        if found is not None:
            missing.remove(found)
        elif diagnostic.severity != "note":
            problems.append(f"{diagnostic.place}: unexpected {diagnostic.severity}: {diagnostic.message}")
    problems.extend(
        f'{file}:{expected.written_at}: expected {expected.severity} "{expected.text}" did not come'
        for expected in missing
    )
    return problems


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _line(where: str | None, number: int, lines: list[str]) -> int:
    """The line meant; ``@above`` and ``@below`` step over lines that hold only announcements."""
    if where is None:
        return number
    if where == "unknown":
        return 0
    if where not in ("above", "below"):
        return number + int(where)
    step = 1 if where == "below" else -1
    line = number + step
    while 1 <= line <= len(lines) and _EXPECTED.search(lines[line - 1]):
        line += step
    return line


def _pattern(text: str, *, is_regex: bool) -> re.Pattern[str]:
    if not is_regex:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(part if odd % 2 else re.escape(part) for odd, part in enumerate(parts)))
