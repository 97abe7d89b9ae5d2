"""Runs a pipeline of upstream passes and ours on a module.

One tree of MLIR pass managers holds everything. After each pass a callback of ours runs on
the same operation: it tells the observers, and verifies the IR, so that it knows which pass an
error belongs to. Of upstream passes one after the other the last one is asked for all: a kernel's
thousands of scalars take as long to verify as most passes take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mlir import ir

from ..passes.base import Pass, PassError
from ..passes.locations import source_of
from ..passes.options import OptionError, parse_options
from ..passes.registry import UnknownPassError, did_you_mean, find_pass, is_ours, pass_names
from ..passes.remembered import forget_attributes
from ..runtime import progress
from ..runtime.ir_text import printed
from .capi import PassTree, operation_at, verify_operation
from .diagnostics import Diagnostic, PipelineError, captured_diagnostics, note_pass
from .text import NestNode, PassNode, parse_pipeline
from .upstream import upstream_pass_names
from .whereabouts import Whereabouts


@dataclass(frozen=True)
class PassEvent:
    """A pass that has just run: its text, how long it took, and the operation it ran on."""

    pass_text: str
    seconds: float
    operation: ir.Operation


Observer = Callable[[PassEvent], None]


def run_pipeline(
    operation: ir.Operation,
    pipeline: str | NestNode,
    *,
    observers: Sequence[Observer] = (),
    verify_each: bool = True,
    on_diagnostic: Callable[[Diagnostic], None] | None = None,
) -> None:
    """Run ``pipeline`` on ``operation`` (a module's, in general) in place.

    Raises `PipelineError` if a pass fails or leaves invalid IR, and whatever else an own pass
    or an observer raises. ``on_diagnostic`` gets each diagnostic as it comes, remarks and
    warnings too; errors are also in the exception.
    """
    root = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    context = operation.context
    context.enable_multithreading(False)
    run = _Run(PassTree(root.op_name, context), tuple(observers), verify_each)
    run.add(root.elements, run.tree.root, root.op_name, following="")
    try:
        _execute(run, operation, on_diagnostic)
    finally:
        forget_attributes()


def _execute(run: _Run, operation: ir.Operation, on_diagnostic: Callable[[Diagnostic], None] | None) -> None:
    errors: list[Diagnostic] = []

    def note(diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "error":
            errors.append(diagnostic)
            run.where.report_error()
        if on_diagnostic is not None:
            on_diagnostic(diagnostic)

    try:
        with operation.context, captured_diagnostics(operation.context, note):
            run.last = time.perf_counter()
            run.tree.manager.run(operation)
    except ir.MLIRError as error:
        culprit = run.where.culprit
        if run.exception is not None and not isinstance(run.exception, PassError):
            note_pass(run.exception, culprit, run.place)
            raise run.exception from None
        what = f"invalid IR after pass {culprit}" if run.invalid else f"pass {culprit} failed"
        raise PipelineError(what if culprit else error.message, culprit, tuple(errors)) from run.exception


class _Run:
    """One run of a pipeline: builds the pass tree and keeps track of where it is."""

    def __init__(self, tree: PassTree, observers: tuple[Observer, ...], verify_each: bool) -> None:
        self.tree = tree
        self.observers = observers
        self.verify_each = verify_each
        self.where = Whereabouts()
        self.place = "at its start"
        self.invalid = False
        self.exception: BaseException | None = None
        self.last = 0.0

    def add(self, elements: Sequence[PassNode | NestNode], manager: int, anchor: str, following: str) -> None:
        """Append ``elements`` to ``manager``; ``following`` is the pass that runs after them."""
        if elements and _is_upstream(elements[0]):
            first = str(elements[0])
            self.tree.add_external(manager, "mlopt-begin", lambda _, __: self.where.start(first))
        for position, element in enumerate(elements):
            after = str(elements[position + 1]) if position + 1 < len(elements) else following
            is_entered = manager == self.tree.root and anchor == "builtin.module"
            if isinstance(element, PassNode) and not _is_upstream(element):
                self._add_own(_make_pass(element, anchor), str(element), manager, after, is_entered)
                continue
            if is_entered:
                self.tree.add_external(manager, "mlopt-enter", partial(self._enter, str(element)))
            if isinstance(element, NestNode):
                self.add(element.elements, self.tree.nest(manager, element.op_name), element.op_name, after)
            else:
                goes_on = position + 1 < len(elements) and _is_upstream(elements[position + 1])
                self._add_upstream(element, manager, after, verifies=not goes_on)

    def _add_upstream(self, node: PassNode, manager: int, following: str, verifies: bool) -> None:
        problem = self.tree.add_upstream(manager, str(node))
        if problem is not None:
            raise PipelineError(f"pipeline: {_explain(node, problem)}", node.name)

        def observe(address: int, fail: Callable[[], None]) -> None:
            self._guard(lambda: self._finish(address, fail, following, verifies), fail)

        self.tree.add_external(manager, "mlopt-observe", observe)

    def _add_own(self, instance: Pass, text: str, manager: int, following: str, is_entered: bool) -> None:
        def run(address: int, fail: Callable[[], None]) -> None:
            if is_entered:
                self._enter(text, address, fail)
            self.where.start(text)
            self._guard(lambda: self._run_own(instance, address, fail, following), fail)

        self.tree.add_external(manager, instance.name, run)

    def _run_own(self, instance: Pass, address: int, fail: Callable[[], None], following: str) -> None:
        operation = operation_at(address)
        self.place = "at {}:{}:{}".format(*source_of(operation.location))
        try:
            instance.run(operation)
        except PassError as error:
            error.location.emit_error(error.message)
            raise
        self._finish(address, fail, following)

    def _enter(self, element: str, address: int, fail: Callable[[], None]) -> None:
        """Note the IR for a reproducer, should ``element`` take the process down."""
        self._guard(lambda: progress.enter(element, lambda: _text(address)), fail)
        self.last = time.perf_counter()

    def _finish(self, address: int, fail: Callable[[], None], following: str, verifies: bool = True) -> None:
        seconds = time.perf_counter() - self.last
        if self.observers:
            event = PassEvent(self.where.running, seconds, operation_at(address))
            for observer in self.observers:
                observer(event)
        if verifies and self.verify_each and not verify_operation(address):
            self.invalid = True
            self.where.fail()
            fail()
            return
        self.where.finish(following)
        self.last = time.perf_counter()

    def _guard(self, action: Callable[[], None], fail: Callable[[], None]) -> None:
        # An exception that leaves a pass leaves the context half-way into its thread pool, and
        # the next dialect that is loaded aborts the process. So it waits until the run is over.
        if self.exception is not None:  # MLIR goes on with the next function; we do not
            fail()
            return
        try:
            action()
        except BaseException as error:
            self.exception = error
            self.where.fail()
            fail()


def _text(address: int) -> str:
    """The operation printed. It has just been verified: to print it as such takes half the time."""
    return printed(operation_at(address), assume_verified=True)


def _is_upstream(element: PassNode | NestNode) -> bool:
    return isinstance(element, PassNode) and not is_ours(element.name)


def _explain(node: PassNode, problem: str) -> str:
    """Upstream's reason for refusing ``node``, without its parser's own mark under the text."""
    if "does not refer to a registered pass" in problem:
        near = did_you_mean(node.name, [*upstream_pass_names(), *pass_names()])
        return f"unknown pass '{node.name}'{near}"
    return f"cannot add '{node}': {problem}"


def _make_pass(node: PassNode, anchor: str) -> Pass:
    try:
        instance = parse_options(find_pass(node.name), node.options)
    except (UnknownPassError, OptionError) as error:
        raise PipelineError(f"pipeline: {error}", node.name) from None
    if instance.op_name not in (anchor, "any"):
        raise PipelineError(
            f"pipeline: '{node.name}' runs on '{instance.op_name}', not on '{anchor}'; "
            f"write {instance.op_name}({node})",
            node.name,
        )
    return instance
