"""What torch.compile(backend="mlopt") did: graphs, graph breaks, recompilations, eager ops."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .report import Kernel, Report
from .runtime.dynamo import Frame, graph_breaks, skipped_frames

_KEPT = 1000


@dataclass(frozen=True)
class EagerOp:
    """An op that runs in eager: its name, the user's line, and why."""

    name: str
    line: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} at {self.line or 'an unknown line'}: {self.reason}"


@dataclass(frozen=True)
class GraphRecord:
    """One compiled graph. ``kind`` is "inference", "forward" or "backward".

    ``note`` is what was asked for and not done.
    """

    frame: Frame
    kind: str
    units: tuple[Report, ...]
    eager: tuple[EagerOp, ...]
    ops: int
    seconds: float
    note: str = ""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What one call runs."""
        return tuple(k for unit in self.units for k in unit.kernels if k.function == "main")

    @property
    def coverage(self) -> float:
        """The share of the ops that is compiled."""
        return 1 - len(self.eager) / self.ops if self.ops else 1.0

    def __str__(self) -> str:
        calls = sum(kernel.calls for kernel in self.kernels)
        text = f"{self.kind}: {self.ops} ops in {calls} kernels, {self.coverage:.0%} compiled"
        return text + f", {self.seconds:.2f} s" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True)
class CompileReport:
    """All graphs since the process started or `torch._dynamo.reset()`; ``str()`` is a summary.

    ``graph_breaks`` say why and where Dynamo ended a graph before its function ends; before some of them
    there is nothing to compile, so they have no graph. ``skipped`` are the functions that Dynamo leaves to
    eager as a whole, with the reason (a graph break in a loop, for example).
    """

    graphs: tuple[GraphRecord, ...]
    graph_breaks: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple(dict.fromkeys(graph.frame for graph in self.graphs))

    @property
    def recompilations(self) -> tuple[Frame, ...]:
        """The functions that were compiled again, with the guard that failed."""
        return tuple(frame for frame in self.frames if frame.attempt)

    @property
    def eager(self) -> tuple[EagerOp, ...]:
        """The ops that run in eager."""
        return tuple(op for graph in self.graphs for op in graph.eager)

    @property
    def coverage(self) -> float:
        """The share of the ops that is compiled."""
        ops = sum(graph.ops for graph in self.graphs)
        return 1 - len(self.eager) / ops if ops else 1.0

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield (
            f"{_count(len(self.graphs), 'graph')}, {self.coverage:.0%} of the ops compiled, "
            f"{_count(len(self.graph_breaks), 'graph break')}, "
            f"{_count(len(self.recompilations), 'recompilation')}"
            + (f", {_count(len(self.skipped), 'function')} left to eager" if self.skipped else "")
        )
        for frame in self.frames:
            place = f" at {frame.line}" if frame.line else ""
            yield f"{frame.function}{place} [{frame.compile_id}]"
            if frame.guard:
                yield f"  compiled again, because {frame.guard}"
            for graph in self.graphs:
                if graph.frame == frame:
                    yield f"  {graph}"
                    yield from (f"    in eager: {op}" for op in graph.eager)
            if frame.graph_break:
                yield f"  graph break: {frame.graph_break}"
        shown = Counter(frame.graph_break for frame in self.frames)
        for text in (Counter(self.graph_breaks) - shown).elements():
            yield f"graph break with nothing to compile before it: {text}"
        yield from (f"in eager as a whole: {text}" for text in self.skipped)


class Log:
    """The graphs of this process, the newest ``_KEPT``."""

    def __init__(self) -> None:
        self._graphs: list[GraphRecord] = []
        self._since = time.time()
        self._lock = threading.Lock()

    def add(self, graph: GraphRecord) -> None:
        with self._lock:
            self._graphs = [*self._graphs, graph][-_KEPT:]

    def report(self) -> CompileReport:
        return CompileReport(tuple(self._graphs), graph_breaks(), skipped_frames(self._since))

    def clear(self) -> None:
        with self._lock:
            self._graphs, self._since = [], time.time()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
