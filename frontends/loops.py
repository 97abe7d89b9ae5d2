"""Ops that become loops over tensors, which CPUs alone run.

Writes through indices whose sizes are known become reductions, or are sorted (decomposing/indices.py). Of
what is left of them when a graph is decomposed torch-mlir makes loops.
"""

from __future__ import annotations

from torch.fx import Graph, Node

from .decomposing.registry import aten
from .decomposing.target import runs_loops
from .graph_steps import op_name
from .source_lines import source_line
from .unsupported import unsupported_ops

WHY = "a write through indices of unknown sizes: loops, which run on CPUs only"
_REMEDY = (
    "let the sizes of what it writes to, and of its indices, be known (no dynamic_shapes there), "
    "compile this part for the CPU, or run it in eager (fallback=True)"
)
_WRITES = {aten.index_put, aten._unsafe_index_put, aten.scatter, aten.scatter_add, aten.scatter_reduce}


def becomes_loops(node: Node) -> bool:
    """Whether torch-mlir makes a loop over tensors of a node of a decomposed graph."""
    return getattr(node.target, "overloadpacket", None) in _WRITES


def refuse_loops(graph: Graph) -> None:
    """Raise `UnsupportedOpError` with the ops of a decomposed graph that its target does not run."""
    loops = [node for node in graph.nodes if becomes_loops(node)]
    if loops and not runs_loops():
        found = [(f"{_written(node)} ({WHY})", source_line(node)) for node in loops]
        raise unsupported_ops(found, _REMEDY)


def _written(node: Node) -> str:
    """The op that the user wrote, as far as torch knows it."""
    return str(node.meta.get("original_aten") or op_name(node))
