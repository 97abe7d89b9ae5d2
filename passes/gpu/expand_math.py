"""Mathematical functions on a thread's f32 scalars become a GPU's approximate instructions.

    %x = arith.subf %y, %z : f32       %t = arith.mulf %x, %log2e : f32
    %e = math.exp %x : f32       ->    %e = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%t) : …

    %t = math.tanh %x : f32      ->    %t = llvm.call @mlopt_tanh(%x) : (f32) -> f32

Functions of many instructions are written once for all kernels, and LLVM puts them where they are called.
libdevice would take twice as many instructions, and branches for tanh. Largest errors in ulp, for any GPU
whose instructions are as near as the PTX ISA says (test/python/test_gpu_math.py lets them be that wrong);
NaN, infinities, zeros and denormals are as in eager:

    exp2  5     exp  5 + 1.25 |x|     tanh  4.2     erf  2.5     1 / (1 + exp(x))  12, + 1.25 x for x > 0

What grows with |x| is what x itself causes, off by 2^-24 of itself: so exp of a number that was not computed
is left to libdevice. All are within docs/semantics.md's 1e-5 of the terms.

    %a = arith.divf %x, %d          %r = … once: 1 / %d in two parts, the second for what the first is off
    %b = arith.divf %y, %d    ->    %a = math.fma %x, %r, (%x times the second part)

Divisions by one number, as in softmax, are multiplications by its reciprocal in about twice the precision:
the same bits as the division's but for one in 100,000, where they are neighbours. Both are scaled if the
divisor is very large or small, which what mlopt-gpu-softmax-sums marks is not. Other divisions are the
GPU's IEEE ones; those by a power of two LLVM makes exact multiplications. The reciprocal root of a sum with
a norm's epsilon, which is no denormal, is one instruction; so is a relu whose zero's sign nobody sees.

fma, |x|, and the larger or smaller of two numbers, which are instructions as they are, become LLVM's
intrinsics: libdevice's are calls that LLVM inlines one by one (3584 in a product with GELU, a fifth of its
time to PTX).

Legal in device functions after mlopt-gpu-distribute: on scalars; canonicalize and cse are wanted before it.
Other functions, and f64, stay for libdevice; the larger or smaller of two f64 asks once for zeros, where LLVM
would ask for each by its bits. Effect on sm_80: softmax of 1024 f32 356 -> 150 instructions, f64 959 -> 789,
sigmoid(relu(x * w + b)) 305 -> 90, tanh-GELU of bf16 500 -> 460. Of a product with GELU, 256 calls with its
twin's, the CPU time from linalg to PTX is 0.55 s in place of 0.72.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlir import ir

from ...dialects.attributes import BY_SOFTMAX_SUM
from ..base import Pass
from ..operations import ops_named
from ..structured import is_used
from .grids import device_functions
from .scalar_math import (  # noqa: F401 (they register when they are imported)
    error_function,
    exact,
    exponential,
    reciprocal_root,
    wide_maxima,
)
from .scalar_math.division import FEWEST, divide_all, has_exact_reciprocal
from .scalar_math.functions import Functions
from .scalar_math.registry import RULES, Rule
from .scalar_math.scalars import Scalars
from .scalar_math.zeros import relu


@dataclass(frozen=True)
class ExpandMath(Pass):
    """Expand mathematical functions on f32 into approximate instructions."""

    name: ClassVar[str] = "mlopt-gpu-expand-math"

    def run(self, op: ir.Operation) -> None:
        """Expand in each device function."""
        functions = device_functions(op)
        called = Functions(functions[0].block) if functions else None
        for function in functions:
            if called is None or not function.regions[0].blocks:
                continue  # a declaration
            build = Scalars(entry=function.regions[0].blocks[0], functions=called)
            names = {name for name, _ in RULES}
            found = [(each.name, each) for each in ops_named(function, "arith.select", "arith.addf", *names)]
            for name, select in found:
                if name == "arith.select" and isinstance(select.results[0].type, ir.F32Type):
                    _expand(build, select, relu)  # while what reads it is still known by its name
            # Last to first: a rule sees the ops that its operands came from; what it leaves unread goes.
            for name, inner in reversed(found):
                if name == "arith.select":
                    continue
                if is_used(inner.results[0]):
                    _expand(build, inner, _rule_of(inner))
                else:
                    inner.erase()
            if any(name == "arith.divf" for name, _ in found):
                _join_divisions(build, function)


def _rule_of(op: ir.Operation) -> Rule | None:
    kind = op.results[0].type
    return RULES.get((op.name, kind.width)) if isinstance(kind, (ir.F32Type, ir.F64Type)) else None


def _expand(build: Scalars, op: ir.Operation, rule: Rule | None) -> None:
    result = op.results[0]
    if rule is None:
        return
    with ir.InsertionPoint(op), op.location:
        value = rule(build, op)
    if value is not None:
        result.replace_all_uses_with(value)
        op.erase()


def _join_divisions(build: Scalars, function: ir.Operation) -> None:
    """Divisions by one number become multiplications."""
    groups: dict[ir.Value, list[ir.Operation]] = {}
    for division in ops_named(function, "arith.divf"):
        if isinstance(division.results[0].type, ir.F32Type):
            groups.setdefault(division.operands[1], []).append(division)
    for divisions in groups.values():
        # A quotient that others are divided by is another value once its own group is rewritten.
        divisor = divisions[0].operands[1]
        if len(divisions) >= FEWEST and not has_exact_reciprocal(divisor):
            divide_all(build, divisor, divisions, scaled=not any(map(BY_SOFTMAX_SUM.get, divisions)))
