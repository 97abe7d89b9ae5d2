"""Stages: named lists of passes, each with a contract on the IR that it leaves behind.

A contract says which dialects (or single operations) may remain, and may add rules of any
other kind. It is checked after the stage's last pass; what breaks it is an error that names
the operation, its place and the stage, so that a gap in a pass is found where it arises
and not as "failed to legalize" ten passes later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mlir import ir

from ..passes.base import PassError
from ..passes.layers.find import find_layers
from ..passes.layers.once import run_once
from ..passes.locations import source_of
from ..passes.registry import is_foreign
from .device_parts import run_on_parts
from .diagnostics import Diagnostic, PipelineError
from .driver import Observer, run_pipeline
from .text import NestNode, PassNode, parse_pipeline

# Why an operation may not be there after a stage, or None if it may.
Rule = Callable[[ir.Operation], str | None]

_MAX_REPORTED = 5


class StageSink(Protocol):
    """Gets each stage's name and the module after it."""

    def __call__(self, stage: str, module: ir.Operation, /) -> None: ...


@dataclass(frozen=True)
class Stage:
    """A named part of the way down: ``passes`` as pipeline text without its ``builtin.module(…)``.

    ``may_remain`` lists dialects (``"arith"``) and operations (``"tensor.empty"``) that the
    stage may leave behind; empty means all. ``rules`` are asked about each operation. ``layers_once``: of
    equal layers only a few pass through the stage (passes/layers), of which the others are copies. What is
    up to the pass ``on_parts``, and that, works on the functions of a gpu.module, each by itself.
    """

    name: str
    passes: str
    may_remain: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    layers_once: bool = False
    on_parts: str = ""

    @property
    def pipeline(self) -> str:
        """The whole pipeline text, as ``mlopt-opt --pass-pipeline`` takes it."""
        return f"builtin.module({self.passes})"

    def run(
        self,
        module: ir.Operation,
        *,
        observers: Sequence[Observer] = (),
        on_diagnostic: Callable[[Diagnostic], None] | None = None,
    ) -> None:
        """Run the passes on ``module`` in place and check the contract, or raise `PipelineError`."""
        layers = find_layers(module) if self.layers_once else None
        if layers is None:
            self._run(module, observers, on_diagnostic)
        else:
            run_once(
                module,
                layers,
                lambda each: self._run(each, observers, on_diagnostic),
                lambda each: self._run(each, (), None, verify_each=False),  # compared with what is verified
            )
        self.check(module)

    def _run(
        self,
        module: ir.Operation,
        observers: Sequence[Observer],
        on_diagnostic: Callable[[Diagnostic], None] | None,
        verify_each: bool = True,
    ) -> None:
        elements = parse_pipeline(self.pipeline).elements
        try:
            if observers or on_diagnostic is not None or _has_foreign(elements):
                run_pipeline(
                    module,
                    NestNode("builtin.module", elements),
                    observers=observers,
                    on_diagnostic=on_diagnostic,
                    verify_each=verify_each,
                )
            elif verify_each:
                self._run_verified(module, elements)
            else:
                self._run_unverified(module, elements)
        except PipelineError as error:
            message = f"stage '{self.name}': {error.message}"
            raise PipelineError(message, error.pass_name, error.diagnostics) from error.__cause__

    def _run_verified(self, module: ir.Operation, elements: tuple[PassNode | NestNode, ...]) -> None:
        """Verify what the last pass leaves, and only if something is wrong what each one does.

        After each of mlopt's own passes it would take a tenth of the time to PTX. What is wrong is so on a
        copy again, on which each pass is verified: the error names the one whose doing it is.
        """
        before = module.clone(ip=False)
        try:
            self._run_unverified(module, elements)
            module.verify()
        except MemoryError:
            raise
        except Exception as error:
            if not isinstance(error.__cause__, PassError):  # by which a pass refuses the program
                run_pipeline(before, NestNode("builtin.module", elements))
            raise

    def _run_unverified(self, module: ir.Operation, elements: tuple[PassNode | NestNode, ...]) -> None:
        if self.on_parts:
            end = 1 + [isinstance(it, PassNode) and it.name for it in elements].index(self.on_parts)
            if run_on_parts(module, NestNode("builtin.module", elements[:end])):
                elements = elements[end:]
        run_pipeline(module, NestNode("builtin.module", elements), verify_each=False)

    def check(self, module: ir.Operation) -> None:
        """Raise `PipelineError` if ``module`` breaks the contract, naming the kinds of operations that do."""
        broken: dict[str, tuple[ir.Location, int]] = {}
        objections: dict[str, str | None] = {}  # by name: thousands of ops have a few dozen
        go_on, rules = ir.WalkResult.ADVANCE, self.rules

        def visit(op: ir.Operation) -> ir.WalkResult:
            name = op.name
            if name not in objections:
                objections[name] = self._objection_to(name)
            reason = objections[name]
            if reason is None and rules:
                reason = next((why for rule in rules if (why := rule(op))), None)
            if reason is not None:
                first, count = broken.get(reason, (op.location, 0))
                broken[reason] = (first, count + 1)
            return go_on

        module.walk(visit)
        if broken:
            raise PipelineError(
                f"stage '{self.name}' broke its contract: {_summary(broken)}",
                diagnostics=tuple(_diagnostic(reason, *where) for reason, where in broken.items())[
                    :_MAX_REPORTED
                ],
            )

    def _objection_to(self, name: str) -> str | None:
        dialect = name.split(".", 1)[0]
        if not self.may_remain or dialect in self.may_remain or name in self.may_remain:
            return None
        return f"'{name}' may not remain after stage '{self.name}'"


def _has_foreign(elements: Sequence[PassNode | NestNode]) -> bool:
    """Whether there are passes from outside of the package: what these leave is verified at once."""
    return any(
        _has_foreign(each.elements) if isinstance(each, NestNode) else is_foreign(each.name)
        for each in elements
    )


def run_stages(
    module: ir.Operation,
    stages: Iterable[Stage],
    *,
    stop_after: str | None = None,
    observers: Sequence[Observer] = (),
    after_stage: StageSink | None = None,
) -> None:
    """Run ``stages`` one after the other, up to and with ``stop_after``."""
    stages = tuple(stages)
    if stop_after is not None:
        stages = stages[: _position(stages, stop_after) + 1]
    for stage in stages:
        stage.run(module, observers=observers)
        if after_stage is not None:
            after_stage(stage.name, module)


def vectors_of_at_most(bits: int) -> Rule:
    """The rule that no value is a vector of more than ``bits`` bits, nor of more than one dimension."""

    def check(op: ir.Operation) -> str | None:
        for value in op.results:
            if isinstance(value.type, ir.VectorType) and not _fits(ir.VectorType(value.type), bits):
                return f"'{op.name}' makes a {value.type}; at most {bits} bits in one dimension may remain"
        return None

    return check


def no_memory_of_type(element: str, because: str) -> Rule:
    """The rule that no memref holds elements of type ``element`` (``"i1"``)."""

    def check(op: ir.Operation) -> str | None:
        for value in op.results:
            if isinstance(value.type, ir.MemRefType) and str(value.type.element_type) == element:
                return f"'{op.name}' makes a {value.type}: {because}"
        return None

    return check


def _fits(vector: ir.VectorType, bits: int) -> bool:
    element = vector.element_type
    width = 64 if isinstance(element, ir.IndexType) else element.width
    return vector.rank <= 1 and width * (vector.shape[0] if vector.rank else 1) <= bits


def _position(stages: Sequence[Stage], name: str) -> int:
    names = [stage.name for stage in stages]
    if name not in names:
        raise PipelineError(f"there is no stage '{name}'; the stages are {', '.join(names)}")
    return names.index(name)


def _summary(broken: dict[str, tuple[ir.Location, int]]) -> str:
    kinds = len(broken)
    return f"{sum(count for _, count in broken.values())} operations of {kinds} kind{'s' * (kinds > 1)}"


def _diagnostic(reason: str, location: ir.Location, count: int) -> Diagnostic:
    return Diagnostic("error", f"{reason} ({count}×)" if count > 1 else reason, *source_of(location))
