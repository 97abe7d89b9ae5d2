"""What Inductor makes of a graph: the nodes of its schedule that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import BaseSchedulerNode, NopKernelSchedulerNode


@contextmanager
def graphs_shown_to(look: Callable[[GraphLowering], None]) -> Iterator[None]:
    """Call ``look`` with each graph that Inductor has just generated code for; of its cache it shows none."""
    generate = GraphLowering.compile_to_module

    def looked_at(graph: GraphLowering) -> Any:
        made = generate(graph)
        look(graph)
        return made

    with mock.patch.object(GraphLowering, "compile_to_module", looked_at):
        yield


def kernels_of(graph: GraphLowering) -> list[BaseSchedulerNode]:
    """The nodes of the schedule after fusion, calls of libraries among them; views and empty ones are not."""
    return [
        node
        for node in graph.scheduler.nodes
        if not isinstance(node, NopKernelSchedulerNode) and not isinstance(node.node, ir.MultiOutput)
    ]
