"""From a graph of torch.compile to a function: compiled where it can be, eager where it cannot."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule, Node

from .errors import CompileError, CompileTimeout, MloptError, UnsupportedOpError, WorkerOutOfMemory
from .frontends.graph import GraphProgram, capture_graph
from .frontends.graph_steps import list_ops, op_name
from .frontends.partition import MEMORY, common_place, eager_reasons, operations, prefix, split
from .frontends.source_lines import source_line
from .frontends.unsupported import unsupported_ops
from .graph_report import EagerOp
from .options import Options
from .report import Report
from .runtime import requests
from .runtime.cuda.chips import is_cuda
from .runtime.executable import Executable
from .runtime.graph_call import GraphCall
from .runtime.graph_weights import GraphWeights
from .runtime.opening import needs_gpu, notes, open_call
from .runtime.verification import Verifier


@dataclass(frozen=True)
class CompiledGraph:
    """``call`` takes the graph's arguments and returns the tuple of its outputs."""

    call: Callable[..., Any]
    units: tuple[Report, ...]
    eager: tuple[EagerOp, ...]
    ops: int


def compile_graph(module: GraphModule, static: Collection[int], options: Options, name: str) -> CompiledGraph:
    """Compile ``module``; ``static`` are the numbers of its arguments that are weights.

    With ``options.fallback`` ops that cannot be compiled run in eager, else they are an error.
    """
    device = "cuda" if needs_gpu(options) else "cpu"
    reasons = eager_reasons(module.graph, device, loops=not is_cuda(options.target))
    if not reasons:
        try:
            call, report = _compile_unit(module, static, options, name)
            return CompiledGraph(call, (report,), (), len(list_ops(module.graph)))
        except CompileError as error:
            if not options.fallback:
                raise
            reasons = _culprits(module, options, error)
    if not options.fallback:
        place = common_place(reasons.values())
        if place:
            raise misplaced(place, options)
        raise unsupported_ops(
            [(f"{op_name(node)} ({why})", source_line(node)) for node, why in reasons.items()]
        )
    return _compile_parts(module, static, options, name, reasons)


def misplaced(place: str, options: Options) -> CompileError:
    """What to say of a graph whose tensors are all on ``place``, where the target is not."""
    remedy = 'pass options={"target": "cuda:sm_…"}'
    if needs_gpu(options):
        remedy = 'move the module and its inputs to the GPU, or add "device": "emulator" to the options'
    return CompileError(f"the tensors are on {place}, the target is {options.target}", remedy=remedy)


def _compile_unit(
    module: GraphModule, static: Collection[int], options: Options, name: str
) -> tuple[Callable[..., Any], Report]:
    start = time.perf_counter()
    program = _captured(module, static)
    if not program.results:
        return GraphCall(program).build(), Report(ops=program.ops)
    built = requests.build_torch(program.text, program.weight_positions, options, name)
    kept = [arg for arg in program.arguments if arg.static]
    first = len(program.arguments) - len(kept)

    def make(executable: Executable) -> Callable[..., Any]:
        lives = bool(kept) or executable.prepare is not None
        weights = GraphWeights(executable, kept, first) if lives else None
        return GraphCall(program, executable.main, weights).build()

    call = open_call(built, options, name, make)
    if options.verify:
        call = _verified(call, module, requests.may_round(options))
    metadata, seconds = built["metadata"], time.perf_counter() - start
    return call, Report.from_metadata(metadata, program.ops, seconds, notes(options))


def _captured(module: GraphModule, static: Collection[int] = ()) -> GraphProgram:
    """The program. Whatever goes wrong is a CompileError, so that eager can take over."""
    try:
        return capture_graph(module, static)
    except MloptError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CompileError(
            f"the graph cannot be read: {type(error).__name__}: {reason}", remedy="please report it"
        ) from error


def _verified(call: Callable[..., Any], module: GraphModule, tf32: bool) -> Callable[..., Any]:
    """``call``, whose first call compares itself with eager."""
    checked = False

    def verified(*args: Any) -> Any:
        nonlocal checked
        if checked:
            return call(*args)
        verifier = Verifier(module, args, {}, tf32)
        outputs = call(*args)
        verifier.check(outputs)
        checked = True
        return outputs

    return verified


def _culprits(module: GraphModule, options: Options, error: CompileError) -> dict[Node, str]:
    """The op with which compiling fails, found by halving; all of them where time or memory ran out."""
    nodes = operations(module.graph)
    why = str(error).splitlines()[0]
    if isinstance(error, CompileTimeout | WorkerOutOfMemory):
        return dict.fromkeys(nodes, why)
    imports = isinstance(error, UnsupportedOpError)
    works, fails = 0, len(nodes)
    while fails - works > 1:
        middle = (works + fails) // 2
        part = prefix(module, middle)
        try:
            program = _captured(part)
            if program.results:
                linalg = requests.import_program(program.text, [], options)
                if not imports:
                    requests.build(linalg, options)
            works = middle
        except CompileError as caught:
            fails, why = middle, str(caught).splitlines()[0]
    return {_blamed(nodes[fails - 1], why): why}


def _blamed(node: Node, why: str) -> Node:
    """``node`` or the view that it reads of which ``why`` speaks: views alone need no program."""
    names = set(re.findall(r"[\w.]+", why))
    reached = [node]
    while reached:
        found = reached.pop()
        if op_name(found).rpartition(".")[0] in names:
            return found
        reached += [n for n in found.all_input_nodes if getattr(n.target, "is_view", False)]
    return node


def _compile_parts(
    module: GraphModule, static: Collection[int], options: Options, name: str, reasons: dict[Node, str]
) -> CompiledGraph:
    """The ops in ``reasons`` in eager, the rest in units."""
    parts = split(module, reasons)
    placeholders = list(module.graph.find_nodes(op="placeholder"))
    weights = {placeholders[number] for number in static}
    units: list[Report] = []
    eager = [
        EagerOp(op_name(node), str(source_line(node) or ""), why)
        for node, why in reasons.items()
        if why != MEMORY
    ]
    for node in parts.module.graph.find_nodes(op="call_module"):
        unit = str(node.target)
        kept = [number for number, source in enumerate(parts.inputs[unit]) if source in weights]
        done = compile_graph(parts.units[unit], kept, options, f"{name}.{unit}")
        node.op, node.target = "call_function", _function(done.call)
        delattr(parts.module, unit)
        units += done.units
        eager += done.eager
    parts.module.recompile()
    return CompiledGraph(parts.module.forward, tuple(units), tuple(eager), len(list_ops(module.graph)))


def _function(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` as what torch.fx can call from a graph."""
    if inspect.isfunction(call):
        return call

    def function(*args: Any) -> Any:
        return call(*args)

    return function
