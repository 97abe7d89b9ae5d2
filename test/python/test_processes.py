"""Requests to worker processes: answers, exceptions, and what their callers may do."""

import hashlib
import os
import pickle
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from mlopt.errors import CompileError, UnsupportedOpError, WorkerDied
from mlopt.runtime import keeper, reproducer
from mlopt.runtime.failures import WorkerTraceback
from mlopt.runtime.pool import Pool
from mlopt.test.python.process_helpers import TARGET, call_in_thread, eventually, is_running, zombies

pytestmark = pytest.mark.usefixtures("worker_environment")


# Answers


def test_result_and_persistence(pool):
    assert pool.call("compile", TARGET + "echo", value={"a": [1, None, b"x"]}) == {"a": [1, None, b"x"]}
    first = pool.call("compile", TARGET + "pid")
    assert first != os.getpid()
    assert pool.call("compile", TARGET + "pid") == first
    assert pool.call("import", TARGET + "pid") != first


def test_start_has_workers_ready():
    pool = Pool({"import": 1, "compile": 4})
    try:
        pool.start()
        eventually(lambda: pool.pids("import") and pool.pids("compile"))
        assert pool.call("compile", TARGET + "pid") in pool.pids("compile")
        assert len(pool.pids("compile")) == 1
    finally:
        pool.shutdown()
    assert zombies() == []


def test_huge_messages(pool):
    data = os.urandom(1 << 20) * 50
    back = pool.call("compile", TARGET + "echo", value=data)
    assert hashlib.sha256(back).digest() == hashlib.sha256(data).digest()


def test_two_threads_use_two_workers(pool, tmp_path):
    meet = {"folder": str(tmp_path)}
    thread, other = call_in_thread(pool, "compile", TARGET + "meet", **meet, name="a", other="b")
    assert pool.call("compile", TARGET + "meet", **meet, name="b", other="a")
    thread.join()
    assert other == [True]
    assert len(pool.pids("compile")) == 2


def test_many_threads_each_get_their_own_answer(pool):
    calls = [call_in_thread(pool, "compile", TARGET + "echo", value=n) for n in range(40)]
    for thread, _ in calls:
        thread.join()
    assert [outcome for _, outcome in calls] == [[n] for n in range(40)]
    assert len(pool.pids("compile")) <= 2


def test_output_and_input_of_a_worker_stay_apart(pool, capfd):
    assert pool.call("compile", TARGET + "talk") == ""
    assert capfd.readouterr() == ("", "")


def test_misuse_is_named(pool):
    with pytest.raises(ValueError, match="no workers for role 'cook'"):
        pool.call("cook", TARGET + "pid")
    with pytest.raises(ValueError, match="'text' is not one of the call's arguments"):
        pool.call("compile", TARGET + "pid", reproducer="text")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        pool.call("compile", "no_such_module:f")
    with pytest.raises(AttributeError, match="no_such_function"):
        pool.call("compile", TARGET + "no_such_function")
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pool.call("compile", TARGET + "echo", value=lambda: None)


# Exceptions


def test_builtin_exception_comes_back_with_the_workers_traceback(pool):
    with pytest.raises(KeyError, match="a builtin") as raised:
        pool.call("compile", TARGET + "raise_builtin")
    assert isinstance(raised.value.__cause__, WorkerTraceback)
    assert "in raise_builtin" in str(raised.value.__cause__)


def test_error_of_the_user_needs_no_reproducer(pool):
    with pytest.raises(CompileError, match=r"module {} does not compile") as raised:
        pool.call("compile", TARGET + "raise_compile_error", text="module {}", reproducer="text")
    assert raised.value.where == "model.py:12"
    assert raised.value.reproducer == raised.value.command == ""


def test_unexpected_exception_in_a_compilation_is_not_the_users(pool):
    with pytest.raises(CompileError, match="KeyError: 'a builtin'") as raised:
        pool.call("compile", TARGET + "raise_builtin", text="module {}", reproducer="text")
    found = reproducer.parse(Path(raised.value.reproducer).read_text())
    assert (found.call, found.argument, found.others) == (TARGET + "raise_builtin", "text", {})
    again = subprocess.run(shlex.split(raised.value.command), capture_output=True, text=True)
    assert again.returncode != 0
    assert "KeyError: 'a builtin'" in again.stderr


def test_unsupported_op_needs_no_reproducer(pool):
    with pytest.raises(UnsupportedOpError, match=r"aten\.foo") as raised:
        pool.call("compile", TARGET + "raise_unsupported", text="", reproducer="text")
    assert raised.value.reproducer == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UnpicklableError", "it has a lambda"),
        ("OneWayError", "1 and 2"),
        ("UnprintableError", "cannot be printed"),
    ],
)
def test_exception_that_cannot_travel(pool, name, text):
    with pytest.raises(CompileError, match=f"{name}: .*{text}"):
        pool.call("compile", TARGET + "raise_strange", name=name)


def test_result_that_cannot_travel(pool):
    with pytest.raises(Exception, match="pickle"):
        pool.call("compile", TARGET + "return_unpicklable")


def test_exit_in_a_worker_is_not_an_exit_of_the_caller(pool):
    with pytest.raises(CompileError, match="SystemExit: bye"):
        pool.call("compile", TARGET + "exit_politely")


# Callers


def test_exception_in_the_caller_gives_the_next_call_its_own_answer(pool):
    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.001, 0.05, 0.3):
            signal.setitimer(signal.ITIMER_REAL, delay)
            with pytest.raises(Interrupted):
                pool.call("compile", TARGET + "sleep", seconds=0.6, value="the last request's answer")
            assert pool.call("compile", TARGET + "echo", value="mine") == "mine"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_worker_survives_the_thread_that_first_called():
    pool = Pool({"compile": 1})
    try:
        thread, outcome = call_in_thread(pool, "compile", TARGET + "pid")
        thread.join()
        time.sleep(0.3)
        assert pool.call("compile", TARGET + "pid") == outcome[0]
    finally:
        pool.shutdown()


def test_shutdown_ends_what_runs_and_a_later_call_starts_again():
    pool = Pool({"compile": 1})
    worker = pool.call("compile", TARGET + "pid")
    thread, outcome = call_in_thread(pool, "compile", TARGET + "sleep", seconds=60)
    time.sleep(0.2)
    pool.shutdown()
    thread.join(10)
    assert isinstance(outcome[0], WorkerDied)
    assert "shut down" in str(outcome[0])
    assert not is_running(worker)
    assert pool.call("compile", TARGET + "echo", value=2) == 2
    pool.shutdown()
    assert zombies() == []


def test_idle_workers_are_sent_home(monkeypatch):
    monkeypatch.setattr(keeper, "IDLE_SECONDS", 0.3)
    pool = Pool({"compile": 2})
    try:
        calls = [call_in_thread(pool, "compile", TARGET + "sleep", seconds=0.3) for _ in range(2)]
        for thread, _ in calls:
            thread.join()
        eventually(lambda: not pool.pids("compile"))
        assert pool.call("compile", TARGET + "echo", value=2) == 2
    finally:
        pool.shutdown()
