"""An output that takes no more, and Ctrl-C: mlopt-opt ends as mlir-opt does, and blames no pass."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = str(Path(sys.executable).with_name("mlopt-opt"))
PLUGIN = f"--load-pass-plugin={Path(__file__).parent.parent / 'tools' / 'Inputs' / 'planted.py'}"
TEXT = "func.func private @f()\n"
PRINTS = (["--mlopt-test-print"], ["--mlopt-test-print=lines=5000"])


def run(flags: list[str], output: int) -> "subprocess.CompletedProcess[str]":
    command = [TOOL, PLUGIN, *flags]
    return subprocess.run(
        command, input=TEXT, stdout=output, stderr=subprocess.PIPE, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("flags", [["--mlopt-test-nothing"], *PRINTS])
def test_a_full_disk_is_an_error_of_one_line(flags: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run(flags, full.fileno())
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line
    assert "test-print" not in line


@pytest.mark.parametrize("flags", [["--mlopt-test-nothing"], *PRINTS])
def test_so_is_an_output_that_was_closed(flags: list[str]) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", TOOL, PLUGIN, *flags]
    done = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (
        1,
        "LLVM ERROR: IO failure on output stream: Bad file descriptor\n",
    )


@pytest.mark.parametrize("flags", [["--mlopt-test-nothing"], *PRINTS, ["--cse"]])
def test_nobody_reads_the_pipe(flags: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = run(flags, writes)
    os.close(writes)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize("stops_in", ["pass", "input"])
def test_ctrl_c_ends_it_quietly(stops_in: str) -> None:
    command = [TOOL, PLUGIN, "--mlopt-test-wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if stops_in == "pass":
            process.stdin.write(TEXT)
            process.stdin.close()
            assert process.stdout.readline() == "waiting\n"
        else:
            with pytest.raises(subprocess.TimeoutExpired):  # it waits for what it is to read
                process.wait(2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == ""
