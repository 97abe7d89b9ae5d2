"""Each example runs, checks itself, and prints the facts that it is there for."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

FACTS = {
    "elementwise_chain": (
        "1000003",
        r"mlopt::kernel_0_relu_mul_add_sigmoid",
        r"kernels +1\n",
        r"unfused, ms",
    ),
    "tanh_gelu": ("", r"kernels +1\n", r"fused in it +gelu\n"),
    "common_subexpression": ("", r"as written +2\n", r"in the kernel +1\n"),
    "resnet18_half": ("32 float16", r"torch.float16", r"weights, MB +23.4\n"),
    "matmul_relu": ("", r"kernels +1\n", r"fused in it +matmul, relu\n"),
    "layer_norm_mlp": ("", r"in eager +aten.bernoulli.p\n", r"backward +\d+ ops in \d+ kernels\n"),
}


@pytest.mark.parametrize("name", FACTS)
def test_example(name, capsys, monkeypatch):
    argument, *facts = FACTS[name]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *argument.split()])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    torch._dynamo.reset()
    torch.manual_seed(0)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for fact in facts:
        assert re.search(fact, printed), printed


def test_every_example_is_run():
    others = {"facts", "demo", "demo_gpu", "profiling", "blocks"}  # which have commands or tests of their own
    assert {path.stem for path in EXAMPLES.glob("*.py")} - others == set(FACTS)
