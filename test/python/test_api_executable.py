"""Objects by hand, without a pass pipeline: code generation, loading, the wrapper around a call."""

import ctypes
import gc
import math
import threading

import pytest
import torch
from mlir import ir
from mlopt.errors import InputError
from mlopt.frontends.program import Alias, Input, Mutation, Output, Result
from mlopt.runtime import codegen, loader
from mlopt.runtime.executable import Executable
from mlopt.runtime.torch_wrapper import TorchWrapper
from mlopt.runtime.weights import LiveWeights, Slot, bind_arguments

# out[i] = x[i] + y[i] for the n elements that slot 6 says; status 1 if x[0] is -1, 2 if it is -2.
ADD = """
llvm.func @mlopt_main(%args: !llvm.ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %py = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %y = llvm.load %py : !llvm.ptr -> !llvm.ptr
  %po = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %o = llvm.load %po : !llvm.ptr -> !llvm.ptr
  COUNT
  llvm.br ^loop(%c0 : i64)
^loop(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^done
^body:
  %xi = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %yi = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %oi = llvm.getelementptr %o[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.load %xi : !llvm.ptr -> f32
  %b = llvm.load %yi : !llvm.ptr -> f32
  %s = llvm.fadd %a, %b : f32
  llvm.store %s, %oi : f32, !llvm.ptr
  %next = llvm.add %i, %c1 : i64
  llvm.br ^loop(%next : i64)
^done:
  %some = llvm.icmp "sgt" %n, %c0 : i64
  llvm.cond_br %some, ^check, ^fine
^check:
  %first = llvm.load %x : !llvm.ptr -> f32
  %m1 = llvm.mlir.constant(-1.0 : f32) : f32
  %m2 = llvm.mlir.constant(-2.0 : f32) : f32
  %is1 = llvm.fcmp "oeq" %first, %m1 : f32
  %is2 = llvm.fcmp "oeq" %first, %m2 : f32
  %s1 = llvm.mlir.constant(1 : i32) : i32
  %s2 = llvm.mlir.constant(2 : i32) : i32
  %s0 = llvm.mlir.constant(0 : i32) : i32
  %t = llvm.select %is2, %s2, %s0 : i1, i32
  %u = llvm.select %is1, %s1, %t : i1, i32
  llvm.return %u : i32
^fine:
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.return %ok : i32
}
"""
DYNAMIC = """
  %pn = llvm.getelementptr %args[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %pn : !llvm.ptr -> i64
"""
# prepared = x + x, written with the same loop: args are weight, weight again, result.
PREPARE = (
    ADD.replace("@mlopt_main", "@mlopt_prepare")
    .replace("%py = llvm.getelementptr %args[1]", "%py = llvm.getelementptr %args[0]")
    .replace("%args[2]", "%args[1]")
)


def generate(text):
    with ir.Context(), ir.Location.unknown():
        return codegen.generate(ir.Module.parse(text), want_assembly=True, want_llvm_ir=True)


def buffer(*shape, **more):
    return {"dtype": "f32", "shape": list(shape), **more}


def metadata(args, results, **more):
    functions = {"main": {"args": args, "results": results, "workspace": 0}, **more}
    return {
        "functions": functions,
        "asserts": ["IndexError: index out of range in self", "RuntimeError: ZeroDivisionError"],
    }


def static(shape):
    count = f"%n = llvm.mlir.constant({math.prod(shape)} : i64) : i64"
    arg = buffer(*shape, kind="input")
    return Executable(generate(ADD.replace("COUNT", count)).object, metadata([arg, arg], [buffer(*shape)]))


def tensor(name, position, shape, **more):
    return Input(name, position, torch.float32, shape, shape, {}, False, **more)


def result(shape, strides=None, **more):
    strides = strides or torch.empty(shape, device="meta").stride()
    return Output("result", result=0, dtype=torch.float32, shape=shape, strides=strides, **more)


def wrapper(executable, shape, outputs=None, structure="o0", **more):
    return TorchWrapper(
        entry=executable.main,
        inputs=[tensor("x", 0, shape), tensor("y", 1, shape)],
        results=[Result(torch.float32, shape)],
        outputs=outputs or [result(shape)],
        structure=structure,
        **more,
    ).build()


SHAPE = (4, 16)


@pytest.fixture(scope="module")
def add():
    return wrapper(static(SHAPE), SHAPE)


def test_codegen_shows_its_work():
    code = generate(ADD.replace("COUNT", "%n = llvm.mlir.constant(4 : i64) : i64"))
    assert code.object.startswith(b"\x7fELF")
    assert "@mlopt_main" in code.llvm_ir
    assert "mlopt_main:" in code.assembly


def test_codegen_names_ops_that_are_not_llvm():
    with pytest.raises(codegen.CodegenError, match=r"func\.func"):
        generate("func.func @f() { return }")


def test_vector_width_of_a_processor():
    assert codegen.Target("x86-64").vector_bits == 128
    assert codegen.Target("x86-64-v3").vector_bits == 256
    assert codegen.Target("x86-64-v4").vector_bits == 512


def test_loading_names_missing_symbols():
    code = generate("llvm.func @nowhere()\nllvm.func @f() { llvm.call @nowhere() : () -> ()\n llvm.return }")
    with pytest.raises(loader.LoadError, match="cannot be linked"):
        loader.load(code.object, ["f"])


PARALLEL = """
llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @omp_get_num_threads() -> i32
llvm.func @body(%p: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %0 = llvm.atomicrmw add %p, %one acq_rel : !llvm.ptr, i32
  llvm.return
}
llvm.func @f(%n: i32) -> i32 {
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %p = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
  llvm.store %zero, %p : i32, !llvm.ptr
  %body = llvm.mlir.addressof @body : !llvm.ptr
  llvm.call @GOMP_parallel(%body, %p, %n, %zero) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
  %ran = llvm.load %p : !llvm.ptr -> i32
  llvm.return %ran : i32
}
"""


@pytest.mark.parametrize(("has_runtime", "times"), [(True, 3), (False, 1)])
def test_parallel_regions(monkeypatch, has_runtime, times):
    if not has_runtime:
        monkeypatch.setattr(loader, "openmp_runtime", lambda: None)
    loaded = loader.load(generate(PARALLEL).object, ["f"])
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(loaded.address("f"))(3) == times


def test_half_precision_without_the_instructions():
    text = """
llvm.func @f(%x: f32) -> f32 {
  %h = llvm.fptrunc %x : f32 to TYPE
  %y = llvm.fpext %h : TYPE to f32
  llvm.return %y : f32
}"""
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        with ir.Context(), ir.Location.unknown():
            code = codegen.generate(ir.Module.parse(text.replace("TYPE", name)), codegen.Target("x86-64"))
        loaded = loader.load(code.object, ["f"])
        function = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(loaded.address("f"))
        for value in (1.0, 3.14159, -65519.0, 1e-6, 3.4e38, 1e-40, 0.0, math.inf):
            assert function(value) == torch.tensor(value).to(dtype).float().item()
        assert math.isnan(function(math.nan))


def test_openmp_is_torchs():
    runtime = loader.openmp_runtime()
    assert runtime is not None
    assert "torch" in runtime._name


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
    wrong = []

    def work(number):
        x, y = torch.full(shape, float(number)), torch.ones(shape)
        for _ in range(20):
            if not (add(x, y) == number + 1).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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
    overlapping = wrapper(executable, SHAPE, [result(SHAPE, (1, 1), dense=False)])(x, y)
    assert torch.equal(overlapping, x + y)


def test_structure_of_outputs():
    outputs = [
        result(SHAPE),
        Output("constant", value=None),
        Output("size", value=3),
        result(SHAPE),
        result(SHAPE, alias=Alias("output", 0, True)),
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
        Input(name, i, torch.float32, (None,), (size,), ranges or {}, False)
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


def with_weight():
    """main(x, w, prepared) = x + w; prepare(w) = w + w, which main does not read."""
    count = "%n = llvm.mlir.constant(64 : i64) : i64"
    main = ADD.replace("%args[2]", "%args[3]").replace("COUNT", count)
    arg, weight = buffer(*SHAPE, kind="input"), buffer(*SHAPE, kind="weight")
    prepare = {"args": [weight], "results": [buffer(*SHAPE)], "workspace": 0}
    known = metadata([arg, weight, buffer(*SHAPE, kind="prepared")], [buffer(*SHAPE)], prepare=prepare)
    # main reads its second argument from the prepared one.
    main = main.replace("%py = llvm.getelementptr %args[1]", "%py = llvm.getelementptr %args[2]")
    return Executable(generate(main + PREPARE.replace("COUNT", count)).object, known)


def live(module, executable):
    slots = [Slot("weight", module._parameters, "weight", torch.float32, SHAPE)]
    weights = LiveWeights(executable, slots)
    call = TorchWrapper(
        entry=executable.main,
        inputs=[tensor("x", 0, SHAPE)],
        results=[Result(torch.float32, SHAPE)],
        outputs=[result(SHAPE)],
        structure="o0",
        bound=weights.current,
        weights_grad=weights.requires_grad,
    ).build()
    return weights, call


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(SHAPE))


def test_weights_are_prepared_again_when_they_change():
    module = Scale()
    weights, call = live(module, with_weight())
    x = torch.randn(SHAPE)

    def check(runs):
        with torch.no_grad():
            assert torch.equal(call(x), x + (module.weight + module.weight))
            assert torch.equal(call(x), x + (module.weight + module.weight))
        assert weights.prepare_runs == runs

    check(1)
    module.weight.grad = torch.ones(SHAPE)
    torch.optim.SGD([module.weight], lr=0.1).step()
    check(2)
    module.load_state_dict({"weight": torch.randn(SHAPE)})
    check(3)
    module.load_state_dict({"weight": torch.randn(SHAPE)}, assign=True)
    check(4)
    module.weight.data = torch.randn(SHAPE)
    check(5)
    with torch.no_grad():
        module.weight[0, 0] += 1
    check(6)
    module.weight.data = torch.randn(16, 4).t()
    check(7)
    with torch.no_grad():
        module.weight.mul_(2)
    check(8)
    square = torch.randn(SHAPE)
    module.weight = torch.nn.Parameter(square)
    check(9)
    for runs in range(10, 30):  # the second may get the memory that the first one's predecessor had
        module.weight.data = torch.randn(SHAPE)
        module.weight.data = torch.randn(SHAPE)
        check(runs)


def test_weights_that_cannot_be_used_any_more():
    module = Scale()
    _, call = live(module, with_weight())
    x = torch.randn(SHAPE)
    module.weight.data = torch.randn(16, 16)
    with pytest.raises(InputError, match=r"'weight' was float32\[4, 16\] .* now float32\[16, 16\]"):
        call(x)
    module.weight = torch.nn.Parameter(torch.randn(SHAPE).double())
    with pytest.raises(InputError, match="float64"):
        call(x)
    module.to("meta")
    module.weight = torch.nn.Parameter(torch.empty(SHAPE, device="meta"))
    with pytest.raises(InputError, match="now on meta"):
        call(x)
    del module.weight
    with pytest.raises(InputError, match="no longer has the weight"):
        call(x)


def test_weights_made_in_inference_mode():
    module = Scale()
    with torch.inference_mode():
        module._parameters["weight"] = torch.nn.Parameter(torch.randn(SHAPE), requires_grad=False)
        _, call = live(module, with_weight())
        x = torch.randn(SHAPE)
        call(x)
        module.weight.mul_(2)
        assert torch.equal(call(x), x + (module.weight + module.weight))


def test_results_require_grad_as_in_eager_and_backward_is_an_error():
    module = Scale()
    _, call = live(module, with_weight())
    out = call(torch.randn(SHAPE))
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="compiles for inference"):
        out.sum().backward()
    with torch.no_grad():
        assert not call(torch.randn(SHAPE)).requires_grad
    module.weight.requires_grad_(False)
    assert not call(torch.randn(SHAPE)).requires_grad


def test_weights_as_arguments():
    executable = with_weight()
    call = TorchWrapper(
        entry=executable.main,
        inputs=[tensor("x", 0, SHAPE), tensor("w", 1, SHAPE)],
        results=[Result(torch.float32, SHAPE)],
        outputs=[result(SHAPE)],
        structure="o0",
        bound=bind_arguments(executable),
        bound_from=[1],
    ).build()
    x, w = torch.randn(SHAPE), torch.randn(SHAPE)
    for _ in range(3):
        assert torch.equal(call(x, w), x + (w + w))
        w.mul_(3)
    for _ in range(5):
        w = torch.randn(SHAPE)
        assert torch.equal(call(x, w), x + (w + w))


def test_code_is_freed():
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    code = generate(ADD.replace("COUNT", "%n = llvm.mlir.constant(4 : i64) : i64")).object
    for _ in range(20):
        loader.load(code, ["mlopt_main"])
    before = resident()
    for _ in range(300):
        loader.load(code, ["mlopt_main"])
    assert resident() - before < 300
