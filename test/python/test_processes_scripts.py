"""Worker processes and all that a user's program may do: each test runs a program of its own."""

import functools
import os
import signal
import time
from pathlib import Path

import pytest
from mlopt.test.python.process_helpers import output, wait_until_gone

HERE = Path(__file__).parent
PRELUDE = """
import os, signal, sys, threading, time
from mlopt.errors import WorkerDied
from mlopt.runtime import pool

def echo(value):
    return pool.call("compile", "process_targets:echo", value=value)
"""


@pytest.fixture
def script(program):
    """Runs programs that start with the prelude."""
    return functools.partial(program, PRELUDE)


def test_importing_mlopt_loads_nothing_heavy(script):
    process = script(
        """
        import mlopt
        heavy = {"torch", "torch_mlir", "mlir", "numpy", "llvmlite", "multiprocessing"}
        assert issubclass(mlopt.InputError, mlopt.MloptError) and mlopt.WorkerDied is WorkerDied
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        assert all(getattr(mlopt, name).__name__ == name for name in mlopt.__all__)
        assert "torch" not in sys.modules
        heavy.remove("numpy"), heavy.remove("llvmlite")
        try:
            pool.call("compile", "process_targets:raise_of_mlir")
        except Exception as error:
            assert "MLIRError" in str(error), error
        assert not heavy & set(sys.modules), "an exception brought in MLIR"
        """
    )
    output(process)


def test_script_without_a_main_guard_runs_once(script):
    process = script("print('top', echo(1))")
    assert output(process) == ["top", "1"]


def test_modules_of_the_user_are_not_the_workers(script, tmp_path):
    for name in ("torch", "mlir", "torch_mlir", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is the file of the user')")
    text = """
    for name in ("torch", "mlir", "torch_mlir", "numpy"):
        origin = pool.call("compile", "process_targets:origin", module=name)
        assert "site-packages" in origin, origin
    """
    # An empty entry means the current directory.
    output(script(text, path=f":{HERE}:"))


def test_ctrl_c_in_the_middle_of_a_compilation(script):
    process = script(
        """
        echo(0)
        try:  # the signal may come as soon as the number is read
            print(*pool.pids("compile"), flush=True)
            pool.call("compile", "process_targets:sleep", seconds=60, value="stale")
        except KeyboardInterrupt:
            print("interrupted", echo("fresh"), *pool.pids("compile"))
        """
    )
    before = int(process.stdout.readline())
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    word, answer, after = output(process)
    assert (word, answer) == ("interrupted", "fresh")
    assert int(after) != before
    wait_until_gone(before)
    wait_until_gone(int(after))


def test_ctrl_c_at_any_moment(script):
    """The signal comes a little later each time; answers never get mixed up."""
    process = script(
        """
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        echo(0)
        count = 0
        for n in range(25):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-4 * n)
                    for m in range(1000):
                        assert echo((n, m)) == (n, m)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                count += 1
        assert echo("last") == "last"
        print(count)
        """
    )
    assert output(process) == ["25"]


def test_fork_while_a_request_runs(script):
    process = script(
        """
        mine = []
        thread = threading.Thread(
            target=lambda: mine.append(pool.call("compile", "process_targets:sleep", seconds=0.6, value=1))
        )
        thread.start()
        time.sleep(0.2)
        workers = pool.pids("compile")
        child = os.fork()
        if child == 0:
            assert pool.pids("compile") == []
            assert echo(2) == 2
            assert not set(pool.pids("compile")) & set(workers)
            sys.exit(7)  # runs the exit hooks, which must leave the parent's workers alone
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        thread.join()
        assert mine == [1], mine
        assert echo(5) == 5
        assert set(workers) <= set(pool.pids("compile"))
        print("done")
        """
    )
    assert output(process) == ["done"]


def test_fork_inside_of_a_call(script):
    """A signal handler that forks while the main thread waits: the child must not wait for ever."""
    process = script(
        """
        children = []
        signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        try:
            answer = pool.call("compile", "process_targets:sleep", seconds=1.0, value="answer")
        except WorkerDied as error:
            assert children == [0] and "forked" in str(error)
            os._exit(8 if echo("child") == "child" else 1)
        assert answer == "answer"
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 8
        """
    )
    output(process)


def test_kernels_run_in_a_forked_child(script):
    """libgomp's threads are the parent's: a kernel that waited for them would never return."""
    process = script(
        """
        import numpy as np, mlopt
        os.environ["OMP_NUM_THREADS"] = "3"
        text = '''func.func @negate(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
          %y = arith.negf %x : tensor<1048576xf32>
          return %y : tensor<1048576xf32>
        }'''
        negate = mlopt.compile_mlir(text, "negate")
        x = np.ones(1048576, np.float32)
        before = len(os.listdir("/proc/self/task"))
        negate(x)
        assert len(os.listdir("/proc/self/task")) == before + 2
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(5 if (negate(x) == -x).all() else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 5, status
        assert (negate(x) == -x).all()
        print("done")
        """
    )
    assert output(process) == ["done"]


def test_multiprocessing_by_fork(script):
    process = script(
        """
        import multiprocessing
        echo(0)
        with multiprocessing.get_context("fork").Pool(2) as processes:
            print(processes.map(echo, range(4)))
        """
    )
    assert "".join(output(process)) == "[0,1,2,3]"


@pytest.mark.parametrize(
    "end", ["pass", "sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "raise ValueError"]
)
def test_workers_end_with_the_program(script, end):
    process = script(
        f"""
        pool.start()
        thread = threading.Thread(
            target=lambda: pool.call("compile", "process_targets:spin"), daemon=True
        )
        thread.start()
        echo(0)
        pool.call("import", "process_targets:echo", value=0)
        time.sleep(0.1)
        print(*pool.pids("compile"), *pool.pids("import"), flush=True)
        {end}
        """
    )
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) >= 2
    began = time.monotonic()
    process.wait(timeout=20)
    assert time.monotonic() - began < 20
    for pid in workers:
        wait_until_gone(pid)


def test_closed_standard_streams(script, tmp_path):
    process = script(
        """
        answers = [echo(b"x" * 100_000) == b"x" * 100_000]
        try:
            pool.call("compile", "os:abort")
        except WorkerDied as error:
            answers.append("SIGABRT" in str(error))
        os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), repr(answers).encode())
        """,
        prefix=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"),
        arguments=(str(tmp_path / "answers"),),
    )
    process.wait(timeout=20)
    assert (tmp_path / "answers").read_text() == "[True, True]"


def test_signals_that_the_user_has_changed(script):
    """Children collected behind our back, and a SIGPIPE that kills."""
    process = script(
        """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for n in range(3):
            assert echo(n) == n
            try:
                pool.call("compile", "os:abort")
            except WorkerDied as error:
                print("died")
            os.kill(pool.call("compile", "process_targets:pid"), signal.SIGKILL)
        print(echo("on"))
        """
    )
    assert output(process) == ["died", "died", "died", "on"]


def test_directory_that_is_gone(script, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    process = script(f"os.rmdir({str(gone)!r}); print(echo(1))", cwd=gone)
    assert output(process) == ["1"]
