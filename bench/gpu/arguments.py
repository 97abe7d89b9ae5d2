"""Commands that make a table of operations: which, for what chip, if it is kept, what is not as known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .gates import missing


def parse_arguments(
    parser: argparse.ArgumentParser, arguments: Sequence[str], results: Path, chip: str = "sm_80"
) -> argparse.Namespace:
    """``only``, ``chip`` and ``save``, beside what ``parser`` has; it ends if they cannot be met."""
    parser.add_argument(
        "only", nargs="*", metavar="PART", help="operations whose names have it; default: all"
    )
    parser.add_argument("--chip", default=chip, help=f"default: {chip}")
    parser.add_argument("--save", action="store_true", help=f"write {results.name}; only with all operations")
    options = parser.parse_args(arguments)
    if options.save and options.only:
        parser.error("--save writes the whole table: name no operations")
    lacks = missing(options.chip)
    if lacks is not None:
        parser.error(f"this needs {lacks}")
    return options


def finish(text: str, kept: Path | None, wrong: Sequence[str]) -> int:
    """Print a table, keep it in ``kept``, and say what is ``wrong``; the command's status."""
    print(text)
    if kept is not None:
        kept.write_text(text + "\n", encoding="utf-8")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return int(bool(wrong))
