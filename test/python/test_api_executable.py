"""The wrapper around a call: inputs, outputs, statuses, dynamic sizes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from mlopt.errors import InputError
from mlopt.frontends.program import Input, Mutation, Output, Result
from mlopt.runtime.executable import ALIGNMENT, AlignedBytes, Executable
from mlopt.runtime.huge_pages import HUGE_PAGE, LEAST
from mlopt.runtime.torch_wrapper import TorchWrapper
from mlopt.test.python.executables import (
    ADD,
    DYNAMIC,
    SHAPE,
    buffer,
    generate,
    metadata,
    result,
    static,
    wrapper,
)
from mlopt.test.python.threads import at_once


@pytest.fixture(scope="module")
def add():
    return wrapper(static(SHAPE), SHAPE)


def test_call(add):
    x, y = torch.randn(SHAPE), torch.randn(SHAPE)
    out = add(x, y)
    assert torch.equal(out, x + y)
    assert out.stride() == (16, 1)
    assert out.data_ptr() not in (x.data_ptr(), y.data_ptr(), add(x, y).data_ptr())
    assert torch.equal(add(x, x), x + x)


def test_forms_of_inputs(add):
    x, y = torch.randn(SHAPE), torch.randn(SHAPE)
    for form in (
        torch.randn(16, 4).t(),  # transposed
        torch.randn(4, 1).expand(SHAPE),  # stride 0
        torch.randn(65)[1:].view(SHAPE),  # aligned to 4 bytes only
        torch.randn(4, 32)[:, ::2],  # strided
        torch.randn(8, 16)[4:],  # with an offset
        torch.complex(x, y).conj().imag,  # negated lazily
        torch.nn.Parameter(x, requires_grad=False),
    ):
        assert torch.equal(add(form, y), form + y)
        assert torch.equal(add(y, form), form + y)


def test_unaligned_memory(add):
    x = torch.frombuffer(bytearray(4 * 64 + 1), dtype=torch.float32, offset=1, count=64).view(SHAPE)
    assert x.data_ptr() % 4
    assert torch.equal(add(x, x), x + x)


def test_numpy_in_numpy_out(add):
    x, y = torch.randn(SHAPE).numpy(), torch.randn(SHAPE).numpy()
    for form in (x, x[::-1], x[:, ::-1], x.copy(order="F")):
        out = add(form, y)
        assert type(out) is type(x)
        assert (out == form + y).all()
    x.flags.writeable = False
    assert (add(x, torch.from_numpy(y)) == x + y).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.randn(4, 15), r"input 'x' is float32\[4, 15\], compiled for float32\[4, 16\]"),
        (torch.randn(64), r"input 'x' is float32\[64\]"),
        (torch.randn(4, 16).double(), r"input 'x' is float64\[4, 16\].*\n.*remedy"),
        (torch.zeros(4, 16, dtype=torch.int32), "int32"),
        (torch.zeros(4, 16, device="meta"), "is on meta"),
        (torch.eye(4, 16).to_sparse(), "sparse"),
        ([1.0], "is a list, expected a tensor"),
        (None, "is a NoneType"),
        (1.0, "is a float"),
    ],
)
def test_wrong_inputs(add, value, message):
    with pytest.raises(InputError, match=message):
        add(value, torch.randn(SHAPE))


def test_gradients_are_never_dropped_silently(add):
    x, y = torch.randn(SHAPE, requires_grad=True), torch.randn(SHAPE)
    with pytest.raises(InputError, match=r"'x' requires grad.*\n.*no_grad"):
        add(x, y)
    with pytest.raises(InputError, match="'y' requires grad"):
        add(y, torch.nn.Parameter(x))
    with torch.no_grad():
        assert torch.equal(add(x, y), x + y)
        assert torch.equal(add(torch.nn.Parameter(x), y), x + y)
    with torch.inference_mode():
        assert add(x, y).is_inference()
    with torch.inference_mode():
        z = torch.randn(SHAPE)
    assert torch.equal(add(z, z), z + z)


def test_autocast_is_an_error(add):
    x = torch.randn(SHAPE)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(InputError, match="autocast"):
        add(x, x)


def test_default_device_and_dtype_do_not_matter(add):
    x = torch.randn(SHAPE)
    with torch.device("meta"):
        assert add(x, x).is_cpu
    torch.set_default_dtype(torch.float64)
    try:
        assert add(x, x).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_status_is_what_eager_raises(add):
    x = torch.randn(SHAPE)
    x[0, 0] = -1
    with pytest.raises(IndexError, match=r"^index out of range in self$"):
        add(x, x)
    x[0, 0] = -2
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError$"):
        add(x, x)
    x[0, 0] = 0
    assert torch.equal(add(x, x), x + x)


def test_threads_call_at_once():
    shape = (1024, 1024)
    add = wrapper(static(shape), shape)

    def work(number):
        x, y = torch.full(shape, float(number)), torch.ones(shape)
        for _ in range(20):
            assert (add(x, y) == number + 1).all()

    at_once(work, *((number,) for number in range(4)))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 5), (1, 1, 7)])
def test_small_and_empty(shape):
    add = wrapper(static(shape), shape)
    x, y = torch.randn(shape), torch.randn(shape)
    out = add(x, y)
    assert torch.equal(out, x + y)
    assert out.stride() == (x + y).stride()
    if shape == ():
        assert add(2.0, y) == 2 + y


def test_outputs_have_eagers_strides():
    executable = static(SHAPE)
    x, y = torch.randn(SHAPE), torch.randn(SHAPE)
    permuted = wrapper(executable, SHAPE, [result((16, 4), (1, 16))])(x, y)
    assert torch.equal(permuted, (x + y).t())
    assert permuted.stride() == (1, 16)
    gaps = wrapper(executable, SHAPE, [result(SHAPE, (32, 2), dense=False)])(x, y)
    assert torch.equal(gaps, x + y)
    assert gaps.stride() == (32, 2)
    x, y = x[:, :1].expand(SHAPE), y[:, :1].expand(SHAPE)
    expanded = wrapper(executable, SHAPE, [result(SHAPE, (1, 0), dense=False)])(x, y)
    assert torch.equal(expanded, x + y)
    assert expanded.stride() == (1, 0)
    x, y = (torch.randn(19).unfold(0, 16, 1) for _ in range(2))
    overlapping = wrapper(executable, SHAPE, [result(SHAPE, (1, 1), dense=False)])(x, y)
    assert torch.equal(overlapping, x + y)
    assert overlapping.stride() == (1, 1)


def test_structure_of_outputs():
    outputs = [
        result(SHAPE),
        Output("constant", value=None),
        Output("size", value=3),
        result(SHAPE),
        result(SHAPE, alias="output"),
    ]
    call = wrapper(static(SHAPE), SHAPE, outputs, structure="{'a': (o0, o1), 'b': [o2, o3, o4]}")
    x = torch.randn(SHAPE)
    out = call(x, x)
    assert out["a"][1] is None
    assert out["b"][0] == 3
    assert out["b"][2] is out["a"][0]
    assert out["b"][1].data_ptr() != out["a"][0].data_ptr()
    assert torch.equal(out["b"][1], x + x)
    assert type(call(x.numpy(), x)["b"][1]).__module__ == "numpy"


def test_inputs_that_are_mutated():
    call = wrapper(static(SHAPE), SHAPE, mutations=[Mutation(0, "input", 0)])
    x, y = torch.randn(SHAPE), torch.randn(SHAPE)
    expected = x + y
    call(x, y)
    assert torch.equal(x, expected)
    strided = torch.randn(16, 4).t()
    expected = strided + y
    call(strided, y)
    assert torch.equal(strided, expected)
    array = torch.randn(SHAPE).numpy()[:, ::-1]
    expected = array + y.numpy()
    call(array, y)
    assert (array == expected).all()
    with pytest.raises(InputError, match=r"'x' is written to and shares memory with input 'y'"):
        call(x, x)
    square = torch.randn(16, 4)
    with pytest.raises(InputError, match="shares memory"):  # though a copy of it would be passed on
        call(square.t(), square.view(SHAPE))
    memory = torch.randn(100).numpy()
    with pytest.raises(InputError, match="shares memory"):
        call(memory[:64].reshape(SHAPE), memory[32:96].reshape(SHAPE))


def dynamic_add(sizes, ranges=None, result_size="a0_0"):
    arg = buffer(None, kind="input")
    executable = Executable(
        generate(ADD.replace("COUNT", DYNAMIC)).object,
        metadata([arg, arg], [buffer(None, sizes=[result_size])]),
    )
    inputs = [
        Input(name, i, torch.float32, (None,), (size,), ranges or {})
        for i, (name, size) in enumerate(zip("xy", sizes, strict=True))
    ]
    output = Output("result", result=0, dtype=torch.float32, shape=("a0_0",), strides=(1,))
    return TorchWrapper(executable.main, inputs, [Result(torch.float32, ("a0_0",))], [output], "o0").build()


def test_dynamic_sizes():
    add = dynamic_add(("a0_0", "a0_0"), {0: (2, 100)})
    for size in (2, 7, 100):
        x = torch.randn(size)
        assert torch.equal(add(x, x), x + x)
        strided = torch.randn(size, 2)[:, 0]
        assert torch.equal(add(strided, x), strided + x)
    with pytest.raises(InputError, match=r"size 0 of input 'y' is 3, but must be x\.shape\[0\], which is 4"):
        add(torch.randn(4), torch.randn(3))
    with pytest.raises(InputError, match="size 0 of input 'x' is 1, compiled for 2 to 100"):
        add(torch.randn(1), torch.randn(1))
    with pytest.raises(InputError, match=r"float32\[\?\]"):
        add(torch.randn(2, 2), torch.randn(4))


def flags_at(address):
    """What the kernel was told of the memory at ``address``."""
    is_here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        word = line.split()[0]
        if "-" in word and not word.endswith(":"):
            start, end = (int(part, 16) for part in word.split("-"))
            is_here = start <= address < end
        elif is_here and word == "VmFlags:":
            return line.split()[1:]
    return []


@pytest.mark.parametrize("size", [1, 65, LEAST - 1, LEAST, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1])
def test_memory_of_workspaces(size):
    memory = AlignedBytes(size)
    assert memory.address % (HUGE_PAGE if size >= LEAST else ALIGNMENT) == 0
    values = memory.view(np.dtype(np.uint8))
    assert (values.size, values.ctypes.data) == (size, memory.address)
    values[:] = 7
    if size >= LEAST and Path("/sys/kernel/mm/transparent_hugepage").exists():
        assert "hg" in flags_at(memory.address)
        assert "hg" in flags_at(memory.address + size - 1)
