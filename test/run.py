"""Runs all checks, group by group, and reports how long each took.

    python test/run.py            all groups
    python test/run.py lint lit   some of them

The last line is the total, 'N passed, N failed'; the exit status is 1 if anything failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REPORT = ROOT / "build" / "pytest.xml"
LIT_SUITES = ("test", "examples/passes")
MOST_PROCESSES = 4  # each has compile workers of its own
SLOW_FILE = 3.0  # seconds from which on a test file has a line of its own in the report


@dataclass
class Outcome:
    """What one command did: tests by result and seconds; where it tells, seconds by file and what failed."""

    passed: int
    failed: int
    seconds: float
    files: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def check(*command: str) -> Outcome:
    """One check that passes or fails as a whole."""
    status, output, seconds = run(*command)
    told = output.strip().rpartition("\n")[2]
    failures = [f"{' '.join(Path(part).name for part in command)}: {told}"] if status else []
    return Outcome(int(status == 0), int(status != 0), seconds, failures=failures)


def lit() -> Outcome:
    """The FileCheck tests of the passes and tools, and of the example passes."""
    status, output, seconds = run(str(BIN / "lit"), "-q", *LIT_SUITES)
    listing = subprocess.run(
        [str(BIN / "lit"), "--show-tests", *LIT_SUITES], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = len(re.findall(r"^\s+\S+ :: ", listing.stdout, re.MULTILINE))
    broken = set(re.findall(r"^(?:FAIL|TIMEOUT|XPASS|UNRESOLVED): (\S+ :: \S+)", output, re.MULTILINE))
    failed = max(len(broken), int(status != 0))
    return Outcome(max(0, found - failed), failed, seconds, failures=sorted(broken))


def pytest() -> Outcome:
    """The Python tests, files side by side; one more than there are cores: with as many, 13 % were idle."""
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.unlink(missing_ok=True)
    processes = min((os.cpu_count() or 1) + 1, MOST_PROCESSES)
    command = [str(BIN / "pytest"), f"--junitxml={REPORT}", "-n", str(processes), "--dist", "loadfile"]
    command += ["--max-worker-restart", "2"]  # xdist runs a file that ends its process again from the top
    status, _, seconds = run(*command)
    if not REPORT.exists():
        return Outcome(0, 1, seconds, failures=[f"pytest: status {status} and no report"])
    suite = ElementTree.parse(REPORT).getroot()[0]
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    passed = int(suite.attrib["tests"]) - failed - int(suite.attrib["skipped"])
    files: dict[str, float] = {}
    failures = []
    for case in suite.iter("testcase"):
        file = case.attrib["classname"].rsplit(".", 1)[-1]
        files[file] = files.get(file, 0.0) + float(case.attrib["time"])
        if (problem := case.find("failure")) is not None or (problem := case.find("error")) is not None:
            told = "".join(problem.get("message", "").splitlines()[:1])
            failures.append(f"{file}::{case.attrib['name']}: {told}")
    if status and not failed:
        failures.append(f"pytest: status {status} though no test failed")
    return Outcome(passed, max(failed, int(status != 0)), seconds, files, failures)


# mypy keeps one core busy, and lit what is left; of the others, one times things, and one uses all cores.
SIDE_BY_SIDE = ("lint", "lit")

GROUPS = {
    "lint": (
        ("ruff check", lambda: check(str(BIN / "ruff"), "check", "--quiet", ".")),
        ("ruff format", lambda: check(str(BIN / "ruff"), "format", "--check", "--quiet", ".")),
        ("mypy --strict", lambda: check(str(BIN / "mypy"))),
    ),
    "lit": (("lit", lit),),
    "bench": (
        ("call overhead", lambda: check(sys.executable, "bench/call_overhead.py", "--check")),
        ("start-up of mlopt-opt", lambda: check(sys.executable, "bench/opt_startup.py", "--check")),
    ),
    "pytest": (("pytest", pytest),),
}


def run(*command: str) -> tuple[int, str, float]:
    """Run ``command`` in the root, passing its output on; returns status, output and seconds."""
    print(f"$ {' '.join(Path(part).name if part.startswith('/') else part for part in command)}", flush=True)
    start = time.monotonic()
    # What one process compiles of Python the others read: without it importing torch takes 13 s, not 2.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        print(line, end="", flush=True)
    return process.wait(), "".join(lines), time.monotonic() - start


def main(names: list[str]) -> int:
    """Run the groups called ``names`` (all if there are none)."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"no group {', '.join(unknown)}; the groups are {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    wanted = [(name in SIDE_BY_SIDE, check) for name in names or GROUPS for check in GROUPS[name]]
    with ThreadPoolExecutor(2) as pool:
        started = {title: pool.submit(action) for beside, (title, action) in wanted if beside}
    outcomes = {title: future.result() for title, future in started.items()}
    outcomes |= {title: action() for beside, (title, action) in wanted if not beside}
    print("\nminutes  passed  failed  group")
    for title, outcome in outcomes.items():
        print(f"{outcome.seconds / 60:7.2f} {outcome.passed:7} {outcome.failed:7}  {title}")
        for file, seconds in sorted(outcome.files.items(), key=lambda item: -item[1]):
            if seconds >= SLOW_FILE:
                print(f"{seconds / 60:7.2f}                    {file}")
    # Last, as a log is read from its end.
    for failure in (failure for outcome in outcomes.values() for failure in outcome.failures):
        print(f"failed: {failure}")
    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
