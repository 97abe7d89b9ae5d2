"""The main job, end to end: two real models through `mlopt.jit`, checked and timed.

``make demo`` compiles ResNet-18 (224 x 224, batch 1) and a GPT-2-sized block (768 wide, 12
heads, 128 tokens) with random weights, by `mlopt.jit` and by `torch.compile(backend="mlopt")`,
compares the results with float64 eager, times them beside eager and torch.compile, and writes
every stage of the IR to ``build/demo/``. The compile cache is empty at first; at the end a new
process compiles both models again, from the cache.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import demo_gpu
import mlopt
import torch
import torch._inductor.config as inductor_config
from facts import error, milliseconds
from mlopt.backend import report
from mlopt.test.corpus import DEMO
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

OUT = Path("build/demo")
ROUNDS = 15
CACHE = OUT / "cache"
WARM_SHARE = 0.25
STEPS = (
    "capture and compile",
    "as torch.compile's backend",
    "check against float64",
    "torch.compile",
    "time",
)


@dataclass(frozen=True)
class Backend:
    """A model through ``torch.compile(backend="mlopt")``."""

    call: Callable[[], torch.Tensor]
    compile_time: float
    coverage: float
    slow: int


@dataclass(frozen=True)
class Row:
    """What the demo says of one model; times of compilations in seconds, of calls in milliseconds."""

    name: str
    ops: int
    kernels: int
    slow: int
    error: float
    eager_error: float
    compile_time: float
    torch_compile_time: float | None
    ours: float
    eager: float
    torch_compile: float | None
    backend: float
    backend_error: float
    backend_compile_time: float
    coverage: float


def as_backend(module: torch.nn.Module, x: torch.Tensor) -> Backend:
    """Compile ``module`` by torch.compile with mlopt for its backend."""
    start = time.perf_counter()
    compiled = torch.compile(module, backend="mlopt")
    compiled(x)
    seconds = time.perf_counter() - start
    graph = report().graphs[-1]
    slow = sum(kernel.is_slow for kernel in graph.kernels)
    return Backend(lambda: compiled(x), seconds, graph.coverage, slow)


def inductor(module: torch.nn.Module, x: torch.Tensor) -> tuple[Callable[[], object] | None, float | None]:
    """torch.compile's own backend on the same input, or None where it has no C++ compiler."""
    start = time.perf_counter()
    try:
        inductor_config.force_disable_caches = True  # a cold compilation, as ours
        compiled = torch.compile(module)
        compiled(x)
    except Exception as error:  # any failure of the peer leaves its column empty, named
        print(f"torch.compile did not run: {type(error).__name__}", file=sys.stderr)
        return None, None
    return lambda: compiled(x), time.perf_counter() - start


def compile_seconds(models: dict[str, tuple[torch.nn.Module, torch.Tensor]]) -> dict[str, float]:
    """How long `mlopt.jit` takes for each model, one after the other."""
    seconds = {}
    with torch.no_grad():
        for name, (module, x) in models.items():
            start = time.perf_counter()
            mlopt.jit(module, x)
            seconds[name] = time.perf_counter() - start
    return seconds


def warm_seconds() -> dict[str, float]:
    """`compile_seconds` of a new process, which finds everything in the cache."""
    command = [sys.executable, __file__, "--warm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def run(name: str, module: torch.nn.Module, x: torch.Tensor, advance: Callable[[str], None]) -> Row:
    """Compile, check and time one model; write its stages to ``build/demo/NAME/``."""
    advance(STEPS[0])
    start = time.perf_counter()
    ours = mlopt.jit(module, x, verify=True)
    compile_time = time.perf_counter() - start

    advance(STEPS[1])
    backend = as_backend(module, x)

    advance(STEPS[2])
    eager, got = module(x), ours(x)  # the first call raises where an element is wrong
    exact = copy.deepcopy(module).double()(x.double())
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, (stage, text) in enumerate(ours.asm.items()):
        suffix = "s" if stage == "object" else "mlir"
        (folder / f"{number}-{stage}.{suffix}").write_text(text)
    (folder / "report.txt").write_text(str(ours.report))

    advance(STEPS[3])
    peer, peer_compile_time = inductor(module, x)

    advance(STEPS[4])
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: ours(x),
        "backend": backend.call,
        "eager": lambda: module(x),
    }
    if peer is not None:
        calls["peer"] = peer
    times = milliseconds(calls, ROUNDS)
    return Row(
        name=name,
        ops=len(ours.report.ops),
        kernels=sum(kernel.calls for kernel in ours.kernels if kernel.function == "main"),
        slow=len(ours.report.slow_paths) + backend.slow,
        error=error(got, exact),
        eager_error=error(eager, exact),
        compile_time=compile_time,
        torch_compile_time=peer_compile_time,
        ours=times["ours"],
        eager=times["eager"],
        torch_compile=times.get("peer"),
        backend=times["backend"],
        backend_error=error(backend.call(), exact),
        backend_compile_time=backend.compile_time,
        coverage=backend.coverage,
    )


def table(rows: list[Row], warm: dict[str, float]) -> Table:
    """The demo's result, one model a column; ``warm`` are seconds of a compilation from the cache."""
    result = Table(title=f"float32, {torch.get_num_threads()} threads, medians of {ROUNDS} interleaved runs")
    result.add_column("")
    for row in rows:
        result.add_column(row.name, justify="right")
    lines: dict[str, Callable[[Row], str]] = {
        "ops in": lambda row: str(row.ops),
        "kernels out, a call": lambda row: str(row.kernels),
        "kernels on the slow path": lambda row: str(row.slow),
        "largest error against float64": lambda row: f"{row.error:.1e}",
        "  as torch.compile's backend": lambda row: f"{row.backend_error:.1e}",
        "  eager's": lambda row: f"{row.eager_error:.1e}",
        "compile, s": lambda row: f"{row.compile_time:.1f}",
        "  again in a new process": lambda row: f"{warm[row.name]:.1f}",
        "  as torch.compile's backend ": lambda row: f"{row.backend_compile_time:.1f}",
        "  torch.compile": lambda row: _number(row.torch_compile_time, 1),
        "run, ms": lambda row: _number(row.ours, 2),
        "  as torch.compile's backend  ": lambda row: _number(row.backend, 2),
        "  eager": lambda row: _number(row.eager, 2),
        "  torch.compile ": lambda row: _number(row.torch_compile, 2),
        "eager / mlopt": lambda row: f"{row.eager / row.ours:.2f}",
    }
    for label, show in lines.items():
        result.add_row(label, *map(show, rows))
    return result


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def problems_of(row: Row) -> list[str]:
    """What is not as it should be: a slow path, an error beyond float32's, more than twice eager's time."""
    problems = []
    if row.slow:
        problems.append(f"{row.slow} kernels on the slow path")
    if row.coverage < 1:
        problems.append(f"as torch.compile's backend {row.coverage:.0%} of it is compiled")
    for found in (row.error, row.backend_error):
        if found > max(2 * row.eager_error, 1e-5):
            problems.append(f"the error is {found:.1e}, eager's {row.eager_error:.1e}")
    for taken in (row.ours, row.backend):
        if taken > 2 * row.eager:
            problems.append(f"it takes {taken / row.eager:.1f} times as long as eager")
    return problems


def main() -> int:
    """Run both models; 1 if there are problems."""
    warnings.filterwarnings("ignore")
    models = {name: (case.module(), *case.inputs()) for name, case in DEMO.items()}
    os.environ["MLOPT_CACHE_DIR"] = str(CACHE.resolve())
    if sys.argv[1:] == ["--warm"]:
        print(json.dumps(compile_seconds(models)))
        return 0
    shutil.rmtree(CACHE, ignore_errors=True)
    console = Console()
    rows = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with torch.no_grad(), Progress(*columns, console=console) as progress:
        task = progress.add_task("start", total=len(models) * len(STEPS))
        for name, (module, x) in models.items():

            def advance(step: str, name: str = name) -> None:
                progress.update(task, description=f"{name}: {step}")
                progress.advance(task)

            rows.append(run(name, module, x, advance))
        verdicts = {}
        for name, (module, x) in models.items():
            for chip in demo_gpu.CHIPS:
                progress.update(task, description=f"{name} for {chip}")
                verdicts[name, chip] = demo_gpu.verdict(name, module, x, chip, OUT / name)
        progress.update(task, description="both again in a new process")
        warm = warm_seconds()
    console.print(table(rows, warm))
    console.print(demo_gpu.table(verdicts))
    console.print(f"stages and reports: {OUT}/")
    problems = [f"{row.name}: {problem}" for row in rows for problem in problems_of(row)]
    problems += [problem for one in verdicts.values() for problem in one.problems()]
    cold = sum(row.compile_time for row in rows)
    if sum(warm.values()) > WARM_SHARE * cold:
        problems.append(f"from the cache, compiling takes {sum(warm.values()) / cold:.0%} of the time")
    for problem in problems:
        console.print(f"not as it should be: {problem}")
    return bool(problems)


if __name__ == "__main__":
    raise SystemExit(main())
