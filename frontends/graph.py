"""A graph of AOTAutograd -> `GraphProgram`: torch dialect text, and what calling it needs.

The graph has no side effects; weights, saved tensors and sizes are plain arguments. So that
calls copy nothing:

- an argument that is dense in another order of its dimensions (a transposed weight, a
  channels_last image) is read in its memory order, and permuted in the program;
- outputs that are arguments, or views of arguments or of each other, are made as such at
  the call; only what is computed is a result of the program.

A size that is an argument of its own (a SymInt) is taken from the shape of a tensor where one
has it. One that no tensor has is passed as the size of an argument without memory if shapes
depend on it, else as a number.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy
import torch
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from .fx_text import graph_to_text
from .graph_steps import (
    lift_literals,
    list_ops,
    memory_order,
    order_placeholders,
    permute_before,
    simplify,
    take_permuted,
)
from .program import Size
from .sizes import Sizes
from .source_lines import source_line
from .unsupported import unsupported_ops


@dataclass(frozen=True)
class Argument:
    """One argument of the program, number ``position`` of the graph's (-1: the tensor ``constant``).

    A "tensor" has ``shape`` and ``strides``; the program sees it permuted to ``order``, or
    made contiguous where that is None. A "size" is an int, which the program sees as the
    only size of a tensor; a "number" is an int, which it sees as such.
    """

    name: str
    position: int
    kind: Literal["tensor", "size", "number"]
    static: bool = False
    dtype: torch.dtype | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    order: tuple[int, ...] | None = ()
    constant: torch.Tensor | None = None


@dataclass(frozen=True)
class GraphResult:
    """A tensor that the program computes into memory of this ``shape`` and these ``strides``.

    If it is not ``dense``, the program's result is contiguous and has to be copied there.
    """

    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    dense: bool


@dataclass(frozen=True)
class GraphOutput:
    """What the graph returns at one place.

    ``result``   the program's result number ``index``;
    ``argument`` the graph's argument number ``index``, as it is;
    ``view``     ``base`` with this shape and strides, ``offset`` elements after its start;
    ``constant`` ``value`` (None, a number);
    ``size``     the int that the expression ``value`` gives.
    """

    kind: Literal["result", "argument", "view", "constant", "size"]
    index: int = -1
    value: Any = None
    base: GraphOutput | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    offset: Size = 0


@dataclass(frozen=True)
class GraphProgram:
    """A captured graph. Its arguments are in the program's order: static ones last, then constants."""

    text: str
    arguments: tuple[Argument, ...]
    results: tuple[GraphResult, ...]
    outputs: tuple[GraphOutput, ...]
    ops: tuple[tuple[str, str], ...]
    count: int
    """How many arguments the graph has."""

    @property
    def weight_positions(self) -> list[int]:
        """Which of the program's arguments stay from call to call."""
        return [number for number, argument in enumerate(self.arguments) if argument.static]


def capture_graph(module: GraphModule, static: Collection[int] = ()) -> GraphProgram:
    """``static`` are the numbers of arguments that stay from call to call: weights."""
    return _Capture(GraphModule(module, copy.deepcopy(module.graph)), static).program()


class _Capture:
    def __init__(self, module: GraphModule, static: Collection[int]) -> None:
        self.module = module
        self.graph: Graph = module.graph
        self.placeholders: list[Node] = list(self.graph.find_nodes(op="placeholder"))
        self.positions = {node: number for number, node in enumerate(self.placeholders)}
        self.static = {self.placeholders[number] for number in static}
        self.values = {node: node.meta.get("val") for node in self.placeholders}
        self.output = next(n for n in reversed(self.graph.nodes) if n.op == "output")
        self.roots: list[Node] = []
        self.root_of: dict[Node, Node] = {}
        self.orders: dict[Node, tuple[int, ...] | None] = {}
        self.numbers: set[Node] = set()
        self.passed_sizes: set[Node] = set()

    def program(self) -> GraphProgram:
        ops = list_ops(self.graph)
        simplify(self.graph)
        constants = {node: tensor for node, _, tensor in lift_literals(self.graph, self.module)}
        returned = list(self.output.args[0])
        self._find_roots(returned)
        tensors = self._tensors()
        self._permute(tensors)
        others = self._pass_sizes(tensors)
        nodes = [n for n in self.placeholders if (n in tensors or n in others) and n not in self.static]
        nodes += [n for n in tensors if n in self.static]
        nodes += list(constants)
        for node in self.graph.find_nodes(op="placeholder"):
            if node not in nodes:
                self.graph.erase_node(node)
        order_placeholders(self.graph, nodes)
        sizes = Sizes(nodes, self.graph)
        results = tuple(self._result(root, sizes) for root in self.roots)
        dynamic = [
            s for n in self.output.args[0] for s in sizes.all(n.meta["val"].shape) if isinstance(s, str)
        ]
        return GraphProgram(
            text=graph_to_text(self.graph, dynamic) if self.roots else "",
            arguments=tuple(self._argument(node, sizes, constants.get(node)) for node in nodes),
            results=results,
            outputs=tuple(self._output(arg, sizes) for arg in returned),
            ops=ops,
            count=len(self.placeholders),
        )

    def _find_roots(self, returned: list[Any]) -> None:
        """What has to be computed for the outputs becomes the graph's only output, in memory order."""
        for arg in returned:
            if _is_tensor(arg):
                root = self.root_of[arg] = _root(arg)
                if root not in self.positions and root not in self.roots:
                    self.roots.append(root)
        contiguous = []
        for root in self.roots:
            order = memory_order(root.meta["val"])
            self.orders[root] = order
            contiguous.append(root if order is None else permute_before(self.graph, self.output, root, order))
        self.output.args = (tuple(contiguous),)
        self.graph.eliminate_dead_code()

    def _tensors(self) -> list[Node]:
        """The tensors that are read, or have a size that others may need."""
        return [
            node
            for node in self.placeholders
            if _is_tensor(node) and (node.users or _symbolic(node.meta["val"].shape))
        ]

    def _permute(self, tensors: list[Node]) -> None:
        """Read each tensor in its memory order."""
        for node in tensors:
            value = node.meta["val"]
            order = memory_order(value)
            self.orders[node] = order
            if order is not None and order != tuple(range(value.dim())):
                take_permuted(self.graph, node, order)

    def _pass_sizes(self, tensors: list[Node]) -> list[Node]:
        """Sizes that are arguments: read off a tensor that has it, or else passed. Returns the latter."""
        places = self._places(tensors)
        symbols = self._symbols()
        first = next(n for n in self.graph.nodes if n.op != "placeholder")
        passed = []
        for node in self.placeholders:
            value = node.meta.get("val")
            if not isinstance(value, torch.SymInt):
                continue
            expression = value.node.expr
            if expression not in places:
                passed.append(node)
                if node.users and not expression.free_symbols & symbols:
                    self.numbers.add(node)
                    continue
                self.passed_sizes.add(node)
                node.meta["val"] = torch.empty(value, dtype=torch.uint8, device="meta")
                places[expression] = (node, 0)
            if node.users:
                users = list(node.users)
                with self.graph.inserting_before(first):
                    size = self.graph.call_function(torch.ops.aten.sym_size.int, places[expression])
                size.meta["val"] = value
                for user in users:
                    user.replace_input_with(node, size)
        return passed

    def _places(self, tensors: list[Node]) -> dict[Any, tuple[Node, int]]:
        """For each size that is symbolic, a tensor and its dimension that has it."""
        places: dict[Any, tuple[Node, int]] = {}
        for node in tensors:
            for d, size in enumerate(node.meta["val"].shape):
                if isinstance(size, torch.SymInt):
                    places.setdefault(size.node.expr, (node, d))
        return places

    def _symbols(self) -> set[Any]:
        """The symbols that the shapes in the graph depend on."""
        symbols: set[Any] = set()
        for node in self.graph.nodes:
            for value in pytree.tree_leaves(node.meta.get("val")):
                for size in getattr(value, "shape", ()):
                    symbols |= size.node.expr.free_symbols if isinstance(size, torch.SymInt) else set()
        return symbols

    def _argument(self, node: Node, sizes: Sizes, constant: torch.Tensor | None) -> Argument:
        name, position = node.name, self.positions.get(node, -1)
        if node in self.numbers or node in self.passed_sizes:
            return Argument(name, position, "number" if node in self.numbers else "size")
        value = self.values.get(node, constant)
        assert isinstance(value, torch.Tensor)
        return Argument(
            name,
            position,
            "tensor",
            static=node in self.static or constant is not None,
            dtype=value.dtype,
            shape=sizes.all(value.shape),
            strides=sizes.all(value.stride()),
            order=self.orders.get(node, tuple(range(value.dim()))),
            constant=constant,
        )

    def _result(self, root: Node, sizes: Sizes) -> GraphResult:
        value = self._layout(root)
        shape, strides = sizes.all(value.shape), sizes.all(value.stride())
        return GraphResult(root.meta["val"].dtype, shape, strides, self.orders[root] is not None)

    def _layout(self, root: Node) -> torch.Tensor:
        """What the result's memory is allocated as: its only view, if that shows all of it."""
        value: torch.Tensor = root.meta["val"]
        views = [arg for arg, origin in self.root_of.items() if origin is root]
        if len(views) == 1 and self.orders[root] is not None:
            view: torch.Tensor = views[0].meta["val"]
            if _count(view) == _count(value) and memory_order(view) is not None:
                return view
        return value

    def _output(self, arg: Any, sizes: Sizes) -> GraphOutput:
        if not isinstance(arg, Node):
            return GraphOutput("constant", value=arg)
        value = self.values[arg] if arg in self.positions else arg.meta["val"]
        if arg in self.positions:
            return GraphOutput("argument", self.positions[arg])
        if not isinstance(value, torch.Tensor):
            if not isinstance(value, torch.SymInt):
                raise unsupported_ops([(f"an output of type {type(value).__name__}", source_line(arg))])
            return GraphOutput("size", value=sizes.of(value))
        root = self.root_of[arg]
        origin: Any
        if root in self.positions:
            base, origin = GraphOutput("argument", self.positions[root]), self.values[root]
        else:
            base, origin = GraphOutput("result", self.roots.index(root)), self._layout(root)
        shape, strides = sizes.all(value.shape), sizes.all(value.stride())
        offset = sizes.of(value.storage_offset() - origin.storage_offset())
        if (shape, strides, offset) == (sizes.all(origin.shape), sizes.all(origin.stride()), 0):
            return base
        return GraphOutput("view", base=base, shape=shape, strides=strides, offset=offset)


def _root(node: Node) -> Node:
    """The node whose memory ``node`` is a view of; itself if it is no view, or one of another dtype."""
    while True:
        source = node
        if node.target is operator.getitem:
            source = node.args[0]  # type: ignore[assignment]
        target = source.target
        if not (isinstance(target, torch._ops.OpOverload) and target.is_view):
            return node
        base = source.args[0]
        if not (
            isinstance(base, Node) and _is_tensor(base) and base.meta["val"].dtype == node.meta["val"].dtype
        ):
            return node
        if base.op == "get_attr":
            return node
        node = base


def _is_tensor(arg: Any) -> bool:
    return isinstance(arg, Node) and isinstance(arg.meta.get("val"), torch.Tensor)


def _symbolic(sizes: Any) -> bool:
    return any(isinstance(size, torch.SymInt) for size in sizes)


def _count(value: torch.Tensor) -> Any:
    """The number of elements, as an expression."""
    count: Any = sympy.Integer(1)
    sizes: Sequence[Any] = value.shape
    for size in sizes:
        count = count * (size.node.expr if isinstance(size, torch.SymInt) else size)
    return sympy.expand(count)
