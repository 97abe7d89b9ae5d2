"""Ctrl-C while torch's parts are still being imported."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, threading
import torch, mlopt

module, x = torch.nn.Linear(33, 33), torch.randn(4, 33)
threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    mlopt.jit(module, x, cache=False)
    print("it was done before")
except KeyboardInterrupt:
    print("interrupted")
print(tuple(mlopt.jit(module, x, cache=False)(x).shape))
"""


@pytest.mark.parametrize("delay", [0.05, 0.3, 0.8])
def test_an_early_interrupt(delay: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(delay)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "(4, 33)"
