"""Worker processes die in every way there is; the caller gets an exception, the next call its answer."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mlopt.errors import CompileTimeout, WorkerDied, WorkerOutOfMemory
from mlopt.runtime import reproducer
from mlopt.runtime.pool import Pool
from mlopt.test.python.process_helpers import TARGET, call_in_thread, is_running

pytestmark = pytest.mark.usefixtures("worker_environment")


I1_MEMREF = """
func.func @f(%m: memref<4xi1>, %i: index) -> i1 {
  %0 = memref.load %m[%i] : memref<4xi1>
  return %0 : i1
}
"""


def test_abort(pool):
    with pytest.raises(WorkerDied, match="was killed by SIGABRT"):
        pool.call("compile", "os:abort")


def test_crash(pool):
    with pytest.raises(WorkerDied, match="was killed by SIGSEGV"):
        pool.call("compile", "ctypes:string_at", ptr=0)


def test_exit_without_an_answer(pool):
    with pytest.raises(WorkerDied, match="ended with exit status 3"):
        pool.call("compile", TARGET + "leave", status=3)


def test_assertion_in_a_pass_gives_a_reproducer_that_repeats_it(pool):
    pipeline = "builtin.module(canonicalize,func.func(cse),finalize-memref-to-llvm)"
    with pytest.raises(WorkerDied) as raised:
        pool.call("compile", TARGET + "run_pipeline", text=I1_MEMREF, pipeline=pipeline, reproducer="text")
    error = raised.value
    assert error.where == "in finalize-memref-to-llvm"
    assert "MemRefToLLVM.cpp" in error.details
    assert "Assertion" in error.details
    assert len(str(error).splitlines()) <= 15
    found = reproducer.parse(Path(error.reproducer).read_text())
    assert found.pipeline == "builtin.module(finalize-memref-to-llvm)"
    again = subprocess.run(shlex.split(error.command), capture_output=True, text=True)
    assert again.returncode == -signal.SIGABRT
    assert "getWidth() >= 8" in again.stderr


def test_kill_in_the_middle(pool):
    thread, outcome = call_in_thread(pool, "compile", TARGET + "die", signal=signal.SIGKILL)
    thread.join(10)
    (error,) = outcome
    assert isinstance(error, WorkerDied)
    assert "SIGKILL" in str(error)
    assert "memory" in error.remedy


def test_kill_from_outside_is_noticed_at_once(pool):
    worker = pool.call("compile", TARGET + "pid")
    thread, outcome = call_in_thread(pool, "compile", TARGET + "sleep", seconds=60)
    time.sleep(0.2)
    began = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    thread.join(10)
    assert isinstance(outcome[0], WorkerDied)
    assert time.monotonic() - began < 20  # no time limit ended it


def test_kill_of_an_idle_worker_is_not_an_error(pool):
    for _ in range(5):
        worker = pool.call("compile", TARGET + "pid")
        os.kill(worker, signal.SIGKILL)
        assert pool.call("compile", TARGET + "pid") != worker


def test_out_of_memory():
    pool = Pool({"compile": 1}, memory=2 << 30)
    try:
        before = pool.call("compile", TARGET + "pid")
        with pytest.raises(WorkerOutOfMemory, match=r"its limit is 2.0 GiB"):
            pool.call("compile", TARGET + "use_up_memory")
        assert pool.call("compile", TARGET + "pid") != before
        assert not is_running(before)
    finally:
        pool.shutdown()


def test_out_of_memory_in_native_code(pool):
    with pytest.raises(WorkerOutOfMemory, match="ran out of memory") as raised:
        pool.call("compile", TARGET + "abort_as_llvm_does_without_memory")
    assert "LLVM ERROR: out of memory" in raised.value.details


@pytest.mark.parametrize("function", ["sleep", "spin"])
def test_time_limit(pool, function):
    kwargs = {"seconds": 60} if function == "sleep" else {}
    before = pool.call("compile", TARGET + "pid")
    began = time.monotonic()
    with pytest.raises(CompileTimeout, match=r"time limit of 0\.3 s") as raised:
        pool.call("compile", TARGET + function, timeout=0.3, **kwargs)
    assert time.monotonic() - began < 20  # no time limit ended it
    assert function in raised.value.where
    assert not is_running(before)


def test_time_limit_starts_when_the_request_does(pool):
    """Waiting for a free worker is not compiling."""
    calls = [call_in_thread(pool, "import", TARGET + "sleep", seconds=1.0, timeout=3.0) for _ in range(4)]
    for thread, _ in calls:
        thread.join()
    assert [outcome for _, outcome in calls] == [[None]] * 4


def test_worker_that_cannot_start(monkeypatch):
    pool = Pool({"compile": 1})
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/no/such/python")
            with pytest.raises(WorkerDied, match="could not be started"):
                pool.call("compile", TARGET + "pid")
            patch.setattr(sys, "executable", "/bin/false")
            with pytest.raises(WorkerDied, match="ended with exit status 1"):
                pool.call("compile", TARGET + "pid")
        assert pool.call("compile", TARGET + "echo", value=1) == 1
    finally:
        pool.shutdown()
