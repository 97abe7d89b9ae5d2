"""Start-up of mlopt-opt: processor time of whole commands on a small file, beside mlir-opt's.

    python bench/opt_startup.py             a table; 25 rounds, the commands in turn
    python bench/opt_startup.py --check     exit status 1 if a bound is broken; those alone, at most 54 rounds

Bounds are for the least of the rounds, which other processes on the machine disturb least. On an idle machine
where mlir-opt takes 30 ms, and Python (by proportion) 60 ms to load MLIR's bindings, handing over costs at
most 20 ms more than mlir-opt itself, and a command with one Python pass takes 100 ms at most. On a slower
machine both are in proportion to the one of the two that is slower there: of a Zen 3 whose mlir-opt takes 1.8
times as long, Python and the bindings take 2.1 times.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from mlopt.tools.opt_driver.handover import tool_path

ROOT = Path(__file__).resolve().parent.parent
SMALL = str(ROOT / "test" / "tools" / "Inputs" / "opt" / "arith.mlir")
PLUGIN = f"--load-pass-plugin={ROOT / 'examples' / 'passes' / 'count_ops.py'}"
TOOL = str(Path(sys.executable).with_name("mlopt-opt"))
BINDINGS = f"import sys; sys.path.append({str(Path(tool_path()).parents[2])!r}); import mlir._mlir_libs._mlir"
COMMANDS = {
    "Python with MLIR's bindings": (sys.executable, "-I", "-S", "-c", BINDINGS),
    "mlir-opt": (tool_path(), SMALL, "--cse"),
    "mlopt-opt, handed over": (TOOL, SMALL, "--cse"),
    "mlopt-opt, one pass of a plug-in": (TOOL, SMALL, "--cse", PLUGIN, "--count-ops"),
    "mlopt-opt, mlopt-guard-division": (TOOL, SMALL, "--cse", "--mlopt-guard-division"),
    "mlopt-opt, mlopt-cpu to linalg": (TOOL, SMALL, "--mlopt-cpu", "--to=linalg"),
}
ROUNDS, CHECKED_ROUNDS, CHECKS = 25, 9, 6
HANDING_OVER = 20.0  # milliseconds
ONE_PASS = 100.0
WHERE_MLIR_OPT_TAKES = 30.0
WHERE_BINDINGS_TAKE = 60.0


def milliseconds(command: tuple[str, ...]) -> tuple[float, float]:
    """Processor time and wall time of one run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * used, 1e3 * wall


def main() -> int:
    if "--check" not in sys.argv:
        taken = measured(COMMANDS, ROUNDS)
        print(f"{'ms':34} {'CPU, least':>10} {'median':>8} {'wall':>8}")
        for name, times in taken.items():
            cpu, wall = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{name:34} {least(times):10.1f} {cpu:8.1f} {wall:8.1f}")
        keeps_bounds(taken)
        return 0
    commands = dict(list(COMMANDS.items())[:4])
    return 0 if any(keeps_bounds(measured(commands, CHECKED_ROUNDS)) for _ in range(CHECKS)) else 1


def measured(commands: dict[str, tuple[str, ...]], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """The times of each command, taken in turn."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(milliseconds(command))
    return taken


def keeps_bounds(taken: dict[str, list[tuple[float, float]]]) -> bool:
    bindings, plain, handed, one = [least(times) for times in taken.values()][:4]
    slower = max(1.0, plain / WHERE_MLIR_OPT_TAKES, bindings / WHERE_BINDINGS_TAKE)
    over, most_over, most = handed - plain, HANDING_OVER * slower, ONE_PASS * slower
    print(f"handing over {over:.1f} of {most_over:.1f} ms; one pass {one:.1f} of {most:.1f} ms")
    return over <= most_over and one <= most


def least(times: list[tuple[float, float]]) -> float:
    return min(cpu for cpu, _ in times)


if __name__ == "__main__":
    sys.exit(main())
