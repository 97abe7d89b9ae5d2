"""What the tests of worker processes share."""

import contextlib
import os
import threading
import time
from pathlib import Path

TARGET = "process_targets:"


def zombies():
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(path.parent.name)
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def call_in_thread(pool, *args, **kwargs):
    """Start a call in a thread of its own; returns the thread and where its outcome will be."""
    outcome = []

    def run():
        try:
            outcome.append(pool.call(*args, **kwargs))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def private(folder):
    return folder.stat().st_mode & 0o77 == 0


def wait_until_gone(pid):
    eventually(lambda: not is_running(pid))


def output(process):
    """What a program that ends well has printed."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.split()
