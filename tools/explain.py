"""What ``mlopt explain`` tells: each kernel with its cost and time, each edge with why it was not fused.

explain_text.py and explain_svg.py show it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from ..errors import InputError
from ..options import Options
from ..passes.costs.cost import Cost
from ..passes.costs.machine import DEFAULT_CPU, Machine, find_machine, machine_for_chip, machine_names
from ..passes.costs.roofline import Prediction, predict
from ..processors import did_you_mean
from ..runtime import pool, requests, tuning
from ..runtime.cuda.chips import chip_of, is_cuda
from .programs import check_func
from .sources import read

_EXPLAIN = "mlopt.pipelines.explain:explain_text"
HOST = "host"
_FROM_TEXT = re.compile("^-:")  # MLIR's name for the file of a text that it is given


@dataclass(frozen=True)
class Explained:
    """One kernel and all its calls in ``function``, or what that does itself; sums and times of one call."""

    name: str
    function: str
    calls: tuple[Mapping[str, Any], ...]
    cost: Cost
    prediction: Prediction
    schedule: Mapping[str, Sequence[int]]
    path: str
    assumed: int  # what its dynamic sizes count as, 0: it has none
    tasks: int | None
    considered: tuple[str, ...] = ()  # blocks that were compared, the schedule's first
    last_blocks: str = ""  # that the last block of each tile adds up its parts

    @property
    def is_kernel(self) -> bool:
        """Not a loop of the host function, nor a copy there."""
        return not self.path.startswith("host: ")

    @property
    def bytes_unfused(self) -> int:
        """What the ops would move as kernels of their own."""
        return int(self.calls[0]["bytes_unfused"])

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "name": self.name,
            "function": self.function,
            "calls": [{"id": call["id"], "ops": call["ops"], "fused": call["fused"]} for call in self.calls],
            "bytes": self.cost.bytes,
            "bytes_unfused": self.bytes_unfused,
            "flops": self.cost.flops,
            "flops_of_contractions": dict(self.cost.contracted),
            "flops_elementwise": dict(self.cost.elementwise),
            "special_functions": dict(self.cost.special),
            "intensity": self.cost.intensity,
            "bound_by": self.prediction.bound_by,
            "seconds": self.prediction.seconds,
            "seconds_of": {
                "memory": self.prediction.memory,
                "compute": self.prediction.compute,
                "special functions": self.prediction.special,
                "launch": self.prediction.launch,
            },
            "schedule": {name: list(sizes) for name, sizes in self.schedule.items()},
            "considered": list(self.considered),
            "last_blocks": self.last_blocks,
            "tasks": self.tasks,
            "path": self.path,
            "dynamic_sizes_count_as": self.assumed or None,
        }


@dataclass(frozen=True)
class Tuning:
    """What ``tune=True`` (MLOPT_TUNE=1) has to do with the schedules: whether it is ``asked`` for here.

    ``choices`` are the candidates that it measured as faster and has kept, by kernel: the schedules that are
    shown are these if it is asked for. None: it has measured nothing.
    """

    asked: bool = False
    choices: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Explanation:
    """A program's kernels and the edges between their calls, for ``machine``."""

    source: str
    target: str
    machine: Machine
    kernels: tuple[Explained, ...]
    edges: tuple[Mapping[str, Any], ...]
    apart: tuple[Mapping[str, Any], ...] = ()  # softmaxes between two products that are no attention
    products: tuple[Mapping[str, Any], ...] = ()  # of one tensor, joined or not
    totals: tuple[Mapping[str, Any], ...] = ()  # reductions of few results, in parts or not
    rewrites: tuple[Mapping[str, Any], ...] = ()  # by passes before there were kernels, made or not
    entry: str = "main"  # what the source calls @main
    tuning: Tuning = Tuning()

    def of(self, function: str) -> list[Explained]:
        """The kernels that @main or @prepare calls."""
        return [kernel for kernel in self.kernels if kernel.function == function]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        names = {call["id"]: kernel for kernel in self.kernels for call in kernel.calls}
        return {
            "entry": self.entry,
            "source": self.source,
            "target": self.target,
            "machine": self.machine.as_dict(),
            "kernels": [kernel.as_dict() for kernel in self.kernels],
            "edges": [
                {
                    **edge,
                    "function": names[edge["from"]].function,
                    "from_kernel": names[edge["from"]].name,
                    "to_kernel": names[edge["to"]].name,
                }
                for edge in self.edges
            ],
            "products": [dict(each) for each in self.products],
            "totals": [dict(each) for each in self.totals],
            "attention_apart": [dict(each) for each in self.apart],
            "rewrites": [dict(each) for each in self.rewrites],
            "tuning": asdict(self.tuning),
            "total": total(self.of("main")),
        }


def total(kernels: Sequence[Explained]) -> dict[str, Any]:
    """The sums over all calls."""
    counted = [(kernel, len(kernel.calls)) for kernel in kernels]
    return {
        "kernels": sum(kernel.is_kernel for kernel in kernels),
        "calls": sum(calls for kernel, calls in counted if kernel.is_kernel),
        "host": sum(not kernel.is_kernel for kernel in kernels),
        "bytes": sum(kernel.cost.bytes * calls for kernel, calls in counted),
        "bytes_unfused": sum(call["bytes_unfused"] for kernel in kernels for call in kernel.calls),
        "flops": sum(kernel.cost.flops * calls for kernel, calls in counted),
        "seconds": sum(kernel.prediction.seconds * calls for kernel, calls in counted),
    }


def explain(source: str, func: str, target: str | None = None, machine: str = "") -> Explanation:
    """Explain ``FILE.mlir``, ``FILE.py:FUNCTION`` or ``FILE.pt2``; ``machine`` as `choose_machine`'s.

    ``func`` is the function of an .mlir file that is called; InputError for another one than main elsewhere.
    """
    check_func(source, func)
    options = Options.resolve(**({} if target is None else {"target": target}))
    target = options.target
    chosen = choose_machine(target, machine)
    program = read(source, func, options)
    tuned = program.choices(options)
    choices = tuning.text_of(tuned or {}) if options.tune else ""
    found: dict[str, Any] = ask(_EXPLAIN, program.linalg, func, options, choices=choices, cpu=options.cpu)
    ops = [op for call in found["calls"] for op in call["ops"]]
    for each in (*ops, *(member for op in ops for member in op.get("members", ()))):
        each["where"] = in_source(source, each["where"])
    decided = [each for call in found["calls"] for each in call["fused"]]
    refused = [reason for edge in found["edges"] for reason in edge["reasons"]]
    before = [*found["products"], *found["apart"], *found["totals"]]
    for each in (*decided, *refused, *before, *found["rewrites"]):
        if "where" in each:
            each["where"] = [in_source(source, place) for place in each["where"]]
    for each in before:
        each["ops"] = in_source(source, each["ops"])
    by_name = {kernel["name"]: kernel for kernel in found["kernels"]}
    calls: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for call in found["calls"]:
        calls.setdefault((call["function"], call["kernel"]), []).append(call)
    kernels = [
        _explained(by_name[name], function, tuple(each), chosen) for (function, name), each in calls.items()
    ]
    edges, tuning_of = tuple(found["edges"]), Tuning(options.tune, tuned)
    made = {name: tuple(found[name]) for name in ("apart", "products", "totals", "rewrites")}
    return Explanation(source, target, chosen, tuple(kernels), edges, **made, entry=func, tuning=tuning_of)


def _explained(
    kernel: Mapping[str, Any], function: str, calls: tuple[Mapping[str, Any], ...], machine: Machine
) -> Explained:
    cost = Cost(**kernel["cost"])
    tasks = kernel["tasks"]
    few = tasks if tasks is not None and tasks < machine.processors else None  # else all are busy
    alone = predict(cost, machine, 1)
    is_small = alone.seconds - machine.launch <= machine.small  # one thread has it, whatever its tasks
    prediction = alone if is_small and not machine.chips else predict(cost, machine, few)
    schedule, path, assumed = kernel["schedule"], kernel["path"], kernel["assumed"]
    considered, last = tuple(kernel["considered"]), kernel["last_blocks"]
    return Explained(
        kernel["name"], function, calls, cost, prediction, schedule, path, assumed, tasks, considered, last
    )


def ask(entry: str, linalg: str, func: str, options: Options, **extras: str) -> Any:
    """What the function ``entry`` of a compile worker ("module:name") says of a program for the target."""
    return pool.call(
        "compile",
        entry,
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=linalg,
        func_name=func,
        chip=chip_of(options.target).name if is_cuda(options.target) else "",
        **requests.user_passes_of(options),
        **requests.rounding_of(options),
        **extras,
    )


def in_source(source: str, place: str) -> str:
    """A place that a worker names, with the name of the file that it comes from."""
    return _FROM_TEXT.sub(lambda _: f"{source}:", place)


def choose_machine(target: str, name: str) -> Machine:
    """The machine called ``name``; by default this CPU, as it was measured, or the target's first GPU.

    ``host`` is this CPU, `machine_names` are those with descriptions.
    """
    if name == HOST or (not name and not is_cuda(target)):
        from ..host_machine import host_machine

        found: Machine | None = host_machine(tell=partial(print, file=sys.stderr, flush=True))
    elif name:
        known = (HOST, *machine_names())
        if name not in known:
            raise InputError(
                f"there is no description of a machine '{name}'{did_you_mean(name, known)}",
                remedy=f"use one of: {', '.join(known)}",
            )
        found = find_machine(name)
    else:
        found = machine_for_chip(chip_of(target).name)
    if found is None:
        names = ", ".join(each for each in machine_names() if each != DEFAULT_CPU)
        raise InputError(
            f"there is no description of a GPU with {target}", remedy=f"pass --machine with one of: {names}"
        )
    if bool(found.chips) != is_cuda(target):
        raise InputError(
            f"the target is {target}, and {found.title} is {'a GPU' if found.chips else 'a CPU'}",
            remedy="leave out --machine, or name another one",
        )
    return found
