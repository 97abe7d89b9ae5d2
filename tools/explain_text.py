"""What ``mlopt explain`` prints for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..tables import aligned
from .explain import Explained, Explanation, Tuning, total


def text(explained: Explanation) -> str:
    """All of it: a table of kernels, what is in them, and the edges between them."""
    lines = [f"{explained.source} for {explained.target}; times are those of {explained.machine.title}"]
    for function in ("main", "prepare"):
        kernels = explained.of(function)
        if kernels:
            lines += ["", *_function_lines(explained, function, kernels)]
    for heading, about in notes(explained).items():
        lines += ["", heading, *(f"    {line}" for line in about)]
    tuned = list(_tuning(explained.tuning))
    lines += ["", *tuned] if tuned else []
    assumed = max((kernel.assumed for kernel in explained.kernels), default=0)
    if assumed:
        lines += ["", f"dynamic sizes count as {assumed} in bytes, FLOPs and times"]
    return "\n".join(lines)


def _tuning(found: Tuning) -> Iterator[str]:
    """Whose choice the schedules are, where ``tune=True`` has to do with it."""
    names = " ".join(f"{name}:{number}" for name, number in (found.choices or {}).items())
    if found.asked and found.choices is None:
        yield "schedules are the cost model's: tune=True has kept no measurement of this program"
    elif found.asked:
        others = names or "none"
        yield f"schedules are those that tune=True measured as fastest; not the cost model's: {others}"
    elif names:
        yield f"tune=True has kept other schedules, which MLOPT_TUNE=1 shows: {names}"


def notes(explained: Explanation) -> dict[str, list[str]]:
    """What is said of no kernel and no edge, by headings."""
    found = {
        "products that read one tensor:": [_decided(each, "one product, ") for each in explained.products],
        "softmaxes that are kernels of their own between two products:": map(_decided, explained.apart),
        "reductions of few results:": map(_decided, explained.totals),
        "rewritten before there were kernels, or left:": _rewritten(explained.rewrites),
    }
    counts = {heading: Counter(lines) for heading, lines in found.items()}
    return {
        heading: [line + (f" ({count} times)" if count > 1 else "") for line, count in lines.items()]
        for heading, lines in counts.items()
        if lines
    }


def _rewritten(rewrites: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for all that a pass has done, and one for each reason why it left something."""
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in rewrites:
        alike.setdefault((each["pass"], each["reason"]), []).append(each)
    for (name, reason), same in alike.items():
        counts = Counter(each["ops"] for each in same)
        ops = ", ".join(ops + (f" ({count} times)" if count > 1 else "") for ops, count in counts.items())
        places = _places([place for each in same for place in each.get("where", ())], ", ")
        size, seconds, kept = (
            sum(each[name] for each in same) for name in ("bytes_saved", "seconds_saved", "bytes_kept")
        )
        save, keep = ("would save", "would keep") if reason else ("saves", "keeps")
        numbers = [f"{save} {saving(size, seconds)}"] if size or seconds else []
        numbers += [f"{keep} {mega(kept)} MB made of weights"] if kept else []
        yield f"{name}: {ops}{places}: {'; '.join(filter(None, (reason, *numbers)))}"


def _function_lines(explained: Explanation, function: str, kernels: Sequence[Explained]) -> Iterator[str]:
    yield summary(explained, function)
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


def summary(explained: Explanation, function: str) -> str:
    """The sums of @main, by the name that the source gives it, or of @prepare."""
    sums = total(explained.of(function))
    name = explained.entry if function == "main" else function
    return (
        f"@{name}: {_count(sums['calls'], 'call')} of {_count(sums['kernels'], 'kernel')}"
        + (f" and {_count(sums['host'], 'step')} of the host" if sums["host"] else "")
        + f", {mega(sums['bytes'])} MB ({mega(sums['bytes_unfused'])} if nothing were fused),"
        f" {mega(sums['flops'])} MFLOP, {micro(sums['seconds'])} µs"
        + (" whenever weights change" if function == "prepare" else "")
    )


def _row(kernel: Explained) -> tuple[str, ...]:
    special = sum(kernel.cost.special.values())
    intensity = kernel.cost.intensity
    schedule = " ".join(f"{name}={'×'.join(map(str, sizes))}" for name, sizes in kernel.schedule.items())
    return (
        kernel.name,
        str(len(kernel.calls)),
        mega(kernel.cost.bytes),
        mega(kernel.bytes_unfused),
        mega(kernel.cost.flops),
        mega(special) if special else "",
        "" if intensity is None else f"{intensity:.1f}",
        kernel.prediction.bound_by,
        micro(kernel.prediction.seconds),
        schedule or kernel.path,
    )


def _content(kernel: Explained) -> Iterator[str]:
    """The kernel's ops by the lines that they come from; calls from the same lines are one."""
    yield kernel.name
    rows: dict[tuple[str, ...], None] = {}
    for call in kernel.calls:
        places: dict[str, list[str]] = {}
        for op in call["ops"]:
            places.setdefault(op["where"], []).append(words_for(op))
        rows.update(dict.fromkeys(("   ", ", ".join(ops), place) for place, ops in places.items()))
    yield from aligned(list(rows), left=(0, 1, 2)) if rows else ()
    saved = list(_fused(kernel))
    yield from aligned(saved, left=(0, 1, 2)) if saved else ()
    for number, block in enumerate(kernel.considered):
        yield f"     {'rather than' if number else 'blocks of'} {block}"
    if kernel.last_blocks:
        yield f"     {kernel.last_blocks}"


def words_for(op: Mapping[str, Any]) -> str:
    """An op of a kernel; a named one with what it consists of."""
    members = [member["op"] for member in op.get("members", ())]
    return f"{op['op']} ({', '.join(members)})" if len(members) > 1 else str(op["op"])


def _fused(kernel: Explained) -> Iterator[tuple[str, ...]]:
    """What each fusion of the kernel saved, the largest first; equal ones are one line."""
    edges = [each for call in kernel.calls[:1] for each in call["fused"]]
    counts = Counter((each["ops"], each["bytes_saved"], each["seconds_saved"]) for each in edges)
    for (ops, size, seconds), count in sorted(counts.items(), key=lambda item: -item[0][2]):
        times = f" ({count} times)" if count > 1 else ""
        yield "   ", f"fused {ops}{times}", f"saves {saving(size, seconds)}"


def _edge_lines(explained: Explanation, function: str) -> Iterator[str]:
    names = {call["id"]: kernel for kernel in explained.of(function) for call in kernel.calls}
    found: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for edge in explained.edges:
        if edge["from"] in names:
            pair = names[edge["from"]].name, names[edge["to"]].name
            between = (" | " if edge["beside"] else " -> ").join(pair)
            found[between, moved(edge), tuple(reasons_of(edge))] += 1
    for (between, size, reasons), count in found.items():
        times = f", {count} times" if count > 1 else ""
        yield f"{between} ({size}{times})"
        for reason in reasons:
            yield f"    {reason}"


def reasons_of(edge: Mapping[str, Any]) -> list[str]:
    """Why two kernels are two, a line a reason, with what fusion would save or cost where that is known.

    That is what one kernel saves: several reasons against it have it together, in a line of its own.
    """
    reasons = edge["reasons"]
    savings = {_would_save(each) for each in reasons if "seconds_saved" in each}
    apart = [(_why(each), _would_save(each) if "seconds_saved" in each else "") for each in reasons]
    if len(savings) == 1 and len({why for why, _ in apart}) > 1:
        apart = [(why, "") for why, _ in apart]
    else:
        savings = set()
    lines = Counter(map("".join, apart))
    found = [line if count == 1 else f"{line} ({count} times)" for line, count in lines.items()]
    return found + [f"one kernel{each.removeprefix(';')}" for each in savings]


def _why(reason: Mapping[str, Any]) -> str:
    ops = f"{reason['ops']}{_places(reason.get('where', ()))}: " if reason["ops"] else ""
    return f"{ops}{reason['reason']}"


def _places(places: Sequence[str], between: str = " -> ") -> str:
    """Where the ops of an edge, or other ones, come from, a file once."""
    known = list(dict.fromkeys(place for place in places if place))
    if not known:
        return ""
    file = known[0].rpartition(":")[0]
    lines = [place.removeprefix(f"{file}:") if file else place for place in known[1:]]
    return f" ({between.join([known[0], *lines])})"


def _decided(found: Mapping[str, Any], taken: str = "") -> str:
    """What was decided before there were kernels; ``taken``: what it became if it was."""
    if found["reason"]:
        return f"{found['ops']}: {found['reason']}{_would_save(found)}"
    return f"{found['ops']}: {taken}saves {saving(found['bytes_saved'], found['seconds_saved'])}"


def _would_save(refused: Mapping[str, Any]) -> str:
    return f"; would save {saving(refused['bytes_saved'], refused['seconds_saved'])}"


def saving(size: int, seconds: float) -> str:
    """What a fusion saves, as the end of a sentence."""
    time = f", {micro(seconds)} µs" if seconds >= 0 else f" and cost {micro(-seconds)} µs"
    return f"{mega(size)} MB{time}"


def moved(edge: Mapping[str, Any]) -> str:
    """What goes along an edge, or is read at both of its ends."""
    return f"{mega(edge['bytes'])} MB" + (", read by both" if edge["beside"] else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def mega(number: int) -> str:
    """Millions."""
    return f"{number / 1e6:.3f}"


def micro(seconds: float) -> str:
    """Microseconds."""
    return f"{seconds * 1e6:.2f}"
