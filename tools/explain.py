"""What ``mlopt explain`` tells: each kernel with its cost and time, each edge with why it was not fused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..options import Options
from ..passes.costs.cost import Cost
from ..passes.costs.machine import DEFAULT_CPU, Machine, find_machine, machine_for_chip, machine_names
from ..passes.costs.roofline import Prediction, predict
from ..runtime import pool, requests
from ..runtime.cuda.chips import chip_of, is_cuda
from ..tables import aligned
from .programs import call_factory, read_mlir, split_source

_EXPLAIN = "mlopt.pipelines.explain:explain_text"
HOST = "host"
_FROM_TEXT = re.compile("^-:")  # MLIR's name for the file of a text that it is given


@dataclass(frozen=True)
class Explained:
    """One kernel and all its calls in ``function``; sums and times are of one call."""

    name: str
    function: str
    calls: tuple[Mapping[str, Any], ...]
    cost: Cost
    prediction: Prediction
    schedule: Mapping[str, Sequence[int]]
    path: str
    dynamic: bool

    @property
    def bytes_unfused(self) -> int:
        """What the ops would move as kernels of their own."""
        return int(self.calls[0]["bytes_unfused"])

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "name": self.name,
            "function": self.function,
            "calls": [{"id": call["id"], "ops": call["ops"]} for call in self.calls],
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
            "path": self.path,
            "dynamic_sizes_count_as_1": self.dynamic,
        }


@dataclass(frozen=True)
class Explanation:
    """A program's kernels and the edges between their calls, for ``machine``."""

    source: str
    target: str
    machine: Machine
    kernels: tuple[Explained, ...]
    edges: tuple[Mapping[str, Any], ...]

    def of(self, function: str) -> list[Explained]:
        """The kernels that @main or @prepare calls."""
        return [kernel for kernel in self.kernels if kernel.function == function]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        names = {call["id"]: kernel for kernel in self.kernels for call in kernel.calls}
        return {
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
            "total": total(self.of("main")),
        }


def total(kernels: Sequence[Explained]) -> dict[str, Any]:
    """The sums over all calls."""
    counted = [(kernel, len(kernel.calls)) for kernel in kernels]
    return {
        "kernels": len(kernels),
        "calls": sum(calls for _, calls in counted),
        "bytes": sum(kernel.cost.bytes * calls for kernel, calls in counted),
        "bytes_unfused": sum(call["bytes_unfused"] for kernel in kernels for call in kernel.calls),
        "flops": sum(kernel.cost.flops * calls for kernel, calls in counted),
        "seconds": sum(kernel.prediction.seconds * calls for kernel, calls in counted),
    }


def explain(source: str, func: str, target: str | None = None, machine: str = "") -> Explanation:
    """Explain ``FILE.mlir`` or ``FILE.py:FUNCTION``; ``machine`` as `choose_machine`'s."""
    options = Options.resolve(**({} if target is None else {"target": target}))
    target = options.target
    chosen = choose_machine(target, machine)
    chip = chip_of(target).name if is_cuda(target) else ""
    found = pool.call(
        "compile",
        _EXPLAIN,
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=linalg_of(source, options),
        func_name="main" if split_source(source) else func,
        chip=chip,
    )
    for op in (op for call in found["calls"] for op in call["ops"]):
        op["where"] = _FROM_TEXT.sub(lambda _: f"{source}:", op["where"])
    by_name = {kernel["name"]: kernel for kernel in found["kernels"]}
    calls: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for call in found["calls"]:
        calls.setdefault((call["function"], call["kernel"]), []).append(call)
    kernels = [
        _explained(by_name[name], function, tuple(each), chosen) for (function, name), each in calls.items()
    ]
    return Explanation(source, target, chosen, tuple(kernels), tuple(found["edges"]))


def _explained(
    kernel: Mapping[str, Any], function: str, calls: tuple[Mapping[str, Any], ...], machine: Machine
) -> Explained:
    cost = Cost(**kernel["cost"])
    prediction = predict(cost, machine)
    schedule, path, dynamic = kernel["schedule"], kernel["path"], kernel["dynamic"]
    return Explained(kernel["name"], function, calls, cost, prediction, schedule, path, dynamic)


def linalg_of(source: str, options: Options) -> str:
    """The program as linalg text, each op with its source line."""
    factory = split_source(source)
    if factory is None:
        return read_mlir(Path(source))
    module, examples = call_factory(*factory)
    from .tracing import trace  # imports torch

    program = trace(module, examples)
    return requests.import_program(program.text, program.weight_positions, options)


def choose_machine(target: str, name: str) -> Machine:
    """The machine called ``name``; by default this CPU, as it was measured, or the target's first GPU.

    ``host`` is this CPU, `machine_names` are those with descriptions.
    """
    if name == HOST or (not name and not is_cuda(target)):
        from ..host_machine import host_machine

        found: Machine | None = host_machine()
    elif name:
        try:
            found = find_machine(name)
        except LookupError as error:
            raise InputError(f"there is no description of a machine '{name}'", remedy=str(error)) from None
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


def text(explained: Explanation) -> str:
    """All of it for people."""
    lines = [f"{explained.source} for {explained.target}; times are those of {explained.machine.title}"]
    for function in ("main", "prepare"):
        kernels = explained.of(function)
        if kernels:
            lines += ["", *_function_lines(explained, function, kernels)]
    if any(kernel.dynamic for kernel in explained.kernels):
        lines += ["", "dynamic sizes count as 1 in bytes, FLOPs and times"]
    return "\n".join(lines)


def _function_lines(explained: Explanation, function: str, kernels: Sequence[Explained]) -> Iterator[str]:
    sums = total(kernels)
    yield (
        f"@{function}: {_count(sums['calls'], 'call')} of {_count(sums['kernels'], 'kernel')},"
        f" {_mega(sums['bytes'])} MB ({_mega(sums['bytes_unfused'])} if nothing were fused),"
        f" {_mega(sums['flops'])} MFLOP, {_micro(sums['seconds'])} µs"
        + (" whenever weights change" if function == "prepare" else "")
    )
    rows = [("kernel", "calls", "MB", "unfused", "MFLOP", "special", "FLOP/B", "bound by", "µs", "schedule")]
    yield from aligned(rows + [_row(kernel) for kernel in kernels], left=(0, 7, 9))
    yield ""
    for kernel in kernels:
        yield from _content(kernel)
    edges = list(_edge_lines(explained, function))
    if edges:
        yield ""
        yield "not fused:"
        yield from edges


def _row(kernel: Explained) -> tuple[str, ...]:
    special = sum(kernel.cost.special.values())
    intensity = kernel.cost.intensity
    schedule = " ".join(f"{name}={'×'.join(map(str, sizes))}" for name, sizes in kernel.schedule.items())
    return (
        kernel.name,
        str(len(kernel.calls)),
        _mega(kernel.cost.bytes),
        _mega(kernel.bytes_unfused),
        _mega(kernel.cost.flops),
        _mega(special) if special else "",
        "" if intensity is None else f"{intensity:.1f}",
        kernel.prediction.bound_by,
        _micro(kernel.prediction.seconds),
        schedule or kernel.path,
    )


def _content(kernel: Explained) -> Iterator[str]:
    """The kernel's ops by the lines that they come from; calls from the same lines are one."""
    yield kernel.name
    rows: dict[tuple[str, ...], None] = {}
    for call in kernel.calls:
        places: dict[str, list[str]] = {}
        for op in call["ops"]:
            places.setdefault(op["where"], []).append(op["op"])
        rows.update(dict.fromkeys(("   ", ", ".join(ops), place) for place, ops in places.items()))
    yield from aligned(list(rows), left=(0, 1, 2)) if rows else ()


def _edge_lines(explained: Explanation, function: str) -> Iterator[str]:
    names = {call["id"]: kernel for kernel in explained.of(function) for call in kernel.calls}
    found: Counter[tuple[str, str, int, tuple[str, ...]]] = Counter()
    for edge in explained.edges:
        if edge["from"] in names:
            reasons = tuple(
                f"{each['ops']}: {each['reason']}" if each["ops"] else each["reason"]
                for each in edge["reasons"]
            )
            found[names[edge["from"]].name, names[edge["to"]].name, edge["bytes"], reasons] += 1
    for (maker, reader, size, reasons), count in found.items():
        times = f", {count} times" if count > 1 else ""
        yield f"{maker} -> {reader} ({_mega(size)} MB{times})"
        for reason in reasons:
            yield f"    {reason}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _mega(number: int) -> str:
    return f"{number / 1e6:.3f}"


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.2f}"
