"""Every module of the corpus as MLIR text with what it must compute, checked on a GPU without torch-mlir.

    python -m mlopt.bench.gpu.corpus --prepare DIR                  on a machine with torch-mlir
    python -m mlopt.bench.gpu.corpus --from DIR                     on the one with the GPU
    python -m mlopt.bench.gpu.corpus --from DIR --only softmax      some programs
    python -m mlopt.bench.gpu.corpus --from DIR --device emulator   without a GPU

What a program must compute is what mlopt's code for the CPU computes, which the tests hold against float64
eager. It is called three times as it is, and three times with ``cuda_graph=True``. Each program has one of
its module's dtypes, the next one the next. A kernel that faults ends the process; the rest has another one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...compiler import compile_mlir
from ...options import Options
from ...runtime import requests
from ...runtime.cuda.chips import PREFIX, best_chip
from ...runtime.cuda.driver import driver
from ...test.corpus import CASES
from .prepared import keep, opened

MANIFEST = "corpus.json"
Call = Callable[..., Any]
CALLS = 3
# Of the largest value of a result. Both sides accumulate in f32, in another order; then the dtype rounds.
TOLERANCES = {torch.float64: 1e-11, torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}
_FAULTS = ("CUDA error", "CUDA_ERROR")
_COMPILING = 8  # programs at once
_WRONG, _FAULTED = 1, 3  # exit statuses


@dataclass(frozen=True)
class Outcome:
    """A program's: ``problem`` is empty if it is right."""

    name: str
    problem: str


def prepare(folder: Path, only: Sequence[str] = (), target: str = "") -> None:
    """Write each program: NAME.mlir (with a ``target`` NAME.built), arguments and results in NAME.pt."""
    # It reads modules by torch's export, which the GPU's machine need not have.
    from ...tools.tracing import trace

    folder.mkdir(parents=True, exist_ok=True)
    options, names = Options.resolve(), []
    for number, (name, case) in enumerate(CASES.items()):
        if only and not any(part in name for part in only):
            continue
        dtype = case.dtypes[number % len(case.dtypes)]
        names.append(name)
        inputs = case.inputs(dtype, seed=1)
        with torch.no_grad():
            program = trace(case.module(dtype), inputs, target or "cuda")
        text = requests.import_program(program.text, program.weight_positions, options)
        arguments = [*inputs, *(weight.tensor.detach() for weight in program.weights)]
        results = _results(compile_mlir(text)(*(each.clone() for each in arguments)))
        keep(folder, name, text, target)
        torch.save({"arguments": arguments, "results": results}, folder / f"{name}.pt")
    (folder / MANIFEST).write_text(json.dumps(names) + "\n", encoding="utf-8")


def programs(folder: Path, only: Sequence[str] = ()) -> list[str]:
    """What was prepared, or those of it whose names have one of the parts."""
    names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return [name for name in names if not only or any(part in name for part in only)]


def check(folder: Path, names: Sequence[str], target: str, device: str) -> list[Outcome]:
    """Compile all, several at once, and call one after the other; ends early where a kernel faults."""
    outcomes = []
    with ThreadPoolExecutor(_COMPILING) as pool:
        made = {
            (name, graphs): pool.submit(_compile, folder, name, target, device, graphs)
            for name in names
            for graphs in (False, True)
        }
        for name in names:
            problem = _problem(folder, name, [made[name, graphs] for graphs in (False, True)], device)
            outcomes.append(Outcome(name, problem))
            print(f"{name}: {problem or 'right'}", flush=True)
            if any(word in problem for word in _FAULTS):
                pool.shutdown(cancel_futures=True)
                break
    return outcomes


def check_apart(folder: Path, names: Sequence[str], flags: Sequence[str], seconds: float) -> list[Outcome]:
    """`check` in processes: where one ends, the next begins with the program after the one it was at."""
    left, outcomes = list(names), list[Outcome]()
    end = time.monotonic() + seconds
    while left and time.monotonic() < end:
        command = [sys.executable, "-P", "-m", "mlopt.bench.gpu.corpus", "--from", str(folder), *flags]
        command += ["--exactly", *left]
        try:
            patience = end - time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=patience)
            printed, ended = done.stdout, f"its process ended with status {done.returncode}"
        except subprocess.TimeoutExpired as expired:
            printed, ended = (expired.stdout or b"").decode(), ""
        told = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
        found = [Outcome(name, "" if told[name] == "right" else told[name]) for name in left if name in told]
        outcomes += found
        left = left[len(found) :]
        if left and ended and not any(word in each.problem for each in found[-1:] for word in _FAULTS):
            outcomes.append(Outcome(left.pop(0), ended))
    return [*outcomes, *(Outcome(name, "left out: the time was up") for name in left)]


def gpu_target() -> str:
    """What the first GPU wants."""
    chip = best_chip(driver().capability(0))
    if chip is None:
        raise SystemExit(f"{driver().name(0)} is too old")
    return PREFIX + chip.name


def _compile(folder: Path, name: str, target: str, device: str, graphs: bool) -> Call:
    return opened(folder, name, target=target, device=device, cuda_graph=graphs)


def _problem(folder: Path, name: str, made: Sequence[Future[Call]], device: str) -> str:
    known = torch.load(folder / f"{name}.pt", weights_only=True)
    where = "cuda" if device == "gpu" else "cpu"
    arguments = [each.to(where) for each in known["arguments"]]
    try:
        for compiled in (future.result() for future in made):
            for _ in range(CALLS if device == "gpu" else 1):
                results = _results(compiled(*(each.clone() for each in arguments)))
                for number, pair in enumerate(zip(results, known["results"], strict=True)):
                    error = difference(pair[0].cpu(), pair[1])
                    if not error <= TOLERANCES.get(pair[1].dtype, 0.0):
                        return f"result {number} differs by {error:.1e} of its largest value"
    except Exception as raised:  # whatever it is, it is told beside the program's name
        return f"{type(raised).__name__}: {raised}".splitlines()[0]
    return ""


def difference(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """max |got - wanted| / max |wanted|; NaN and infinities must be where they are wanted."""
    if got.shape != wanted.shape or got.dtype is not wanted.dtype:
        return float("inf")
    one, other = got.double(), wanted.double()
    fine = wanted.isfinite() if wanted.is_floating_point() else torch.ones_like(wanted, dtype=torch.bool)
    if not torch.allclose(one[~fine], other[~fine], rtol=0, atol=0, equal_nan=True):
        return float("inf")
    if not fine.any():
        return 0.0
    most, largest = float((one - other)[fine].abs().max()), float(other[fine].abs().max())
    return float("inf") if most != most else most / (largest or 1.0)


def _results(returned: Any) -> list[torch.Tensor]:
    return list(returned) if isinstance(returned, tuple) else [returned]


def main(arguments: Sequence[str]) -> int:
    """0 if all are right."""
    parser = argparse.ArgumentParser(
        prog="python -m mlopt.bench.gpu.corpus", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--prepare", type=Path, metavar="DIR")
    add("--from", dest="folder", type=Path, metavar="DIR")
    add("--only", nargs="+", default=[], metavar="PART", help="programs whose names have it; default: all")
    add("--exactly", nargs="+", default=[], metavar="NAME", help="programs by their names, in this process")
    add("--target", default="", help="with --prepare: compile for it, too")
    add("--device", choices=("gpu", "emulator"), default="gpu")
    add("--seconds", type=float, default=600.0, help="default: 600")
    options = parser.parse_args(arguments)
    if (options.prepare is None) == (options.folder is None):
        parser.error("either --prepare or --from")
    if options.prepare is not None:
        prepare(options.prepare, options.only, options.target)
        return 0
    if options.exactly:
        target = gpu_target() if options.device == "gpu" else "cuda:sm_80"
        outcomes = check(options.folder, options.exactly, target, options.device)
        faulted = len(outcomes) < len(options.exactly)
        return _FAULTED if faulted else int(any(each.problem for each in outcomes))
    names = programs(options.folder, options.only)
    outcomes = check_apart(options.folder, names, ("--device", options.device), options.seconds)
    wrong = [each for each in outcomes if each.problem]
    print("\n".join(f"{each.name}: {each.problem}" for each in wrong))
    print(f"{len(outcomes) - len(wrong)} of {len(outcomes)} programs are right on the {options.device}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
