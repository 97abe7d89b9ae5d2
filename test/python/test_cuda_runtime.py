"""MLIR's own CUDA runtime, run against a driver that records what it is asked for."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mlopt.test.python.cuda import stub

HERE = Path(__file__).parent / "cuda"
SCENARIOS = [
    node.name
    for node in ast.parse((HERE / "scenarios.py").read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.args.args
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The stub driver, and programs to run on it."""
    folder = tmp_path_factory.mktemp("cuda")
    programs = folder / "programs.pickle"
    subprocess.run([sys.executable, str(HERE / "programs.py"), str(programs)], check=True)
    return stub.build(folder), programs


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_on_the_stub_driver(built, scenario):
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_LAUNCH_BLOCKING"}
    command = [sys.executable, str(HERE / "scenarios.py"), scenario, *map(str, built)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
