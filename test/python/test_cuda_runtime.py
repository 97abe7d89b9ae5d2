"""MLIR's own CUDA runtime, run against a driver that records what it is asked for."""

import ast
import json
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
def outcomes(tmp_path_factory):
    """The folder with what the scenarios printed, and their exit statuses."""
    folder = tmp_path_factory.mktemp("cuda")
    stub.build(folder)
    subprocess.run([sys.executable, HERE / "programs.py", folder / "programs.pickle"], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_LAUNCH_BLOCKING"}
    command = [sys.executable, HERE / "scenarios.py", folder]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=300, check=True)
    return folder, json.loads(done.stdout)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_on_the_stub_driver(outcomes, scenario):
    folder, statuses = outcomes
    assert statuses[scenario] == 0, (folder / f"{scenario}.log").read_text()
