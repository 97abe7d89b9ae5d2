"""PTX of device functions: a gpu.module in the llvm and nvvm dialects, through LLVM's C API.

gpu-module-to-binary would run LLVM's O3, 118 passes. Here are those of them that do something to our kernels:
straight code in few blocks, over which mlopt-gpu-distribute, canonicalize and cse have been. Functions that
kernels call (passes/gpu/scalar_math/functions.py) are put in last, when they, and what is around hundreds of
calls, have been simplified.

Legal for what calls none of libdevice's functions, which MLIR would link. PTX was O3's byte for byte, for all
programs of bench/gpu's gates and products for sm_80, and products for sm_90a, but for what is put in last;
test_gpu_ptx.py compares some of them.
Effect on 4096x4096x4096 in bf16 for sm_90a with its twin, CPU time of LLVM: 151 -> 113 ms, with a residual
170 -> 133, with a GELU 353 -> 226.
"""

from __future__ import annotations

from mlir import ir

from ..codegen import emit, optimize, set_target, target_machine, translated
from ..llvm_c import ASSEMBLY_FILE, RELOC_DEFAULT

TRIPLE = b"nvptx64-nvidia-cuda"
LEVEL = 3  # of the code generator

_COMBINE = "instcombine<no-verify-fixpoint>"
_CLEAN = "simplifycfg<switch-range-to-icmp>"
_MERGE = "simplifycfg<switch-range-to-icmp;switch-to-arithmetic;hoist-common-insts;sink-common-insts>"
_MOVE = "loop-mssa(licm<allowspeculation>)"
# What memory holds gvn need not ask, early-cse does; slp-vectorizer pairs half floats.
_PASSES = f"""
function(nvvm-intr-range, simplifycfg, sroa, early-cse),
ipsccp,
function(
    {_COMBINE}, {_CLEAN}, sroa, early-cse<memssa>, speculative-execution<only-if-divergent-target>,
    jump-threading, correlated-propagation, {_CLEAN}, {_COMBINE}, aggressive-instcombine, {_CLEAN},
    reassociate,
    loop-mssa(
        loop-instsimplify, loop-simplifycfg, licm<no-allowspeculation>, loop-rotate<header-duplication>,
        licm<allowspeculation>, simple-loop-unswitch<nontrivial>
    ),
    {_CLEAN}, {_COMBINE}, loop(indvars, loop-deletion, loop-unroll-full),
    sroa, vector-combine, gvn<no-memdep>, sccp, bdce, {_COMBINE},
    jump-threading, correlated-propagation, adce, {_MOVE}, {_MERGE},
    loop(loop-rotate<header-duplication>, loop-deletion), infer-alignment, {_MERGE},
    slp-vectorizer, vector-combine, loop-unroll<O3>, sroa<preserve-cfg>, infer-alignment, {_COMBINE}, {_MOVE},
    loop-sink, instsimplify, div-rem-pairs,
    simplifycfg<
        switch-range-to-icmp;switch-to-arithmetic;hoist-loads-stores-with-cond-faulting;
        speculate-unpredictables
    >
),
always-inline, globaldce
"""
PASSES = "".join(_PASSES.split())


def generate_ptx(device: ir.Operation, chip: str, features: str) -> str:
    """The PTX of all functions of a gpu.module, which call none of libdevice's; both names are LLVM's."""
    with (
        translated(device) as (module, diagnostics),
        target_machine(TRIPLE, chip, features, LEVEL, RELOC_DEFAULT) as machine,
    ):
        set_target(module, TRIPLE, machine)
        optimize(module, machine, PASSES, diagnostics)
        return emit(module, machine, ASSEMBLY_FILE, diagnostics).decode()
