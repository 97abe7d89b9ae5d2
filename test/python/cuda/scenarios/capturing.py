"""CUDA graphs: launches that are captured once, and replayed."""

import ctypes
import os
import warnings

import numpy as np
import torch
from mlopt.runtime.cuda import graphs
from mlopt.test.python.cuda.calls import (
    STREAM,
    Recorder,
    capture_on,
    captured,
    compute,
    counts,
    entry_graphs,
    pointer,
    raises,
    run,
)
from mlopt.test.python.threads import at_once


def replays(stub):
    """The first call of some sizes is made, the second one captured; at the same places it is replayed."""
    compute(stub)
    memory = torch.empty(500)
    call, recorder, _ = captured(stub, "two_steps", lambda shape, strides, dtype: memory[: shape[0]])
    stub.log()
    x = torch.randn(500)
    for number, expected in enumerate([(2, 0, 0), (0, 2, 1), (0, 0, 1), (0, 0, 1)]):
        x.fill_(number)
        (out,) = call(x)
        assert torch.equal(out, x + 1 + 1)
        assert counts(stub) == expected, number
    (out,) = call(torch.zeros(300))
    assert torch.equal(out, torch.full((300,), 2.0))
    assert counts(stub) == (2, 0, 0)
    assert recorder.waits == []


def results_are_the_callers(stub):
    """Results that are kept stay; where all places change, a graph on buffers takes over."""
    compute(stub)
    call, _, _ = captured(stub, "two_steps")
    kept = [(x, call(x)[0]) for x in torch.randn(12, 400)]
    assert all(torch.equal(out, x + 1 + 1) for x, out in kept)
    launched, recorded, replayed = counts(stub)
    assert (launched, replayed) == (2, 11)
    assert recorded == 2 * (graphs.MOST_PLACES + 1)
    assert len({out.data_ptr() for _, out in kept}) == 12


def inputs_that_stay_are_not_copied(stub):
    """Beside buffers a graph has the addresses of what has not moved yet; once it moves, it is copied."""
    compute(stub)
    stub.library.stub_parameters(4)
    call, _, _ = captured(stub, "add")
    weight, kept = torch.randn(400), []
    for x in torch.randn(10, 400):
        kept.append(call(x, weight)[0])
        assert torch.equal(kept[-1], x + weight)
    (known,) = entry_graphs(call)
    assert [buffer is not None for buffer in known.buffered.buffers] == [True, False, True]
    counts(stub)
    weight.add_(1)
    x, other = torch.randn(2, 400)
    assert torch.equal(call(x, weight)[0], x + weight)
    assert counts(stub) == (0, 0, 1)
    assert torch.equal(call(x, other)[0], x + other)
    assert counts(stub) == (0, 1, 1)
    assert torch.equal(call(other, weight)[0], other + weight)
    assert counts(stub) == (0, 0, 1)


def maps(stub):
    """A graph has the tensor maps of its addresses, by value, whatever is called meanwhile."""
    seen, out = [], torch.empty(64)
    stub.library.stub_parameters(2)
    stub.on_launch(lambda name, grid, block, shared, stream, params: seen.append(pointer(params, 1)))
    call, _, _ = captured(stub, "boxes", lambda shape, strides, dtype: out)
    one, other = torch.zeros(2, 20, 64, dtype=torch.float16)
    for x in (one, one, other, one, other, torch.zeros(30, 64, dtype=torch.float16), one):
        call(x)
        assert seen.pop() == x.data_ptr() and not seen
    log = stub.log()
    assert sum("TensorMap" in line for line in log) == 3
    assert sum("cuGraphLaunch" in line for line in log) == 5


def checks(stub):
    """A graph of a program that checks its input has the cell's address; what it finds is seen later."""
    compute(stub)
    x, memory = torch.zeros(2, 40)
    call, _, entry = captured(stub, "checked", lambda shape, strides, dtype: memory)
    stub.library.stub_parameters(4)
    stub.log()
    for expected in ((2, 0, 0), (0, 2, 1), (0, 0, 1)):
        call(x)
        assert counts(stub) == expected
    cell = ctypes.c_int32.from_address(entry.status.address)
    cell.value = 1
    try:
        call(x)
    except IndexError as error:
        assert str(error) == "index out of range" and not cell.value
    else:
        raise AssertionError("no IndexError")
    assert counts(stub) == (0, 0, 0)
    call(x)
    assert counts(stub) == (0, 0, 1)


def sizes(stub):
    """Sizes have graphs of their own, and those that were not used for longest are given up."""
    compute(stub)
    call, _, _ = captured(stub, "relu")
    for size in range(1, 2 * graphs.MOST_SIZES):
        x = torch.randn(size)
        for _ in range(2):
            assert torch.equal(call(x)[0], x + 1)
    assert len(entry_graphs(call)) == graphs.MOST_SIZES
    counts(stub)
    assert torch.equal(call(x)[0], x + 1)
    assert counts(stub)[0] == 0


def weights(stub):
    """What is made of a weight is in a graph by its place; a weight that changed has new graphs."""
    compute(stub)
    stub.library.stub_parameters(2)
    call, _, _ = captured(stub, "packed")
    x, weight = torch.zeros(2, 64)
    for _ in range(3):
        call(x, weight)
    # @prepare and @main are launched, then @main is captured and replayed.
    assert counts(stub)[::2] == (2, 2)
    weight.add_(1)
    (out,) = call(x, weight)
    assert counts(stub) == (2, 0, 0)
    assert torch.equal(call(x, weight)[0], out)
    assert counts(stub) == (0, 1, 1)


def streams_wait(stub):
    """Graphs of one workspace do not overlap, nor do they share it without telling the allocator."""
    compute(stub)
    held, recorded = [], []
    call, recorder, _ = captured(stub, "two_steps", record=recorded.append)
    for number, stream in enumerate((1, 1, 2, 2, 1) + (1, 2) * 4):
        recorder.stream = stream
        x = torch.randn(100)
        held.append((x, call(x)[0]))
        assert torch.equal(held[-1][1], x + 1 + 1), number
    assert recorder.waits == [(2, 1), (1, 2), *[(2, 1), (1, 2)] * 3, (2, 1)]
    assert recorded
    assert all(line.split()[-1] in ("0x1", "0x2") for line in stub.log() if line.startswith("cuGraph"))


def in_threads(stub):
    """Copies and replays of calls that overlap do not mix."""
    compute(stub)
    call, _, _ = captured(stub, "two_steps")

    def work(number):
        held = []
        for _ in range(60):
            x = torch.full((256,), float(number))
            held.append(call(x)[0])
        assert all(torch.equal(out, x + 1 + 1) for out in held)

    at_once(work, *((number,) for number in range(4)))
    launched, _, replayed = counts(stub)
    assert launched // 2 + replayed == 4 * 60


def a_call_in_a_call(stub):
    """A call that begins while another one is under way (in a signal's handler) is made without a graph."""
    compute(stub)
    inner = []
    call, recorder, _ = captured(stub, "two_steps")
    x = torch.randn(20)
    for _ in range(2):
        call(x)
    counts(stub)
    capture = recorder.capture
    recorder.capture = lambda launch: (inner.append(call(x + 1)), capture(launch))[1]
    held = [call(torch.randn(20)) for _ in range(3)]
    assert len(inner) == 3 and all(torch.equal(out, x + 1 + 1 + 1) for (out,) in inner)
    assert counts(stub) == (6, 6, 3)
    assert len(held) == 3


def in_a_capture_of_the_callers(stub):
    """What the caller captures has the kernels in it, not graphs."""
    compute(stub)
    call, recorder, _ = captured(stub, "two_steps")
    x, held = torch.randn(50), []
    for _ in range(3):
        held.append(call(x))
    counts(stub)
    own = Recorder(stub)
    _, replay = capture_on(own, recorder, lambda: held.append(call(x)))
    assert counts(stub) == (0, 2, 0)
    x.add_(1)
    replay()
    assert torch.equal(held[-1][0], x + 1 + 1)


def preparing_in_a_capture(stub):
    """@prepare would be recorded and not run, and calls after it would read what is not there."""
    compute(stub)
    stub.library.stub_parameters(2)
    call, recorder, entry = captured(stub, "packed")
    entry.replays = None
    x, weight = torch.zeros(2, 64)
    own = Recorder(stub)
    raises(lambda: capture_on(own, recorder, lambda: call(x, weight)), "CUDA graph", "call it once before")
    recorder.stream = STREAM
    call(x, weight)
    capture_on(own, recorder, lambda: call(x, weight))
    weight.add_(1)
    raises(lambda: capture_on(own, recorder, lambda: call(x, weight)), "CUDA graph")


def captures_that_fail(stub):
    """A driver that cannot capture is no reason to fail: the launches are made, and it is said once."""
    compute(stub)
    call, _, _ = captured(stub, "two_steps")
    x = torch.randn(50)
    call(x)
    stub.fail("cuStreamEndCapture", 901)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert torch.equal(call(x)[0], x + 1 + 1)
    assert ["not captured as CUDA graphs: CUDA error 901" in str(each.message) for each in caught] == [True]


def modes_of_torch(stub):
    """Buffers that were made in inference mode serve outside of it; gradients are not recorded by copies."""
    compute(stub)
    call, _, _ = captured(stub, "two_steps")
    held = []
    for mode in (torch.inference_mode, torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for _ in range(4):
                x = torch.randn(90)
                held.append(call(x)[0])
                assert torch.equal(held[-1], x + 1 + 1)
                assert not held[-1].requires_grad


def a_fork(stub):
    """CUDA does not outlive a fork: the child learns what to do. One that forks first has its own."""
    outcomes = []
    for used in (False, True):
        if used:
            run(stub.executable("relu").main, *np.zeros((2, 10), np.float32))
        child = os.fork()
        if child:
            outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            continue
        try:
            if used:
                raises(lambda: stub.executable("relu"), "CUDA_ERROR_NOT_INITIALIZED", "was forked", "spawn")
            else:
                run(stub.executable("relu").main, *np.zeros((2, 10), np.float32))
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        os._exit(0)
    assert outcomes == [0, 0]
