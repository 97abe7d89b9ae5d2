"""``mlopt-opt``: run a pipeline of upstream passes and ours on an .mlir file."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..pipelines.diagnostics import Diagnostic, PipelineError, captured_diagnostics
from .expected import mismatches, read_expectations

if TYPE_CHECKING:
    from mlir import ir

    from ..pipelines.driver import Observer
    from ..pipelines.observers import PrintFormat, Timing

_SEPARATOR = "// -----"


@dataclass
class _Session:
    """The options of one invocation, what observes its pipelines, and what came out."""

    arguments: argparse.Namespace
    style: PrintFormat
    observers: list[Observer]
    timing: Timing | None
    diagnostics: list[Diagnostic] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; returns its exit status (0, or 1 after an error)."""
    arguments = _parser().parse_args(argv)
    _load_mlir_without_numpy()
    try:
        return _run(arguments)
    except (OSError, ValueError, ImportError, PipelineError) as error:
        print(f"mlopt-opt: error: {error}", file=sys.stderr)
        return 1


def entry_point() -> None:
    """Run the tool and leave at once: taking the interpreter apart would cost 20 ms."""
    try:
        status = main()
    except SystemExit as exit_:  # argparse
        status = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mlopt-opt", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("input", nargs="?", default="-", help="the .mlir file, or - for standard input")
    add("-o", dest="output", default="-", metavar="FILE", help="where the result goes (- is standard output)")
    add("--pass-pipeline", metavar="TEXT", help="e.g. 'builtin.module(mlopt-raise,func.func(cse))'")
    add("--run-reproducer", action="store_true", help="run the pipeline that the file's header names")
    add(
        "--split-input-file",
        action="store_true",
        help=f"handle the parts between '{_SEPARATOR}' lines one by one",
    )
    add("--verify-diagnostics", action="store_true", help="check messages against expected-error comments")
    add("--verify-each", type=int, choices=(0, 1), default=1, help="run the verifier after each pass")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add(
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with more passes",
    )
    add("--list-passes", action="store_true", help="list mlopt's passes and stop")
    add("--dump-pass-pipeline", action="store_true", help="print the pipeline to standard error")
    add(
        "--mlir-print-ir-after-all", action="store_true", help="print the IR after each pass (standard error)"
    )
    add("--mlir-print-ir-after", metavar="PASS,…", help="print the IR after these passes")
    add("--mlir-print-ir-after-change", action="store_true", help="print only where a pass changed something")
    add("--mlir-print-ir-module-scope", action="store_true", help="print the whole module each time")
    add("--mlir-print-ir-tree-dir", metavar="FOLDER", help="write the IR after each pass to a numbered file")
    add("--mlir-print-op-generic", action="store_true", help="print operations in the generic form")
    add("--mlir-print-debuginfo", action="store_true", help="print locations")
    add(
        "--mlir-elide-elementsattrs-if-larger",
        type=int,
        metavar="N",
        help="shorten constants over N elements",
    )
    add("--mlir-timing", action="store_true", help="report the time of each pass to standard error")
    return parser


def _load_mlir_without_numpy() -> None:
    """Import MLIR's bindings; they would import numpy for builders that nobody here calls (40 ms)."""
    if "mlir.ir" in sys.modules or "numpy" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]  # makes `import numpy` an ImportError
    try:
        import mlir.ir  # noqa: F401
    finally:
        del sys.modules["numpy"]


def _run(arguments: argparse.Namespace) -> int:
    from ..passes.registry import load_plugin

    for plugin in arguments.load_pass_plugin:
        load_plugin(plugin)
    if arguments.list_passes:
        _list_passes()
        return 0
    text = sys.stdin.read() if arguments.input == "-" else Path(arguments.input).read_text(encoding="utf-8")
    if arguments.run_reproducer:
        from ..runtime.reproducer import pipeline_of

        arguments.pass_pipeline = pipeline_of(text)
    if arguments.dump_pass_pipeline and arguments.pass_pipeline:
        from ..pipelines.text import parse_pipeline

        print(f"Pass Manager with pipeline:\n{parse_pipeline(arguments.pass_pipeline)}", file=sys.stderr)
    session = _start(arguments)
    chunks = _chunks(text) if arguments.split_input_file else [text]
    outputs = [_process(chunk, session) for chunk in chunks]
    if session.timing is not None:
        print(session.timing.table(), file=sys.stderr)
    if arguments.verify_diagnostics:
        return _compare(text, session)
    if None in outputs:
        return 1
    _write(arguments.output, f"{_SEPARATOR}\n".join(output for output in outputs if output is not None))
    return 0


def _list_passes() -> None:
    from ..passes.registry import find_pass, pass_names, summary_of

    for name in pass_names():
        print(f"{name:32} {summary_of(find_pass(name))}")


def _start(arguments: argparse.Namespace) -> _Session:
    from ..pipelines.observers import FolderPrinter, PrintFormat, StreamPrinter, Timing

    style = PrintFormat(
        generic=arguments.mlir_print_op_generic,
        debug_info=arguments.mlir_print_debuginfo,
        elide_larger_than=arguments.mlir_elide_elementsattrs_if_larger,
    )
    timing = Timing() if arguments.mlir_timing else None
    observers: list[Observer] = [timing] if timing is not None else []
    only = arguments.mlir_print_ir_after.split(",") if arguments.mlir_print_ir_after else None
    if arguments.mlir_print_ir_after_all or arguments.mlir_print_ir_after_change or only:
        module_scope, changes_only = (
            arguments.mlir_print_ir_module_scope,
            arguments.mlir_print_ir_after_change,
        )
        observers.append(StreamPrinter(sys.stderr, style, only, module_scope, changes_only))
    if arguments.mlir_print_ir_tree_dir:
        observers.append(FolderPrinter(Path(arguments.mlir_print_ir_tree_dir), style))
    return _Session(arguments, style, observers, timing)


def _process(text: str, session: _Session) -> str | None:
    """Parse ``text``, run the pipeline, print the result; None after an error."""
    from mlir import ir

    from ..dialects.context import make_context

    context = make_context()
    context.allow_unregistered_dialects = session.arguments.allow_unregistered_dialect

    def note(diagnostic: Diagnostic) -> None:
        _note(diagnostic, session)

    with context, captured_diagnostics(context, note):
        try:
            module = _parse(text, session.arguments)
            _run_passes(module.operation, session)
        except ir.MLIRError:
            return None
        return f"{session.style.print(module.operation)}\n"


def _parse(text: str, arguments: argparse.Namespace) -> ir.Module:
    from mlir import ir

    # Only the parser that reads the file itself puts its name into locations.
    if arguments.input != "-" and not arguments.split_input_file:
        return ir.Module.parseFile(arguments.input)
    return ir.Module.parse(text)


def _run_passes(operation: ir.Operation, session: _Session) -> None:
    from mlir import ir

    from ..pipelines.driver import run_pipeline

    pipeline = session.arguments.pass_pipeline
    if pipeline is None:
        return
    try:
        run_pipeline(
            operation,
            pipeline,
            observers=session.observers,
            verify_each=bool(session.arguments.verify_each),
            on_diagnostic=lambda diagnostic: _note(diagnostic, session),
        )
    except PipelineError as error:
        if not error.diagnostics:  # a pass that fails without a word, or a pipeline that cannot be built
            raise
        if not session.arguments.verify_diagnostics:
            print(f"mlopt-opt: error: {error.message}", file=sys.stderr)
        raise ir.MLIRError(error.message, []) from error


def _note(diagnostic: Diagnostic, session: _Session) -> None:
    named = _rename(diagnostic, session.arguments.input)
    session.diagnostics.append(named)
    if not session.arguments.verify_diagnostics:
        print(named, file=sys.stderr)


def _rename(diagnostic: Diagnostic, file: str) -> Diagnostic:
    notes = tuple(_rename(note, file) for note in diagnostic.notes)
    name = file if diagnostic.file == "-" else diagnostic.file
    place = (name, diagnostic.line, diagnostic.column)
    return Diagnostic(diagnostic.severity, diagnostic.message, *place, notes)


def _compare(text: str, session: _Session) -> int:
    problems = mismatches(read_expectations(text), session.diagnostics, session.arguments.input)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _chunks(text: str) -> Iterator[str]:
    """The parts of ``text``, each below blank lines for what precedes it: lines keep their numbers."""
    chunk: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        if line.startswith(_SEPARATOR):
            yield "\n" * start + "\n".join(chunk)
            chunk, start = [], number + 1
        else:
            chunk.append(line)
    yield "\n" * start + "\n".join(chunk)


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    entry_point()
