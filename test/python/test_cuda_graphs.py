"""Calls that are replayed as CUDA graphs give what eager gives: on the emulator, and on a GPU."""

import threading

import mlopt
import pytest
import torch
from mlopt.backend import report
from mlopt.test.python import gpu_devices
from mlopt.test.python.cuda.recorded import on_emulators
from mlopt.test.python.gpu_devices import DEVICES, jit, there
from mlopt.test.python.test_cuda_calls import Net
from torch.nn import functional as F


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    torch._dynamo.reset()
    request.node.machines = on_emulators(monkeypatch)
    return request.param


def replayed(request):
    """How often graphs were replayed; on a GPU nobody counts."""
    return sum(machine.replayed for machine in request.node.machines)


def compiled(device, function, **options):
    options |= {"target": gpu_devices.target(device), "device": device, "fallback": False}
    return torch.compile(function, backend="mlopt", options=options)


def test_module(device, request):
    """Sizes come and go, results are kept, weights change."""
    torch.manual_seed(1)
    module, kept = there(device, Net().eval()), []
    sizes = {"x": {0: torch.export.Dim("batch", min=1, max=1000)}}
    with torch.no_grad():
        call = jit(device, module, there(device, torch.randn(5, 24)), dynamic_shapes=sizes, cuda_graph=True)
        for number, batch in enumerate([5, 5, 3, 5, 3, 3, 5, 5, 5, 5, 5]):
            if number == 6:
                module.first.weight.mul_(1.5)
            x = there(device, torch.randn(batch, 24))
            kept.append((call(x), module(x)))
        for got, eager in kept:
            torch.testing.assert_close(got, eager, rtol=1e-5, atol=1e-5)
    assert device != "emulator" or replayed(request) == 8


def test_one_call_of_static_sizes(device, request):
    with torch.inference_mode():
        x = there(device, torch.randn(7, 33))
        call = jit(device, lambda x: (x.softmax(-1), x.sum()), x, cuda_graph=True)
        for _ in range(3):
            x.add_(1)
            torch.testing.assert_close(call(x), (x.softmax(-1), x.sum()))
    assert device != "emulator" or replayed(request) == 2


def test_training(device, request):
    """Forward and backward are captured; parameters that are stepped are read where they are."""
    torch.manual_seed(2)
    ours, eager = (there(device, torch.nn.Sequential(torch.nn.Linear(9, 16), torch.nn.Tanh())) for _ in "ab")
    ours.load_state_dict(eager.state_dict())
    call = compiled(device, ours, cuda_graph=True)
    steps = [torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9) for each in (ours, eager)]
    for _ in range(5):
        x = there(device, torch.randn(4, 9))
        for module, step in zip((call, eager), steps, strict=True):
            step.zero_grad()
            module(x).square().sum().backward()
            step.step()
    for one, other in zip(ours.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    assert device != "emulator" or replayed(request) == 8


def test_numbers_and_layouts(device, request):
    """Ints are in a graph by their value; inputs are copied in the order of their memory."""
    function = compiled(device, lambda x, y, n: x * n + y.t(), cuda_graph=True)
    with torch.no_grad():
        for n in (3, 4, 4, 5, 4, 4, 4, 4, 4, 4):
            x, y = there(device, torch.randn(3, 5)), there(device, torch.randn(5, 3))
            torch.testing.assert_close(function(x, y, n), x * n + y.t())
            x, y = there(device, torch.randn(5, 3)).t(), there(device, torch.randn(10, 3))[::2]
            torch.testing.assert_close(function(x, y, n), x * n + y.t())
    assert device != "emulator" or replayed(request) > 10


def test_programs_that_check_their_input(device, request):
    """What a replayed kernel finds is raised by the next call at the latest; the one after that is right."""
    with torch.no_grad():
        table, rows = (there(device, each) for each in (torch.randn(10, 4), torch.tensor([1, 2])))
        call = jit(device, F.embedding, rows, table, cuda_graph=True)
        for _ in range(4):
            assert torch.equal(call(rows, table), table[rows])
        with pytest.raises(IndexError, match="index out of range"):
            for _ in range(3):
                rows.add_(9)
                call(rows, table)
                rows.sub_(9)
                if device != "emulator":
                    torch.cuda.synchronize()
        rows.copy_(there(device, torch.tensor([3, 4])))
        assert torch.equal(call(rows, table), table[rows])
    assert device != "emulator" or replayed(request) > 3


def test_a_thread_calls_while_another_one_captures(monkeypatch):
    """What the other one launches is made, and is no part of the graph."""
    machines, others = on_emulators(monkeypatch), []
    x, y = torch.randn(2, 9)
    with torch.inference_mode():
        call = jit("emulator", torch.neg, x, cuda_graph=True)
        call(x)
        (machine,) = machines
        capture = machine.capture

        def meanwhile(launch):
            thread = threading.Thread(target=lambda: others.append(call(y)))
            thread.start()
            thread.join()
            return launch()

        monkeypatch.setattr(machine, "capture", lambda launch: capture(lambda: meanwhile(launch)))
        for _ in range(3):
            assert torch.equal(call(x), -x)
    assert others
    assert all(torch.equal(other, -y) for other in others)


def test_where_there_is_nothing_to_capture_the_report_says_so():
    x = torch.randn(3)
    for where, options in {
        "the CPU": {},
        "the emulator": {"target": "cuda:sm_80", "device": "emulator"},
    }.items():
        call = mlopt.jit(torch.relu, x, cuda_graph=True, **options)
        assert f"cuda_graph changes nothing: calls run on {where}" in str(call.report)
        assert torch.equal(call(x), x.relu())
    torch._dynamo.reset()
    torch.compile(torch.tanh, backend="mlopt", mode="reduce-overhead")(x)
    assert [graph.note for graph in report().graphs] == ["cuda_graph changes nothing: calls run on the CPU"]
