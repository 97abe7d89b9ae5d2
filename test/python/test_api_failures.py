"""mlopt.jit, when compilations die: a clear exception, a reproducer, and the next one works."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from mlopt.test.python.process_helpers import output, wait_until_gone

HERE = Path(__file__).parent
PRELUDE = """
import contextlib, json, os, shlex, signal, subprocess, sys, threading, time, traceback, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import mlopt, torch
from mlopt.runtime import pool

torch.set_grad_enabled(False)
torch.set_num_threads(1)
PLANTED = Path(os.environ["PLANTED"])
REACHED = PLANTED.with_suffix(".reached")
model, x = torch.nn.Linear(4, 4), torch.randn(2, 4)

def plant(what):
    REACHED.unlink(missing_ok=True)
    PLANTED.write_text(what)

def compile(**options):
    return mlopt.jit(model, x, **options)

def wait_until_reached():
    while not REACHED.exists():
        time.sleep(0.01)

def works():
    plant("")
    torch.testing.assert_close(compile()(x), model(x))

def fails(kind, *texts, **options):
    try:
        compile(**options)
    except kind as error:
        assert type(error) is kind, error
        assert all(text in str(error) for text in texts), error
        assert len(str(error).splitlines()) <= 15, error
        assert Path(error.reproducer).read_text().startswith("// mlopt-reproducer: "), error
        assert error.reproducer in error.command
        return error
    raise AssertionError("nothing was raised")
"""


# Runs the texts that come in, one a line, each with names of its own.
LOOP = """
own = os.getpid()
for line in sys.stdin:
    try:
        plant("")
        exec(json.loads(line), dict(globals()))
        print("done", flush=True)
    except (Exception, KeyboardInterrupt):
        traceback.print_exc()
        if os.getpid() != own:
            os._exit(1)
        print("failed", flush=True)
"""
SECONDS = 60  # that a text may take


def planting(folder):
    """Environment variables for programs whose compilations do what is planted."""
    planted = folder / "planted"
    planted.write_text("")
    return {
        "PLANTED": str(planted),
        "MLOPT_PASS_PLUGINS": str(HERE / "planted_pass.py"),
        "MLOPT_PASSES": "planted after mlopt-cpu-status",
    }


class Session:
    """A program that outlives one failure after the other."""

    def __init__(self, folder):
        file = folder / "script.py"
        file.write_text(PRELUDE + LOOP)
        own = {"PYTHONPATH": str(HERE), "XDG_STATE_HOME": str(folder), **planting(folder)}
        self.process = subprocess.Popen(
            [sys.executable, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, **own},
            start_new_session=True,
        )

    def tell(self, text):
        """Have it run ``text``."""
        self.process.stdin.write(json.dumps(textwrap.dedent(text)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        """What the text that runs has printed, line by line, when it is done."""
        lines = []
        late = threading.Timer(SECONDS, self.kill)
        late.start()
        try:
            for line in self.process.stdout:
                if line == "done\n":
                    return lines
                lines.append(line)
                if line == "failed\n":
                    break
        finally:
            late.cancel()
        raise AssertionError("".join(lines))

    def run(self, text):
        """Have it run ``text`` to its end."""
        self.tell(text)
        return self.answer()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """One program for all failures: torch takes seconds to import."""
    session = Session(tmp_path_factory.mktemp("session"))
    yield session
    session.kill()
    session.process.communicate()


def test_an_assertion_in_a_stock_pass(session):
    session.run(
        """
        plant("abort")
        error = fails(mlopt.WorkerDied, "SIGABRT", "Assertion `", "where: in finalize-memref-to-llvm")
        again = subprocess.run(shlex.split(error.command), capture_output=True, text=True)
        assert again.returncode == -signal.SIGABRT, again
        assert "Assertion `" in again.stderr
        works()
        """
    )


def test_the_time_limit(session):
    session.run(
        """
        plant("60")
        began = time.monotonic()
        error = fails(mlopt.CompileTimeout, "time limit of 1 s", "where: in planted", timeout=1)
        assert time.monotonic() - began < 30  # not the pass's minute
        REACHED.unlink()
        again = subprocess.Popen(shlex.split(error.command))
        wait_until_reached()  # the same pass, which is as slow again
        assert again.poll() is None
        again.kill()
        again.wait()
        works()
        """
    )


def test_no_memory(session):
    session.run(
        """
        plant("memory")
        error = fails(mlopt.WorkerOutOfMemory, "ran out of memory (its limit is ", "in planted")
        again = subprocess.run(["sh", "-c", f"ulimit -v 4000000; exec {error.command}"], capture_output=True)
        assert again.returncode > 0, again
        assert b"MemoryError" in again.stderr, again.stderr
        works()
        """
    )


def test_a_worker_that_is_killed(session):
    session.run(
        """
        plant("60")
        def kill():
            wait_until_reached()
            os.kill(*pool.pids("compile"), signal.SIGKILL)
        killer = threading.Thread(target=kill)
        killer.start()
        error = fails(mlopt.WorkerDied, "SIGKILL", "where: in planted")
        killer.join()
        plant("")
        again = subprocess.run(shlex.split(error.command), capture_output=True, text=True)
        assert again.returncode == 0, again.stderr  # the module was not to blame
        works()
        """
    )


def test_ctrl_c_in_the_middle(session):
    session.tell(
        """
        plant("60")
        def tell():
            wait_until_reached()
            print(*pool.pids("compile"), flush=True)
        threading.Thread(target=tell).start()
        try:
            compile()
        except KeyboardInterrupt:
            works()
            print("interrupted", *pool.pids("compile"))
        """
    )
    before = int(session.process.stdout.readline())
    os.killpg(session.process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    (last,) = session.answer()
    word, after = last.split()
    assert word == "interrupted"
    assert int(after) != before
    wait_until_gone(before)


def test_a_fork_in_the_middle(session):
    session.run(
        """
        plant("1.5")
        results = []
        thread = threading.Thread(target=lambda: results.append(compile()))
        thread.start()
        wait_until_reached()
        workers = pool.pids("compile")
        PLANTED.write_text("")
        child = os.fork()
        if child == 0:
            with torch.no_grad():
                works()
            assert not set(pool.pids("compile")) & set(workers)
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        thread.join()
        torch.testing.assert_close(results[0](x), model(x))
        assert pool.pids("compile") == workers
        works()
        """
    )


def test_a_first_thread_that_has_ended(program, tmp_path):
    process = program(
        PRELUDE,
        """
        results = []
        thread = threading.Thread(target=lambda: results.append(compile()))
        thread.start()
        thread.join()
        workers = pool.pids("import") + pool.pids("compile")
        time.sleep(0.5)
        with torch.no_grad():
            torch.testing.assert_close(results[0](x), model(x))
        works()
        assert pool.pids("import") + pool.pids("compile") == workers
        """,
        environment=planting(tmp_path),
    )
    output(process)
