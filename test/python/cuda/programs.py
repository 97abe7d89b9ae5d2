"""GPU programs as mlopt-gpu-distribute leaves them, compiled from there on: what the host part does is
tested without the passes before it.

    python programs.py FILE    writes all of them, pickled
"""

import pickle
import sys

CHAIN = 20


def kernel(name, arguments, body="", status=False, threads=128):
    """The text of a device function; ``body`` may use its arguments."""
    given = [f"%{argument}: {type_}" for argument, type_ in arguments.items()]
    given += ["%status: !llvm.ptr {mlopt.status}"] if status else []
    attributes = f"gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: {min(threads, 1024)}, 1, 1>"
    return f"""
    llvm.func @{name}({", ".join(given)}) attributes {{{attributes}}} {{
      {body}
      llvm.return
    }}"""


POINTER = """
    %{n}_index = memref.extract_aligned_pointer_as_index %{n} : {t} -> index
    %{n}_number = arith.index_cast %{n}_index : index to i64
    %{n}_pointer = llvm.inttoptr %{n}_number : i64 to !llvm.ptr"""


def launcher(name, buffers, sizes=(), grid="%one", threads=128, shared=0, setup=""):
    """The text of the host function that launches kernel ``name`` on its buffers (names: types)."""
    pointers = "".join(POINTER.format(n=buffer, t=type_) for buffer, type_ in buffers.items())
    parameters = ", ".join(f"%{buffer}: {type_}" for buffer, type_ in buffers.items())
    operands = [f"%{buffer}_pointer : !llvm.ptr" for buffer in buffers] + [f"%{size} : i64" for size in sizes]
    return f"""
  func.func private @{name}({parameters}) attributes {{mlopt.kernel}} {{
    %one = arith.constant 1 : i64
    %threads = arith.constant {threads} : i64
    %shared = arith.constant {shared} : i32{setup}{pointers}
    gpu.launch_func @kernels::@{name} blocks in ({grid}, %one, %one) threads in (%threads, %one, %one) : i64
      dynamic_shared_memory_size %shared args({", ".join(operands)})
    return
  }}"""


def module(kernels, functions):
    """The text of a whole program."""
    return (
        "module attributes {gpu.container_module} {\n  gpu.module @kernels {"
        + "".join(kernels)
        + "\n  }"
        + "".join(functions)
        + "\n}\n"
    )


DYNAMIC = "memref<?xf32>"
SIZE = """
    %zero = arith.constant 0 : index
    %extent = memref.dim %x, %zero : memref<?xf32>
    %n = arith.index_cast %extent : index to i64
    %up = arith.addi %n, %threads : i64
    %less = arith.subi %up, %one : i64
    %blocks = arith.divui %less, %threads : i64"""


def unary(name, **options):
    """A kernel of a dynamic input and output, and its launcher."""
    pointers = {"x": "!llvm.ptr", "out": "!llvm.ptr", "n": "i64"}
    return kernel(name, pointers, options.pop("body", ""), options.pop("status", False)), launcher(
        name, {"x": DYNAMIC, "out": DYNAMIC}, ["n"], grid="%blocks", setup=SIZE, **options
    )


def relu():
    """One kernel, dynamic size."""
    device, host = unary("relu")
    main = """
  func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) {
    call @relu(%x, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    return
  }"""
    return module([device], [host, main])


def add():
    """One kernel of two inputs."""
    device = kernel("add", {"x": "!llvm.ptr", "y": "!llvm.ptr", "out": "!llvm.ptr", "n": "i64"})
    buffers = dict.fromkeys(("x", "y", "out"), DYNAMIC)
    host = launcher("add", buffers, ["n"], grid="%blocks", setup=SIZE)
    main = """
  func.func @main(%x: memref<?xf32>, %y: memref<?xf32>, %out: memref<?xf32>) {
    call @add(%x, %y, %out) : (memref<?xf32>, memref<?xf32>, memref<?xf32>) -> ()
    return
  }"""
    return module([device], [host, main])


def two_steps():
    """Two kernels with a buffer between them, in a workspace whose size depends on the argument's."""
    kernels, launchers = zip(unary("first"), unary("second"), strict=True)
    main = """
  func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) {
    %zero = arith.constant 0 : index
    %extent = memref.dim %x, %zero : memref<?xf32>
    %t = memref.alloc(%extent) : memref<?xf32>
    call @first(%x, %t) : (memref<?xf32>, memref<?xf32>) -> ()
    call @second(%t, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    return
  }"""
    return module(kernels, [*launchers, main])


def checked():
    """A kernel that can fail, and one after it."""
    kernels, launchers = zip(unary("gather", status=True), unary("after"), strict=True)
    main = """
  func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) {
    call @gather(%x, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    call @after(%out, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    return
  }"""
    text = module(kernels, [*launchers, main])
    return text.replace(
        "{gpu.container_module}",
        '{gpu.container_module, mlopt.asserts = ["IndexError: index out of range"]}',
        1,
    )


def chain():
    """Many kernels on one buffer."""
    kernels, launchers = zip(*(unary(f"step_{number}") for number in range(CHAIN)), strict=True)
    calls = "".join(
        f"\n    call @step_{number}(%x, %out) : (memref<?xf32>, memref<?xf32>) -> ()"
        for number in range(CHAIN)
    )
    main = f"\n  func.func @main(%x: memref<?xf32>, %out: memref<?xf32>) {{{calls}\n    return\n  }}"
    return module(kernels, [*launchers, main])


def fixed(threads=128, shared=0):
    """One kernel with constant sizes."""
    buffers = {"x": "memref<64xf32>", "out": "memref<64xf32>"}
    host = launcher("fixed", buffers, threads=threads, shared=shared)
    main = """
  func.func @main(%x: memref<64xf32>, %out: memref<64xf32>) {
    call @fixed(%x, %out) : (memref<64xf32>, memref<64xf32>) -> ()
    return
  }"""
    device = kernel("fixed", {"x": "!llvm.ptr", "out": "!llvm.ptr"}, threads=threads)
    return module([device], [host, main])


def prepared():
    """A program with @prepare: a tensor that is made of a weight."""
    kernels, launchers = zip(unary("pack"), unary("use"), strict=True)
    functions = """
  func.func @prepare(%w: memref<?xf32>, %out: memref<?xf32>) {
    call @pack(%w, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    return
  }
  func.func @main(%x: memref<?xf32>, %w: memref<?xf32>, %p: memref<?xf32>, %out: memref<?xf32>) {
    call @use(%p, %out) : (memref<?xf32>, memref<?xf32>) -> ()
    return
  }"""
    return module(kernels, [*launchers, functions])


def packed():
    """As `prepared`, of constant sizes."""
    buffers = {"x": "memref<64xf32>", "out": "memref<64xf32>"}
    kernels = [kernel(name, dict.fromkeys(buffers, "!llvm.ptr")) for name in ("pack", "use")]
    functions = """
  func.func @prepare(%w: memref<64xf32>, %out: memref<64xf32>) {
    call @pack(%w, %out) : (memref<64xf32>, memref<64xf32>) -> ()
    return
  }
  func.func @main(%x: memref<64xf32>, %w: memref<64xf32>, %p: memref<64xf32>, %out: memref<64xf32>) {
    call @use(%p, %out) : (memref<64xf32>, memref<64xf32>) -> ()
    return
  }"""
    return module(kernels, [*(launcher(name, buffers) for name in ("pack", "use")), functions])


def boxes():
    """A kernel with a tensor map of its input, whose rows are dynamic."""
    marks = "{llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant, llvm.align = 64 : i64}"
    device = kernel("boxes", {"out": "!llvm.ptr", "map": "!llvm.ptr"}).replace(
        "%map: !llvm.ptr", f"%map: !llvm.ptr {marks}"
    )
    setup = """
    %zero = arith.constant 0 : index
    %extent = memref.dim %x, %zero : memref<?x64xf16>
    %rows = arith.index_cast %extent : index to i64"""
    host = launcher("boxes", {"x": "memref<?x64xf16>", "out": "memref<64xf32>"}, setup=setup).replace(
        "gpu.launch_func",
        """%map, %made = "mlopt.tensor_map"(%x_pointer, %rows) {
      sizes = array<i64: -9223372036854775808, 64>, box = array<i64: 16, 32>, element_bytes = 2, span = 64}
      : (!llvm.ptr, i64) -> (!llvm.ptr, i1)
    cf.assert %made, "RuntimeError: no map"
    gpu.launch_func""",
    )
    host = host.replace(
        "%x_pointer : !llvm.ptr, %out_pointer : !llvm.ptr", "%out_pointer : !llvm.ptr, %map : !llvm.ptr"
    )
    main = """
  func.func @main(%x: memref<?x64xf16>, %out: memref<64xf32>) {
    call @boxes(%x, %out) : (memref<?x64xf16>, memref<64xf32>) -> ()
    return
  }"""
    return module([device], [host, main])


PROGRAMS = {
    "relu": relu(),
    "add": add(),
    "two_steps": two_steps(),
    "checked": checked(),
    "chain": chain(),
    "fixed": fixed(),
    "too_many_threads": fixed(threads=2048),
    "too_much_shared": fixed(shared=200_000),
    "prepared": prepared(),
    "packed": packed(),
    "boxes": boxes(),
}


def dynamic(kind="input", sizes=()):
    return {"kind": kind, "dtype": "f32", "shape": [None], "sizes": list(sizes)}


def static(kind="input"):
    return {"kind": kind, "dtype": "f32", "shape": [64]}


def functions(name):
    """The signatures, which the compile worker reads off the module before it is lowered so far."""
    if name in ("fixed", "too_many_threads", "too_much_shared"):
        return {"main": {"args": [static()], "results": [static("result")], "workspace": 0}}
    if name == "boxes":
        rows = {"kind": "input", "dtype": "f16", "shape": [None, 64], "sizes": []}
        return {"main": {"args": [rows], "results": [static("result")], "workspace": 0}}
    result = dynamic("result", ["a0_0"]) if name != "packed" else static("result")
    if name == "add":
        return {"main": {"args": [dynamic(), dynamic(sizes=["a0_0"])], "results": [result], "workspace": 0}}
    if name not in ("prepared", "packed"):
        return {"main": {"args": [dynamic()], "results": [result], "workspace": 0}}
    buffer = dynamic if name == "prepared" else static
    main = [buffer(), buffer("weight"), buffer("prepared")]
    return {
        "prepare": {"args": [buffer("weight")], "results": [result], "workspace": 0},
        "main": {"args": main, "results": [result], "workspace": 0},
    }


def build(name, chip="sm_80"):
    """What the compile worker returns for the program ``name``."""
    from mlir import ir
    from mlopt.dialects.context import make_context
    from mlopt.pipelines import metadata
    from mlopt.pipelines.compile_cuda import build_device
    from mlopt.pipelines.cuda import cuda_stages
    from mlopt.pipelines.driver import run_pipeline
    from mlopt.pipelines.stages import run_stages
    from mlopt.runtime.codegen import generate
    from mlopt.runtime.cuda.chips import find_chip

    target = find_chip(chip)
    with make_context(), ir.Location.unknown():
        parsed = ir.Module.parse(PROGRAMS[name])
        run_pipeline(parsed.operation, "builtin.module(mlopt-cpu-arena,mlopt-gpu-entry)")
        known = {"functions": functions(name)}
        metadata.add_entries(parsed, known["functions"])
        nvvm = [stage for stage in cuda_stages(target.name, target.ptx) if stage.name == "nvvm"]
        run_stages(parsed.operation, nvvm)
        known["asserts"] = metadata.asserts(parsed)
        built = build_device(parsed, target)
        known["device"] = built.pop("device")
        return {"object": generate(parsed).object, "metadata": known, **built}


NEGATE = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.negf %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""

if __name__ == "__main__":
    from mlopt.pipelines.compile_cuda import compile_text

    built = {name: build(name) for name in PROGRAMS}
    built["negate"] = compile_text(NEGATE, chip="sm_80")
    with open(sys.argv[1], "wb") as out:
        pickle.dump(built, out)
