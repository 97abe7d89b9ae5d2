"""Each example runs, checks itself, and prints the facts that it is there for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

FACTS = {
    "elementwise_chain": (
        "1000003",
        r"mlopt::kernel_0_relu_mul_add_sigmoid",
        r"kernels +1\n",
        r"unfused, ms",
    ),
    "tanh_gelu": ("", r"kernels +1\n", r"fused in it .*tanh"),
    "common_subexpression": ("", r"as written +2\n", r"in the kernel +1\n"),
    "resnet18_half": ("32 float16", r"torch.float16", r"weights, MB +23.4\n"),
    "matmul_relu": ("", r"kernels +1\n", r"fused in it +matmul, relu\n"),
    "layer_norm_mlp": ("", r"in eager +aten.bernoulli.p\n", r"backward +\d+ ops in \d+ kernels\n"),
}


@pytest.mark.parametrize("name", FACTS)
def test_example(name):
    argument, *facts = FACTS[name]
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *argument.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for fact in facts:
        assert re.search(fact, done.stdout), done.stdout


def test_every_example_is_run():
    others = {"facts", "demo", "profiling"}  # demo: `make demo`; profiling: test_profiling.py
    assert {path.stem for path in EXAMPLES.glob("*.py")} - others == set(FACTS)
