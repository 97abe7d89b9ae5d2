"""What processes hold of memory, as Linux tells it; bytes."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path


def forget_peak() -> bool:
    """Make this process's peak what it holds now; False where the system does not let us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_of_all() -> int:
    """This process at its peak, and what the processes that it started and still has hold now."""
    return _status("self", "VmHWM") + sum(_status(each, "VmRSS") for each in descendants(os.getpid()))


def largest_process() -> int:
    """The peak of the largest of: this process, those that it started and still has, those that ended."""
    living = [_status(each, "VmHWM") for each in ("self", *descendants(os.getpid()))]
    return max(*living, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)


def descendants(process: int) -> Iterator[str]:
    """The processes that ``process`` started and still has, and theirs."""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield child
            yield from descendants(int(child))


def _status(process: str, name: str) -> int:
    """0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)
