"""Fixtures that several files use."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt.runtime.pool import Pool
from mlopt.test.python.api_modules import Net
from mlopt.test.python.process_helpers import TARGET, eventually, zombies

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell starts what runs behind it so, and programs that tests start, and interrupt, would be the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def seed(request):
    """What a test draws depends on its name and on MLOPT_TEST_SEED, not on the tests before it."""
    return zlib.crc32(f"{os.environ.get('MLOPT_TEST_SEED', '')}{request.node.name}".encode())


@pytest.fixture(autouse=True)
def seeded(seed):
    # torch.manual_seed also keeps this call's stack as text, for each kind of device that is not there.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


@pytest.fixture
def threads():
    """Sets torch's threads; as they were afterwards."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture
def inference():
    """Grad mode is off."""
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def net():
    """A module, and what mlopt.jit makes of it."""
    torch.manual_seed(0)
    module = Net().eval()
    return module, mlopt.jit(module, torch.randn(4, 16))


@pytest.fixture(scope="module")
def worker_environment(tmp_path_factory):
    """Workers find process_targets.py; reproducers go to a folder of the test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def shared_pool(worker_environment):
    pool = Pool({"import": 1, "compile": 2}, memory=8 << 30)
    yield pool
    pool.shutdown()


@pytest.fixture
def pool(shared_pool):
    """After each test the pool still answers, with the right answer, and there are no zombies."""
    yield shared_pool
    token = os.urandom(8)
    assert shared_pool.call("compile", TARGET + "echo", value=token) == token
    eventually(lambda: not zombies())  # one that has ended by itself a moment ago is collected


@pytest.fixture
def program(tmp_path):
    """Starts Python programs; nothing of them is left when the test ends."""
    started = []

    def start(
        prelude,
        text,
        *,
        arguments=(),
        cwd=tmp_path,
        path=str(Path(__file__).parent),
        prefix=(),
        environment=(),
    ):
        file = tmp_path / "script.py"
        file.write_text(prelude + textwrap.dedent(text))
        own = {"PYTHONPATH": path, "XDG_STATE_HOME": str(tmp_path), **dict(environment)}
        process = subprocess.Popen(
            [*prefix, sys.executable, str(file), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **own},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
