"""What the tests of the front end share: a captured graph, run in eager; the import worker's text."""

from pathlib import Path

import torch
from mlopt.frontends import torch as frontend
from mlopt.frontends.torch import capture
from mlopt.options import Options
from mlopt.runtime import requests


def line_of(file, text):
    """``file:line`` of the line in ``file`` that ends with the comment ``# text``."""
    lines = Path(file).read_text().splitlines()
    return f"{file}:{next(i for i, line in enumerate(lines, 1) if line.endswith('# ' + text))}"


def import_text(program):
    """The linalg text of a captured program."""
    return requests.import_program(program.text, program.weight_positions, Options())


class Interpreter(torch.fx.Interpreter):
    """Runs a graph in eager, with the ops that only our text has."""

    def call_function(self, target, args, kwargs):
        aten, prims = torch.ops.aten, torch.ops.prims
        if target in (aten.mm.dtype, aten.bmm.dtype):
            return args[0].float() @ args[1].float()
        if target is prims.shift_left.default:
            return torch.bitwise_left_shift(*args)
        if target is prims.shift_right_arithmetic.default:
            return torch.bitwise_right_shift(*args)
        return super().call_function(target, args, kwargs)


def run_graph(monkeypatch, module, inputs, shapes=None):
    """(program, its results by interpreting the graph)."""
    graphs = []
    write = frontend.graph_to_text
    monkeypatch.setattr(frontend, "graph_to_text", lambda g, sizes=(): (graphs.append(g), write(g, sizes))[1])
    program = capture(module, inputs, shapes)
    graph = graphs[0]
    interpreter = Interpreter(graph.owning_module, graph=graph)
    return program, interpreter.run(*inputs, *[weight.tensor for weight in program.weights])


def as_user_sees(program, results):
    """The leaves of what the module returns, from the function's results."""
    leaves = []
    for output in program.outputs:
        if output.kind != "result":
            leaves.append(output.value)
            continue
        buffer = results[output.result].contiguous().clone()
        if output.dense:
            leaves.append(buffer.as_strided(output.shape, output.strides))
        else:
            leaves.append(buffer)
    return leaves


def assert_close(actual, eager, exact):
    """At most twice eager's own error, or 1e-5 of the largest value (in f64: 1e-14)."""
    assert actual.dtype == eager.dtype
    assert actual.shape == eager.shape
    if not eager.is_floating_point():
        assert torch.equal(actual, eager)
        return
    assert torch.equal(actual.isnan(), eager.isnan())
    infinite = eager.isinf()
    assert torch.equal(actual[infinite], eager[infinite])
    finite = eager.isfinite()
    if not finite.any():
        return
    exact = exact.double()[finite]
    ours, theirs = ((t.double()[finite] - exact).abs().max().item() for t in (actual, eager))
    slack = (1e-14 if eager.dtype == torch.float64 else 1e-5) * exact.abs().max().item()
    assert ours <= max(2 * theirs, slack)
