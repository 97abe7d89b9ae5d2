"""``python -m mlopt.bench.gpu.visit``: all that is to be done when a GPU is at hand, in one command.

    python -m mlopt.bench.gpu.visit --prepare DIR               before, on a machine with torch-mlir
    python -m mlopt.bench.gpu.visit --from DIR --output OUT     on the one with the GPU

    python -m mlopt.bench.gpu.visit --prepare DIR --tiny                      a rehearsal, without a GPU
    python -m mlopt.bench.gpu.visit --from DIR --output OUT --device emulator

1. the corpus on the GPU, as it is and as CUDA graphs (bench/gpu/corpus.py);
2. the tests that run where torch finds a GPU, if torch-mlir is installed;
3. some of the corpus under compute-sanitizer, if it is installed: memory, then races;
4. the benchmark (bench/gpu/run.py), with the time that is left.

OUT gets each step's log, and the benchmark's JSON and charts. The last lines say what each step found.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...tables import aligned
from ..run import WORK
from . import corpus
from .prepared import prepare
from .timed import TIMED

_ROWS, _PROGRAMS = "rows", "programs"
# The share of the whole time that a step may take; the benchmark gets the rest.
_CORPUS, _TESTS, _SANITIZER = 0.25, 0.15, 0.15
# One of each kind of kernel: rows, columns, products, windows, gathers, moves.
_SANITIZED = ("softmax", "reductions", "linear_gelu", "conv_bn_relu", "indexing", "shapes")
_TESTED = ("test_cuda_calls.py", "test_cuda_graphs.py")


@dataclass(frozen=True)
class Step:
    """What a step came to."""

    name: str
    outcome: str
    fine: bool
    seconds: float


@dataclass(frozen=True)
class Visit:
    """``end``: of the whole, by time.monotonic; ``minutes``: from its start."""

    folder: Path
    output: Path
    device: str
    minutes: float
    end: float

    def steps(self) -> list[Step]:
        """All of them, in order."""
        return [
            self._step("corpus", _CORPUS, self._corpus),
            self._step("tests", _TESTS, self._tests),
            *(self._step(tool, _SANITIZER / 2, lambda left, t=tool: self._sanitizer(t, left))  # type: ignore[misc]
              for tool in ("memcheck", "racecheck")),
            self._step("benchmark", 1.0, self._benchmark),
        ]  # fmt: skip

    def _step(self, name: str, share: float, action: Callable[[float], tuple[bool, str]]) -> Step:
        begin = time.monotonic()
        print(f"{name}: {self.end - begin:.0f} s left", file=sys.stderr, flush=True)
        fine, outcome = action(min(share * self.minutes * 60, self.end - begin))
        return Step(name, outcome, fine, time.monotonic() - begin)

    def _corpus(self, left: float) -> tuple[bool, str]:
        flags = ["--from", str(self.folder / _PROGRAMS), "--device", self.device, "--seconds", str(left - 5)]
        return self._run("corpus", "mlopt.bench.gpu.corpus", flags, left + 15)

    def _tests(self, left: float) -> tuple[bool, str]:
        if importlib.util.find_spec("torch_mlir") is None:
            return True, "left out: torch-mlir is not installed"
        if self.device != "gpu":
            return True, "left out: there is no GPU"
        tests = Path(__file__).resolve().parents[2] / "test" / "python"
        return self._run("tests", "pytest", ["-q", *(str(tests / name) for name in _TESTED)], left)

    def _sanitizer(self, tool: str, left: float) -> tuple[bool, str]:
        found = shutil.which("compute-sanitizer")
        if found is None or self.device != "gpu":
            return True, "left out: no compute-sanitizer" if found is None else "left out: there is no GPU"
        known = [name for name in corpus.programs(self.folder / _PROGRAMS) if name in _SANITIZED]
        flags = ["--from", str(self.folder / _PROGRAMS), "--exactly", *known]
        # Memory of the allocator's own between tensors would hide what is read there.
        environment = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
        before = (found, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all")
        return self._run(tool, "mlopt.bench.gpu.corpus", flags, left, before, environment)

    def _benchmark(self, left: float) -> tuple[bool, str]:
        day = time.strftime("%Y-%m-%d", time.gmtime())
        flags = [
            "--from",
            str(self.folder / _ROWS),
            "--device",
            self.device,
            "--minutes",
            str((left - 10) / 60),
        ]
        flags += ["--output", str(self.output / f"gpu-{day}.json")]
        flags += ["--tiny"] if self.device == "emulator" else []
        return self._run("benchmark", "mlopt.bench.gpu.run", flags, left + 30)

    def _run(
        self,
        name: str,
        module: str,
        flags: Sequence[str],
        seconds: float,
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> tuple[bool, str]:
        """Run a module with what it prints in a log; whether it was fine, and its last line."""
        log = self.output / f"{name}.txt"
        command = [*before, sys.executable, "-P", "-m", module, *flags]
        with log.open("wb") as out:
            try:
                status = subprocess.run(
                    command, stdout=out, stderr=out, check=False, timeout=max(seconds, 1),
                    env={**os.environ, **(environment or {})},
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                return False, f"not done within {seconds:.0f} s, see {log}"
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return status == 0, lines[-1] if lines else f"status {status}"


def main(arguments: Sequence[str]) -> int:
    """0 if all steps were fine, or left out for want of something."""
    parser = argparse.ArgumentParser(
        prog="python -m mlopt.bench.gpu.visit", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add(
        "--prepare",
        type=Path,
        metavar="DIR",
        help="write the texts of the corpus and of the benchmark's rows",
    )
    add("--target", default="", help="with --prepare: compile for it, too")
    add("--tiny", action="store_true", help="with --prepare: rows for the emulator")
    add("--from", dest="folder", type=Path, metavar="DIR")
    add("--output", type=Path, default=WORK / "visit", metavar="OUT")
    add("--minutes", type=float, default=9.0, help="default: 9")
    add("--device", choices=("gpu", "emulator"), default="gpu")
    add(
        "--only", nargs="+", default=[], metavar="PART", help="with --prepare: programs and rows that have it"
    )
    options = parser.parse_args(arguments)
    if (options.prepare is None) == (options.folder is None):
        parser.error("either --prepare or --from")
    if options.prepare is not None:
        rows = [name for name in TIMED if not options.only or any(part in name for part in options.only)]
        prepare(options.prepare / _ROWS, rows, options.tiny, options.target)
        corpus.prepare(options.prepare / _PROGRAMS, options.only, options.target)
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.minutes * 60
    steps = Visit(options.folder, options.output, options.device, options.minutes, end).steps()
    lines = [
        (step.name, "fine" if step.fine else "WRONG", f"{step.seconds:.0f} s", step.outcome) for step in steps
    ]
    print("\n".join(aligned(lines, left=(0, 1, 3))))
    return int(not all(step.fine for step in steps))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
