"""What a captured program says: weights, structure, mutations, sizes, lines; and the import worker's text."""

import re
import subprocess
import sys

import torch
from mlopt.frontends.torch import capture
from mlopt.test.python.frontend_graphs import import_text, line_of
from torch import nn
from torch.utils import _pytree as pytree


def test_weights_are_live_and_tied_ones_passed_once():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3, bias=False)
            self.b = nn.Linear(3, 3)
            self.b.weight = self.a.weight
            self.unused = nn.Parameter(torch.ones(2))
            self.register_buffer("kept", torch.ones(3))
            self.register_buffer("dropped", torch.ones(3), persistent=False)
            self.plain = torch.ones(3)

        def forward(self, x):
            return self.b(self.a(x)) + self.kept * self.dropped - self.plain

    module = Module()
    program = capture(module, (torch.randn(2, 3),))
    kinds = {weight.name: weight.kind for weight in program.weights}
    assert kinds == {
        "a.weight": "parameter",
        "b.bias": "parameter",
        "kept": "buffer",
        "dropped": "buffer",
        "plain": "constant",
    }
    assert program.weights[0].names == ("a.weight", "b.weight")
    tensors = {weight.name: weight.tensor for weight in program.weights}
    assert tensors["a.weight"] is module.a.weight
    assert tensors["dropped"] is module.dropped
    assert tensors["plain"] is module.plain
    assert program.weight_positions == [1, 2, 3, 4, 5]


def test_structure_constants_and_aliases():
    class Module(nn.Module):
        def forward(self, x, pair, factor=2.0, flag=None):
            y = x * factor + pair["a"][0]
            return {"y": y, "t": y.t(), "same": x, "view": x[1:], "none": flag, "number": 3, "again": y}

    x, other = torch.randn(2, 3), torch.randn(3)
    program = capture(Module(), (x, {"a": [other]}), example_kwargs={"factor": 4.0})
    assert [leaf.position for leaf in program.inputs] == [0, 1]
    assert program.constants == {2: 4.0}
    outputs = dict(zip(["y", "t", "same", "view", "none", "number", "again"], program.outputs, strict=True))
    assert outputs["y"].result == outputs["again"].result
    assert outputs["t"].strides == (1, 3)
    assert outputs["t"].alias == "output"
    assert outputs["same"].alias == outputs["view"].alias == "input"
    assert outputs["none"].kind == outputs["number"].kind == "constant"
    assert outputs["number"].value == 3
    rebuilt = pytree.tree_unflatten([0] * 7, program.out_spec)
    assert list(rebuilt) == list(outputs)


def test_aliases_count_the_weights_that_are_passed():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.ones(3))
            self.used = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x + 1, self.used

    program = capture(Module(), (torch.randn(3),))
    assert [weight.name for weight in program.weights] == ["used"]
    assert program.outputs[1].alias == "weight"


def test_mutations_are_leading_results():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(x.sum(0))
            x.mul_(2)
            return self.count + x

    program = capture(Module(), (torch.randn(2, 3),))
    assert [(m.result, m.kind, m.index) for m in program.mutations] == [(0, "weight", 0), (1, "input", 0)]
    assert program.outputs[0].result == 2
    assert len(program.results) == 3


def test_transposed_outputs_are_written_in_memory_order():
    class Module(nn.Module):
        def forward(self, x):
            return (x + 1).permute(2, 0, 1), (x * 2)[:, ::2]

    program = capture(Module(), (torch.randn(2, 3, 5),))
    assert program.outputs[0].shape == (5, 2, 3)
    assert program.outputs[0].strides == (1, 15, 5)
    assert program.results[0].sizes == (2, 3, 5)
    assert not program.outputs[1].dense
    assert "linalg.transpose" not in import_text(program)


def test_sizes_of_results_are_expressions():
    class Module(nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y]).reshape(-1, 2), x.reshape(-1), x.shape[0]

    batch, other = torch.export.Dim("batch"), torch.export.Dim("other", max=64)
    program = capture(Module(), (torch.randn(3, 4), torch.randn(5, 4)), ({0: batch}, {0: other}))
    values = {"a0_0": 7, "a1_0": 9}
    assert eval(program.results[0].sizes[0], values) == (7 + 9) * 2
    assert eval(program.results[1].sizes[0], values) == 28
    assert (program.outputs[2].kind, program.outputs[2].value) == ("size", "a0_0")
    assert program.inputs[1].ranges[0][1] == 64


def test_equal_sizes_are_said_to_be_equal():
    class Module(nn.Module):
        def forward(self, x, y):
            return x + y

    batch = torch.export.Dim("batch")
    program = capture(Module(), (torch.randn(3, 4), torch.randn(3, 4)), ({0: batch}, {0: batch}))
    assert program.inputs[1].sizes == ("a0_0", 4)


def test_ops_come_with_their_lines():
    class Module(nn.Module):
        def forward(self, x):
            return torch.tanh(x)  # a line with an op

    program = capture(Module(), (torch.randn(3),))
    assert program.ops == (("aten.tanh.default", line_of(__file__, "a line with an op")),)


def test_weights_are_marked_and_lines_kept():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return torch.tanh(x * self.w)  # a line of linalg

    text = import_text(capture(Module(), (torch.randn(2, 3),)))
    assert re.search(r"%arg0: tensor<2x3xf32> loc.*%arg1: tensor<3xf32> \{mlopt.weight\}", text)
    file, line = line_of(__file__, "a line of linalg").rsplit(":", 1)
    assert f'loc("{file}":{line}:0)' in text


def test_no_mlir_in_the_users_process():
    script = (
        "import sys, torch, mlopt\nfrom mlopt.frontends.torch import capture\n"
        "capture(torch.nn.ReLU(), (torch.ones(3),))\n"
        "assert not {'mlir', 'torch_mlir'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, capture_output=True)


def test_no_torch_in_the_import_worker():
    script = (
        "import sys\nimport mlopt.frontends.importer\n"
        "assert 'torch' not in sys.modules and 'mlir' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
