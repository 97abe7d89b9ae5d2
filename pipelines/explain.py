"""What the kernels of a program are, what each costs, and why they are not fewer, as plain data.

The program goes down to the kernels and their schedules, and no further: nothing is generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, prod
from typing import Any

from mlir import ir

from ..dialects.attributes import (
    CONSIDERED,
    DECISIONS,
    GROUP,
    JOINED,
    KERNEL,
    LAST_BLOCKS,
    OPS,
    REWRITES,
    SCHEDULE,
    SLOW,
)
from ..dialects.decisions import NO_GROUP, Decision
from ..passes.costs.cost import Cost
from ..passes.costs.count import cost_alone, cost_of, is_kernel_alone
from ..passes.costs.host import cost_of_host_work, host_label, is_host_work
from ..passes.costs.machine import Machine, find_machine, machine_for_code
from ..passes.costs.rows import bytes_again
from ..passes.groups import entry_ops
from ..passes.locations import place_of
from ..passes.moving.reads import is_move
from ..passes.naming.parts import by_named_ops
from ..passes.operations import callee_of
from ..passes.structured import ASSUMED, word_for
from ..passes.tile import kernel_domain, scheduled_domain
from ..runtime.codegen import Target
from ..runtime.cuda.chips import find_chip
from .accept import accept
from .compile import looking
from .cpu import cpu_stages
from .cuda import cuda_stages
from .explain_edges import as_dict, edges_of
from .explain_savings import Program
from .metadata import ENTRY_FUNCTIONS
from .stages import Stage, run_stages
from .user_passes import user_passes

_TOTALS, _ATTENTION = "mlopt-raise", "mlopt-raise-attention"  # whose decisions are told apart
_FUSE, _OUTLINE, _TILE = "mlopt-fuse", "mlopt-outline", "mlopt-tile"


def explain_text(
    linalg_text: str,
    *,
    func_name: str = "main",
    chip: str = "",
    cpu: str = "host",
    tf32: bool = False,
    choices: str = "",
    passes: Sequence[str] = (),
    plugins: Sequence[str] = (),
) -> dict[str, Any]:
    """The kernels of the module ``linalg_text`` and the edges between their calls.

    For the ``cpu`` of this LLVM name ("host": this machine's), or the GPU ``chip`` ("sm_80"), whose tensor
    cores may round factors of f32 (``tf32``);
    ``choices`` are mlopt-schedule's; ``passes`` and ``plugins`` are those of
    `mlopt.pipelines.compile.lower_text`. Returns::

        {"kernels": [{"name", "labels", "cost": `Cost` as a dictionary, "schedule": {name: [sizes]},
                      "considered": blocks of a product that were compared and the time predicted for each,
                      "last_blocks": that the last block of each tile adds up its parts, and what that saves,
                      "tasks": how many independent ones it has, None if that is not known,
                      "path": "tile", "slow: why", or "host: why" of what is no kernel: a loop of the host
                      function, or a copy, "assumed": int}],
         "calls": [{"id", "function": "main" or "prepare", "kernel": its name,
                    "ops": [{"op", "where", and what a named op as softmax consists of: "members": [{"op",
                             "where"}]}], "bytes_unfused": of these ops as kernels of their own,
                    "fused": [{"ops": "exp -> add", "where": the lines of both, "bytes_saved",
                               "seconds_saved"}]}],
         "edges": [{"from": id, "to": id, "bytes", "beside": True if both read these bytes, and neither what
                    the other makes,
                    "reasons": [{"ops": "exp -> add" or "", "where" if there are ops, "reason", and what
                                 fusion would save, if known: "bytes_saved", "seconds_saved"}]}],
         "products": [{"ops": "file:line: matmul | matmul", which read one tensor and are in several kernels,
                       or one product now, "where": all of their lines, "reason" why they stayed several or
                       "", "bytes_saved", "seconds_saved"}],
         "apart": the same of each softmax between two products that is not one op with them,
         "totals": the same of each reduction of few results, "ops": "file:line: sum in 64 parts",
         "rewrites": the same of all else that a "pass" has rewritten before there were kernels, or left:
                     "ops": "transpose"; "bytes_kept": what @prepare makes for it}

    Bytes and FLOPs count dynamic sizes as "assumed", which is 0 where there are none.
    """
    if chip:
        target = cuda_stages(chip, find_chip(chip).ptx, tf32=tf32, choices=choices)
    else:
        target = cpu_stages(Target.resolve(cpu).vector_bits, choices=choices)
    with looking(), user_passes(target, passes, plugins) as stages:
        linalg, grouping, outline, schedule = _stages(stages)
        module = accept(linalg_text, func_name)
        run_stages(module.operation, (linalg, grouping))
        machine = find_machine(machine_for_code(chip))
        decisions = DECISIONS.get(module.operation) or ()
        rewrites = {name: [*each] for name, each in (REWRITES.get(module.operation) or {}).items()}
        groups = _groups(module, decisions)
        run_stages(module.operation, (outline,))
        reasons: dict[tuple[int, int], list[Decision]] = {}
        for each in decisions:
            reasons.setdefault((each.producer, each.consumer), []).append(each)
        functions = {
            _name(function): function for function in module.body.operations if _is_function(function)
        }
        calls: list[dict[str, Any]] = []
        host: list[dict[str, Any]] = []
        edges: list[dict[str, Any]] = []
        for name in ENTRY_FUNCTIONS:
            if name in functions:
                numbers = _add_calls(name, functions, groups, calls, host)
                callees = {
                    call: functions[calls[number]["kernel"]]
                    for call, number in numbers.items()
                    if not is_host_work(call)
                }
                edges += edges_of(functions[name], numbers, Program(callees, machine, tf32), reasons)
        run_stages(module.operation, (schedule,))
        for function in module.body.operations:
            _join_calls(function, calls, edges)
        kernels = [
            _kernel(function.operation, tf32, machine)
            for function in module.body.operations
            if KERNEL.get(function.operation)
        ]
    products = [as_dict(each) for each in decisions if each.producer == NO_GROUP]
    return {
        "kernels": kernels + host,
        "calls": calls,
        "edges": edges,
        "products": products,
        "apart": [as_dict(each) for each in rewrites.pop(_ATTENTION, ())],
        "totals": [as_dict(each) for each in rewrites.pop(_TOTALS, ())],
        "rewrites": [
            {"pass": name, **as_dict(each), "bytes_kept": each.kept}
            for name, decisions in rewrites.items()
            for each in decisions
        ],
    }


def _stages(target: Sequence[Stage]) -> tuple[Stage, Stage, Stage, Stage]:
    """To linalg; to groups; to kernels, which remember their groups; to schedules."""
    linalg, kernels, tile = (
        next(stage for stage in target if stage.name == name) for name in ("linalg", "kernels", "tile")
    )
    before, _, after = kernels.passes.partition(f",{_OUTLINE}")
    if _FUSE not in before:
        raise ValueError(f"the stage '{kernels.name}' no longer has {_FUSE},{_OUTLINE}: {kernels.passes}")
    schedule = tile.passes.partition(f",{_TILE}")[0]
    return (
        linalg,
        Stage("groups", before),
        Stage("outline", f"{_OUTLINE}{{keep-groups=true}}"),
        Stage("schedule", f"{after.removeprefix(',')},{schedule}".removeprefix(",")),
    )


def _is_function(op: ir.OpView) -> bool:
    return op.operation.name == "func.func"


def _name(function: ir.OpView) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def _groups(module: ir.Module, decisions: Iterable[Decision]) -> dict[int, dict[str, Any]]:
    """What is in each group, by its number, and what came together in it."""
    inside: dict[int, list[ir.Operation]] = {}
    for function in module.body.operations:
        for op in function.regions[0].blocks[0].operations if _is_function(function) else ():
            number = GROUP.get(op)
            if number is not None:
                inside.setdefault(number, []).append(op.operation)
    fused: dict[int, list[dict[str, Any]]] = {}
    for each in decisions:
        if not each.reason:
            edge = as_dict(each)
            del edge["reason"]
            fused.setdefault(each.producer, []).append(edge)
    return {number: {**_content(ops), "fused": fused.get(number, [])} for number, ops in inside.items()}


def _content(ops: Iterable[ir.Operation]) -> dict[str, Any]:
    """The ops that would be kernels if nothing were fused, and what they would move."""
    inside = list(ops)
    alone = [op for op in inside if is_kernel_alone(op)]
    return {
        "ops": [_told(name, members) for name, members in by_named_ops(alone)],
        "bytes_unfused": sum(cost_alone(op, ASSUMED).bytes for op in alone if not _is_view(op, inside)),
    }


def _told(name: str | None, ops: Sequence[ir.Operation]) -> dict[str, Any]:
    """An op of a kernel, or a named one and its members, with the lines that all of them come from."""
    told = [{"op": word_for(op), "where": place_of(op.location)} for op in ops]
    if name is None:
        return told[0]
    places = list(dict.fromkeys(each["where"] for each in told if each["where"]))
    file = f"{places[0].rpartition(':')[0]}:" if places else ""
    where = ", ".join([*places[:1], *(place.removeprefix(file) for place in places[1:])])
    return {"op": name, "where": where, "members": told}


def _is_view(op: ir.Operation, inside: Sequence[ir.Operation]) -> bool:
    """Whether ``op`` only says where its readers, all of them ``inside`` too, read a tensor."""
    moves = op.name == "tensor.extract_slice" or (op.name == "linalg.generic" and is_move(op))
    return moves and all(use.owner.operation in inside for use in op.results[0].uses)


def _add_calls(
    name: str,
    functions: dict[str, ir.OpView],
    groups: dict[int, dict[str, Any]],
    calls: list[dict[str, Any]],
    host: list[dict[str, Any]],
) -> dict[ir.Operation, int]:
    """Describe the calls of kernels in a host function, and as ``host`` its own work; the number of each."""
    numbers: dict[ir.Operation, int] = {}
    for op in entry_ops(functions[name].operation):
        if is_host_work(op):
            host.append(_host_work(op, len(host)))
            kernel = host[-1]["name"]
            ops = [{"op": host_label(op), "where": place_of(op.location)}]
            content = {"ops": ops, "bytes_unfused": host[-1]["cost"]["bytes"], "fused": []}
        elif op.name == "func.call":
            kernel = callee_of(op)
            group = GROUP.get(op)
            body = (each.operation for each in functions[kernel].regions[0].blocks[0].operations)
            content = groups[group] if group is not None else {**_content(body), "fused": []}
        else:
            continue
        numbers[op] = len(calls)
        calls.append({"id": len(calls), "function": name, "kernel": kernel, **content})
    return numbers


def _join_calls(kernel: ir.OpView, calls: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    """Make one call of two whose kernels became ``kernel`` together, if they did."""
    pair = JOINED.get(kernel)
    names = {call["id"]: call["kernel"] for call in calls}
    for edge in [each for each in edges if pair == (names[each["from"]], names[each["to"]])]:
        maker, reader = (next(call for call in calls if call["id"] == edge[end]) for end in ("from", "to"))
        if any(each["from"] == maker["id"] and not each["beside"] and each is not edge for each in edges):
            continue  # somebody else reads the parts, too
        maker.update({name: maker[name] + reader[name] for name in ("ops", "bytes_unfused", "fused")})
        maker["kernel"] = _name(kernel)
        calls.remove(reader)
        edges.remove(edge)
        for each in edges:
            each.update({end: maker["id"] for end in ("from", "to") if each[end] == reader["id"]})


def _host_work(op: ir.Operation, number: int) -> dict[str, Any]:
    label = host_label(op)
    return {
        "name": f"host_{number}_{label}",
        "labels": [label],
        "cost": cost_of_host_work(op, ASSUMED).as_dict(),
        "schedule": {},
        "considered": [],
        "last_blocks": "",
        "tasks": 1,
        "path": "host: one thread, in order",
        "assumed": _assumed(value.type for value in op.operands),
    }


def _kernel(function: ir.Operation, tf32: bool, machine: Machine) -> dict[str, Any]:
    slow, domain = SLOW.get(function), kernel_domain(function)
    again = 0 if isinstance(domain, str) else bytes_again(domain, machine, ASSUMED)
    return {
        "name": ir.StringAttr(function.attributes["sym_name"]).value,
        "labels": list(OPS.get(function) or ()),
        "cost": (cost_of(function, tf32, ASSUMED) + Cost(again)).as_dict(),
        "schedule": {name: list(sizes) for name, sizes in (SCHEDULE.get(function) or {}).items()},
        "considered": list(CONSIDERED.get(function) or ()),
        "last_blocks": LAST_BLOCKS.get(function) or "",
        "tasks": _tasks(function),
        "path": "tile" if slow is None else f"slow: {slow}",
        "assumed": _assumed(argument.type for argument in function.regions[0].blocks[0].arguments),
    }


def _assumed(types: Iterable[ir.Type]) -> int:
    """What dynamic sizes count as, if the types have some, else 0."""
    shaped = (each for each in types if isinstance(each, (ir.RankedTensorType, ir.MemRefType)))
    return 0 if all(each.has_static_shape for each in shaped) else ASSUMED


def _tasks(function: ir.Operation) -> int | None:
    """The tasks that the schedule divides a kernel into; None for dynamic sizes, or without a schedule."""
    tiles, domain = (SCHEDULE.get(function) or {}).get("tile"), scheduled_domain(function)
    if tiles is None or isinstance(domain, str):
        return None
    divided = [dim for dim in domain.dims if dim.kind == "parallel" and not dim.walked and tiles[dim.id]]
    counts = [None if dim.extent is None else ceil(dim.extent / tiles[dim.id]) for dim in divided]
    (parts,) = (SCHEDULE.get(function) or {}).get("parts", (1,))
    return None if None in counts else max(prod(count or 0 for count in counts) * parts, 1)
