"""`mlopt-fuse`: decide which ops become one kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ..dialects.attributes import DECISIONS, FUSION, IN_PARTS, REWRITES, STORED, WHOLE
from ..dialects.decisions import Decision
from .base import Pass
from .costs.machine import DEFAULT_CPU, machine_of
from .fusion.buffers import give_concats_their_buffers
from .fusion.choose import Chooser
from .fusion.counts import compute_counts
from .fusion.decisions import Decisions
from .fusion.earlier import with_fused_moves, without_fused_products
from .fusion.graph import Graph
from .fusion.kinds import Kind
from .fusion.padded import compute_padded
from .fusion.pads import give_windows_their_pads, pads_of
from .fusion.price import Prices
from .fusion.widened import widen_views
from .groups import entry_ops, give_inits_their_fills, is_init, set_group
from .layers.members import layers_of_each
from .operations import ops_named, plain_functions
from .outlining.host import give_results_memory
from .rewrites import note_rewrites


@dataclass(frozen=True)
class Fuse(Pass):
    """Form groups of ops, each of which will be one kernel, and note why the others stayed apart.

    ::

        %m = linalg.generic {mlopt.op = "matmul"} …                    {mlopt.group = 0}
        %a = linalg.generic {mlopt.op = "add"} ins(%m, %bias) …    ->  {mlopt.group = 0}
        %g = linalg.generic {mlopt.op = "gelu"} ins(%a) …              {mlopt.group = 0}
        %n = linalg.generic {mlopt.op = "matmul"} ins(%g, …) …         {mlopt.group = 1}

    Of all pairs of groups with a value between them, the one is fused whose fusion is legal (`can_fuse`) and
    saves most time on ``machine`` (`should_fuse`: the roofline of one kernel against that of two), and so on
    until nothing saves time. One processor of a CPU has a small kernel to itself: what it saves decides then,
    however few tasks are left (`passes/fusion/saving.py`). Legal: element-wise ops of one another, a row
    reduction with what makes its rows and what reads them, element-wise work behind a contraction, and before
    one; products of one left factor and of equally many columns, with what is made of several of them. Before
    a window (a convolution, a pooling), a CPU's tasks compute what it reads ahead of it, into scratch
    (`passes/tiling/stages.py`), and a GPU's where it reads (`passes/tiling/at_reads.py`), again for each of
    its positions.
    The module gets each decision with its numbers as ``mlopt.decisions``, after those of mlopt-join-products
    about products that are not in one kernel now, and the reasons against as ``mlopt.fusion``;
    what is padded or written over, computed where it is read or not, as ``mlopt.rewrites``, where a copy that
    was left, but is fused now, costs nothing any more (`passes/fusion/earlier.py`).
    A tensor that is returned twice, as itself or as a view, or is an argument, is copied here
    (`passes/outlining/host.py`), so that what makes or reads it may write the copy, too.
    Numbers of places of which nobody knows how many there are, as torch.arange makes them, are computed by
    what reads them (`passes/fusion/counts.py`).
    What is only made wider, as half floats are f32 again, is cast by those that read it, also behind a view
    (`passes/fusion/widened.py`): the GPT-2 block in bf16 moves 19.29 MB in place of 20.49.
    Every edge inside a group is a tensor that is neither written nor read: softmax reads its input once
    instead of moving seven tensors.
    """

    name: ClassVar[str] = "mlopt-fuse"
    machine: str = DEFAULT_CPU

    def run(self, op: ir.Operation) -> None:
        machine = machine_of(op, self.machine)
        made: list[Decisions] = []
        functions: list[ir.Operation] = []
        padded: list[Decision] = []
        number = 0
        for function in plain_functions(op):
            give_results_memory(function)
            compute_counts(function)
            give_inits_their_fills(function)
            give_concats_their_buffers(function)
            padded += compute_padded(function, machine)
            padded += give_windows_their_pads(function, machine)
            widen_views(function)
            # A block's tiles stay in registers: it has no memory to compute ahead of a window.
            graph = _graph_of(function, has_scratch=not machine.chips)
            made.append(Decisions(graph))
            functions.append(function)
            # The weights of all layers may start from one empty tensor: a kernel of them all would be
            # another one for each number of layers.
            is_prepare = function.attributes["sym_name"].value == "prepare"
            Chooser(graph, Prices(graph, machine), made[-1]).run(from_empties=not is_prepare)
            number = _write_down(graph, number)
        counts: Counter[str] = Counter()
        times = layers_of_each(op)
        for each in made:
            counts += each.lines(times)
        lines = [line if count == 1 else f"{line} ({count} times)" for line, count in counts.items()]
        with op.location:
            FUSION.set(op, tuple(lines))
            before = without_fused_products(DECISIONS.get(op) or (), functions)
            DECISIONS.set(op, (*before, *(decision for each in made for decision in each.all())))
            if rewrites := REWRITES.get(op):
                REWRITES.set(op, with_fused_moves(rewrites, functions))
        note_rewrites(op, self.name, padded)
        for each in made:
            each.graph.erase_dead()
        for noted in ops_named(op, *WHOLE.on):  # those of IN_PARTS and STORED are among them
            WHOLE.drop(noted)
            IN_PARTS.drop(noted)
            STORED.drop(noted)


def _graph_of(function: ir.Operation, *, has_scratch: bool) -> Graph:
    graph = Graph(function, has_scratch=has_scratch)
    ops = entry_ops(function)
    pads = {pad for op in ops for pad in pads_of(op)}
    for op in ops:
        if op not in pads and not _is_passed_over(op):
            graph.add(op)
    return graph


def _is_passed_over(op: ir.Operation) -> bool:
    """Kernels make constants and empty tensors themselves; a fill comes with what starts from it."""
    if op.name in ("arith.constant", "tensor.empty"):
        return not op.operands
    if op.name != "linalg.fill":
        return False
    uses = list(op.results[0].uses)
    return len(uses) == 1 and is_init(uses[0].owner.operation, uses[0].operand_number)


def _write_down(graph: Graph, number: int) -> int:
    """Set ``mlopt.group`` on all ops, in the order of the groups' first ops; the first free number."""
    for group in sorted(graph.groups, key=graph.first_position):
        if not group.has(Kind.HOST):
            for op in group.ops:
                set_group(op, number)
            number += 1
    return number
