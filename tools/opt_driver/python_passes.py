"""Puts passes written in Python into MLIR's registry, for the pipelines that name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlir import ir

from ...passes.base import Pass
from ...passes.options import OptionError, format_pass, parse_options
from ...passes.registry import find_pass, is_ours, summary_of
from ...pipelines import capi
from . import mlir_main
from .running import Runner, dialects_of

if TYPE_CHECKING:
    from .named_pipelines import NamedPipeline

NAMED_PIPELINES = ("mlopt-cpu", "mlopt-cuda")  # `named_pipelines` takes 10 ms to import
_ANY = ("any", "")
_PACKAGE = Pass.__module__.removesuffix("base")


@dataclass
class PythonPasses:
    """The Python passes of one run of the driver.

    ``plain_names`` are passes that a flag for printing picks out by name: their options do not show
    in what MLIR prints, since it looks a pass up by all that it calls itself. ``checks_messages`` says
    that MLIR compares all messages with expected ones.
    """

    plain_names: frozenset[str] = frozenset()
    verify_each: bool = True
    checks_messages: bool = False
    of_package: bool = False  # whether passes of mlopt itself are among them
    names: set[str] = field(default_factory=set)
    _kept: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._runner = Runner(self.verify_each, self.checks_messages)

    @property
    def failures(self) -> list[str]:
        """What went wrong in which pass, in order."""
        return self._runner.failures

    def register(self, names: Iterable[str]) -> None:
        """Register the passes called ``names``; `UnknownPassError` if one is nobody's."""
        for name in sorted(set(names) - self.names):
            self.names.add(name)
            if name in NAMED_PIPELINES:
                from .named_pipelines import PIPELINES

                self._register_pipeline(PIPELINES[name])
                continue
            cls = find_pass(name)
            self.of_package |= cls.__module__.startswith(_PACKAGE)
            self._register(cls)

    def _register_pipeline(self, cls: type[NamedPipeline]) -> None:
        self.of_package = True

        def add(pipeline: NamedPipeline, manager: int) -> str | None:
            if pipeline.only_check:
                capi.add_pass(manager, self._external(cls, format_pass(pipeline), pipeline.run))
                return None
            text = ",".join(pipeline.elements())
            self.register(name for name in re.findall(r"[\w.-]+", text) if is_ours(name))
            return capi.add_text(manager, text)

        self._put_in_registry(cls, add)

    def _register(self, cls: type[Pass]) -> None:
        def add(instance: Pass, manager: int) -> None:
            text = cls.name if cls.name in self.plain_names else format_pass(instance)
            capi.add_pass(manager, self._external(cls, text, instance.run))

        self._put_in_registry(cls, add)

    def _put_in_registry(self, cls: type[Pass], add: Callable[..., str | None]) -> None:
        """Register ``cls``; ``add`` appends an instance to a pass manager, and may say why it cannot."""

        def build(manager: int, options: str) -> str | None:
            try:
                instance = parse_options(cls, options)
                return _misplaced(instance, manager) or add(instance, manager)
            except OptionError as error:
                return str(error)
            except (ValueError, LookupError) as error:
                return f"{cls.name}: {error}"
            except Exception as error:  # of the class itself; MLIR would go on without the pass
                return f"{cls.name}: {type(error).__name__}: {error}"

        mlir_main.register(cls.name, lambda: self._external(cls, cls.name, lambda _: None), build)

    def _external(self, cls: type[Pass], text: str, action: Callable[[ir.Operation], None]) -> int:
        def run(address: int, fail: Callable[[], None]) -> None:
            if not self._runner.run(cls, address, action):
                fail()

        op_name = "" if cls.op_name in _ANY else cls.op_name
        handle = mlir_main.dialects_handle(tuple(dialects_of(cls)))
        external, kept = capi.external_pass(cls.__name__, text, op_name, run, summary_of(cls), handle)
        self._kept.append(kept)
        return external


def _misplaced(instance: Pass, manager: int) -> str | None:
    """Why the pass cannot join the pass manager, if so."""
    anchor, nests = mlir_main.anchor_of(manager)
    if nests or anchor == "any" or instance.op_name in (anchor, *_ANY):
        return None
    wanted = f"{instance.op_name}({format_pass(instance)})"
    return f"'{instance.name}' runs on '{instance.op_name}', not on '{anchor}'; write {wanted}"
