"""Objects by hand, without a pass pipeline, for the tests of what loads and calls them."""

import math

import torch
from mlir import ir
from mlopt.frontends.program import Input, Output, Result
from mlopt.runtime import codegen
from mlopt.runtime.executable import Executable
from mlopt.runtime.torch_wrapper import TorchWrapper

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
    return Input(name, position, torch.float32, shape, shape, {}, **more)


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
