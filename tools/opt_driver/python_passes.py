"""Puts passes written in Python into MLIR's registry, and runs them when MLIR's pass manager says so."""

from __future__ import annotations

import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mlir import ir

from ...dialects.context import LOADED_DIALECTS
from ...passes.base import Pass, PassError
from ...passes.options import OptionError, format_pass, parse_options
from ...passes.registry import find_pass, is_ours, summary_of
from ...pipelines import capi
from ...pipelines.diagnostics import Diagnostic, captured_diagnostics
from . import mlir_main
from .named_pipelines import PIPELINES, NamedPipeline

_ANY = ("any", "")
_KEPT_ERRORS = 3
_PACKAGE = Pass.__module__.removesuffix("base")
_KEPT_FRAMES = 5


@dataclass
class PythonPasses:
    """The Python passes of one run of the driver.

    ``plain_names`` are passes that a flag for printing picks out by name: their options do not show
    in what MLIR prints, since it looks a pass up by all that it calls itself.
    """

    plain_names: frozenset[str] = frozenset()
    verify_each: bool = True
    failures: list[str] = field(default_factory=list)
    of_package: bool = False  # whether passes of mlopt itself are among them
    _broken: bool = False
    _registered: set[str] = field(default_factory=set)
    _kept: list[object] = field(default_factory=list)
    _contexts: list[ir.Context] = field(default_factory=list)

    def register(self, names: Iterable[str]) -> None:
        """Register the passes called ``names``; `UnknownPassError` if one is nobody's."""
        for name in sorted(set(names) - self._registered):
            self._registered.add(name)
            if name in PIPELINES:
                self._register_pipeline(PIPELINES[name])
                continue
            cls = find_pass(name)
            self.of_package |= cls.__module__.startswith(_PACKAGE)
            self._register(cls)

    def _register_pipeline(self, cls: type[NamedPipeline]) -> None:
        self.of_package = True

        def build(manager: int, options: str) -> str | None:
            try:
                pipeline = parse_options(cls, options)
                text = pipeline.elements() if isinstance(pipeline, NamedPipeline) else ""
            except (ValueError, LookupError) as error:
                return f"{cls.name}: {error}"
            self.register(name for name in re.findall(r"[\w.-]+", text) if is_ours(name))
            return capi.add_text(manager, text)

        mlir_main.register(cls.name, lambda: self._external(cls, cls.name, _do_nothing), build)

    def _register(self, cls: type[Pass]) -> None:
        def allocate() -> int:
            return self._external(cls, cls.name, _do_nothing)

        def build(manager: int, options: str) -> str | None:
            anchor, nests = mlir_main.anchor_of(manager)
            try:
                instance = parse_options(cls, options)
            except OptionError as error:
                return str(error)
            if cls.op_name not in (anchor, *_ANY) and anchor != "any" and not nests:
                wanted = f"{cls.op_name}({format_pass(instance)})"
                return f"'{cls.name}' runs on '{cls.op_name}', not on '{anchor}'; write {wanted}"
            text = cls.name if cls.name in self.plain_names else format_pass(instance)
            capi.add_pass(manager, self._external(cls, text, instance.run))
            return None

        mlir_main.register(cls.name, allocate, build)

    def _external(self, cls: type[Pass], text: str, action: Callable[[ir.Operation], None]) -> int:
        def run(address: int, fail: Callable[[], None]) -> None:
            if not self._run(cls, address, action):
                fail()

        op_name = "" if cls.op_name in _ANY else cls.op_name
        external, kept = capi.external_pass(cls.__name__, text, op_name, run, summary_of(cls))
        self._kept.append(kept)
        return external

    def _run(self, cls: type[Pass], address: int, action: Callable[[ir.Operation], None]) -> bool:
        """Run a pass on the operation at ``address``; False after an error. Lets no exception out."""
        if self._broken:  # MLIR goes on with the next function after a failure; not after a bug
            return False
        name = cls.name
        try:
            operation = capi.operation_at(address)
            context = operation.context
            with context, mlir_main.outside_threads(capi.context_address(context)):
                self._prepare(context, LOADED_DIALECTS if cls.dialects is None else cls.dialects)
                action(operation)
                return not self.verify_each or self._verify(name, operation, address)
        except PassError as error:
            error.location.emit_error(error.message)
            self.failures.append(f"pass {name} failed")
        except BaseException as error:
            error.add_note(f"in pass {name}")
            traceback.print_exception(error, limit=-_KEPT_FRAMES)
            self._broken = True
            self.failures.append(f"pass {name} raised {type(error).__name__}")
        finally:
            sys.stdout.flush()
        return False

    def _prepare(self, context: ir.Context, dialects: Iterable[str]) -> None:
        """Load what the pass writes: creating an operation of a dialect that is not loaded aborts."""
        if not any(context is each for each in self._contexts):
            self._contexts.append(context)  # the driver owns it; the last reference here would destroy it
        for name in dialects:
            context.get_dialect_descriptor(name)

    def _verify(self, name: str, operation: ir.Operation, address: int) -> bool:
        """Verify what the pass left behind: short messages here, all of the IR in a file."""
        found: list[Diagnostic] = []
        with captured_diagnostics(operation.context, found.append):
            valid = capi.verify_operation(address)
        if valid:
            return True
        for diagnostic in found[:_KEPT_ERRORS]:
            place = (diagnostic.file, diagnostic.line, diagnostic.column)
            location = ir.Location.file(*place) if diagnostic.line else ir.Location.unknown()
            location.emit_error(diagnostic.message)
        self.failures.append(f"invalid IR after pass {name}{_saved(operation)}")
        return False


def _do_nothing(_: ir.Operation) -> None:
    """What the passes do that are made for listings."""


def _saved(operation: ir.Operation) -> str:
    """Where the invalid IR was written to, as a message goes on; empty if nothing can be written."""
    from ...runtime.reproducer import private_folder

    try:
        path = private_folder() / f"invalid-{time.time_ns()}.mlir"
        path.write_text(
            operation.get_asm(assume_verified=False, print_generic_op_form=True), encoding="utf-8"
        )
    except OSError:
        return ""
    return f"; all of it is in {path}"
