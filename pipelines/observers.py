"""What can watch a pipeline run: printing to a stream or a folder, and timing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from mlir import ir

from .driver import PassEvent


@dataclass(frozen=True)
class PrintFormat:
    """How IR is printed: upstream's generic form, locations, and long constants cut short."""

    generic: bool = False
    debug_info: bool = False
    elide_larger_than: int | None = None

    def print(self, operation: ir.Operation) -> str:
        """The text of ``operation``."""
        text: str = operation.get_asm(
            print_generic_op_form=self.generic,
            enable_debug_info=self.debug_info,
            large_elements_limit=self.elide_larger_than,
        )
        return text


@dataclass
class StreamPrinter:
    """Prints the IR after each pass, or after those passes in ``only``, or where it has changed."""

    stream: IO[str]
    style: PrintFormat = PrintFormat()
    only: Collection[str] | None = None
    module_scope: bool = False
    changes_only: bool = False
    _last: dict[str, str] = field(default_factory=dict)

    def __call__(self, event: PassEvent) -> None:
        if self.only is not None and _pass_name(event) not in self.only:
            return
        operation = _outermost(event.operation) if self.module_scope else event.operation
        text = self.style.print(operation)
        if self.changes_only and self._last.get(_label(operation)) == text:
            return
        self._last[_label(operation)] = text
        where = "" if operation.name == "builtin.module" else f" ({_label(operation)})"
        print(f"// -----// IR Dump After {event.pass_text}{where} //----- //\n{text}\n", file=self.stream)


@dataclass
class FolderPrinter:
    """Writes the IR after each pass to a numbered file of ``folder``: ``003_canonicalize.mlir``."""

    folder: Path
    style: PrintFormat = PrintFormat()
    _count: int = 0

    def __call__(self, event: PassEvent) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        where = (
            "" if event.operation.name == "builtin.module" else f".{_label(event.operation).split('@')[-1]}"
        )
        file = self.folder / f"{self._count:03}_{_pass_name(event)}{where}.mlir"
        file.write_text(
            f"// after {event.pass_text}\n{self.style.print(event.operation)}\n", encoding="utf-8"
        )
        self._count += 1


@dataclass
class Timing:
    """Adds up the time of each pass over all operations it runs on."""

    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, event: PassEvent) -> None:
        self.seconds[event.pass_text] = self.seconds.get(event.pass_text, 0.0) + event.seconds

    def table(self) -> str:
        """The report: seconds and share of each pass, in order of the pipeline."""
        total = sum(self.seconds.values())
        rows = [*self.seconds.items(), ("Total", total)]
        lines = [f"  {spent:8.4f} ({spent / (total or 1):6.1%})  {name}" for name, spent in rows]
        return "\n".join(
            ["===-- Pass execution timing report --===", "  ----Wall Time----  ----Name----", *lines]
        )


def _pass_name(event: PassEvent) -> str:
    return event.pass_text.split("{", 1)[0]


def _label(operation: ir.Operation) -> str:
    if "sym_name" not in operation.attributes:
        return str(operation.name)
    return f"{operation.name} @{ir.StringAttr(operation.attributes['sym_name']).value}"


def _outermost(operation: ir.Operation) -> ir.Operation:
    while operation.parent is not None:
        operation = operation.parent
    return operation
