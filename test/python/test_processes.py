"""Worker processes die in every way there is; the caller gets an exception, the next call its answer."""

import contextlib
import hashlib
import os
import pickle
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from mlopt.errors import CompileError, CompileTimeout, UnsupportedOpError, WorkerDied, WorkerOutOfMemory
from mlopt.runtime import keeper, progress, reproducer
from mlopt.runtime.failures import WorkerTraceback
from mlopt.runtime.pool import Pool

HERE = Path(__file__).parent
TARGET = "process_targets:"
I1_MEMREF = """
func.func @f(%m: memref<4xi1>, %i: index) -> i1 {
  %0 = memref.load %m[%i] : memref<4xi1>
  return %0 : i1
}
"""


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def shared_pool():
    pool = Pool({"import": 1, "compile": 2}, memory=8 << 30)
    yield pool
    pool.shutdown()


@pytest.fixture
def pool(shared_pool):
    """After each test the pool still answers, with the right answer, and there are no zombies."""
    yield shared_pool
    token = os.urandom(8)
    assert shared_pool.call("compile", TARGET + "echo", value=token) == token
    assert zombies() == []


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


def eventually(condition, seconds=10.0):
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


def test_exception_of_a_compilation_has_a_reproducer(pool):
    with pytest.raises(CompileError, match=r"module {} does not compile") as raised:
        pool.call("compile", TARGET + "raise_compile_error", text="module {}", reproducer="text")
    assert raised.value.where == "model.py:12"
    found = reproducer.parse(Path(raised.value.reproducer).read_text())
    assert (found.call, found.argument, found.others) == (TARGET + "raise_compile_error", "text", {})
    again = subprocess.run(shlex.split(raised.value.command), capture_output=True, text=True)
    assert again.returncode != 0
    assert "does not compile" in again.stderr


def test_unexpected_exception_in_a_compilation_is_not_the_users(pool):
    with pytest.raises(CompileError, match="KeyError: 'a builtin'"):
        pool.call("compile", TARGET + "raise_builtin", text="", reproducer="text")


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


# Deaths


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


def private(folder):
    return folder.stat().st_mode & 0o77 == 0


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
    assert time.monotonic() - began < 3.0


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
    assert time.monotonic() - began < 3.0
    assert function in raised.value.where
    assert not is_running(before)


def test_time_limit_starts_when_the_request_does(pool):
    """Waiting for a free worker is not compiling."""
    calls = [call_in_thread(pool, "import", TARGET + "sleep", seconds=0.4, timeout=1.0) for _ in range(4)]
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


def test_idle_workers_are_sent_home_but_for_one(monkeypatch):
    monkeypatch.setattr(keeper, "IDLE_SECONDS", 0.3)
    pool = Pool({"compile": 2})
    try:
        calls = [call_in_thread(pool, "compile", TARGET + "sleep", seconds=0.3) for _ in range(2)]
        for thread, _ in calls:
            thread.join()
        eventually(lambda: len(pool.pids("compile")) == 1)
        time.sleep(0.5)
        assert len(pool.pids("compile")) == 1
    finally:
        pool.shutdown()


# What a worker notes, and reproducers


@pytest.fixture
def notes():
    file = os.memfd_create("test")
    yield file
    os.close(file)


def test_progress_keeps_the_last_snapshot_and_what_came_after(notes, monkeypatch):
    recorder = progress.Recorder(notes)
    assert progress.read(notes) == progress.Progress()
    recorder.enter("a", lambda: "ir 1")
    recorder.running("a1")
    assert progress.read(notes) == ("ir 1", ("a",), "a1")
    recorder.enter("b", lambda: "ir 2")
    assert progress.read(notes) == ("ir 2", ("b",), "b")
    monkeypatch.setattr(progress, "FREE_SECONDS", -10.0)
    recorder.enter("c", lambda: "too dear to print")
    assert progress.read(notes) == ("ir 2", ("b", "c"), "c")
    recorder.phase("code generation")
    assert progress.read(notes) == (None, (), "code generation")
    recorder.reset()
    assert progress.read(notes) == progress.Progress()


def test_progress_torn_by_death_is_read_as_far_as_it_goes(notes):
    recorder = progress.Recorder(notes)
    recorder.enter("a", lambda: "ir")
    recorder.running("b" * 100)
    for size in range(os.fstat(notes).st_size, -1, -1):
        os.ftruncate(notes, size)
        assert progress.read(notes) in [
            ("ir", ("a",), "b" * 100),
            ("ir", ("a",), "a"),
            ("ir", (), ""),
            (None, (), ""),
        ]


def test_progress_outside_of_a_worker_is_nothing():
    progress.enter("a", lambda: pytest.fail("printed"))
    progress.running("b")
    progress.phase("c")


@pytest.mark.parametrize(
    "wanted",
    [
        reproducer.Reproducer("module {}", pipeline="builtin.module(cse,func.func(a{b=1 c=2,3}))"),
        reproducer.Reproducer("", call="m.n:f", argument="text", others={"a": (1, "x\ny"), "b": {"c": None}}),
    ],
)
def test_reproducer_reads_back(wanted):
    path, command = reproducer.write(wanted, "what\nwhere")
    text = Path(path).read_text()
    found = reproducer.parse(text)
    assert found._replace(ir=wanted.ir) == wanted
    assert "// what\n// where\n" in text
    assert wanted.ir in found.ir
    assert path in command
    assert private(Path(path).parent)


def test_reproducer_says_what_is_wrong_with_a_file():
    with pytest.raises(ValueError, match="not a reproducer"):
        reproducer.parse("module {}")
    with pytest.raises(ValueError, match="cannot read the reproducer's header"):
        reproducer.parse(reproducer.MARK + "something")
    with pytest.raises(ValueError, match="cannot be written down"):
        reproducer.parse(reproducer.MARK + "call=a:b argument=c others={'x': <object>}")


def test_reproducers_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(reproducer, "KEPT_FILES", 3)
    for _ in range(5):
        path, _ = reproducer.write(reproducer.Reproducer("module {}", pipeline="builtin.module()"), "")
    assert len(list(Path(path).parent.glob("*.mlir"))) == 3


def test_failure_is_reported_even_if_no_reproducer_can_be_written(pool, monkeypatch):
    monkeypatch.setattr(reproducer, "private_folder", lambda: Path("/proc/no/such/folder"))
    with pytest.raises(CompileError, match="does not compile") as raised:
        pool.call("compile", TARGET + "raise_compile_error", text="it", reproducer="text")
    assert raised.value.reproducer == ""
