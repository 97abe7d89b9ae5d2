"""Which modifiers and types each instruction takes: an instruction with any other one is not run.

Each form is ``modifiers : types``, as in the syntax of the PTX ISA; what an instruction has must all be in
one of them. Which modifiers a form needs, and in what order, is left to the assembler.
"""

from __future__ import annotations

import re
from functools import cache

from .ptx import TYPES, Instruction
from .tensor_map_fields import FIELDS

_NUMBERS = "s16 u16 s32 u32 s64 u64"
_WIDE = "s32 u32 s64 u64"
_BITS = "b16 b32 b64"
_ROUND = "rn rz rm rp"
_COMPARE = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor"
_SCOPE = "cta cluster gpu sys"
_SHARED = "shared shared::cta"
_CLUSTER = _SHARED + " shared::cluster"
_RESTRICT = "sync_restrict::shared::cta sync_restrict::shared::cluster"
_CACHE = "ca cg cs lu cv wb wt L1::* L2::*"
_PLAIN = f"{_BITS} {_NUMBERS} f32 f64"
_MEMORY = f"b8 s8 u8 {_PLAIN} b128"
_HALVES = ("rn ftz sat : f16 f16x2", "rn : bf16 bf16x2")
_ROUNDED = (f"{_ROUND} ftz sat : f32", f"{_ROUND} : f64", f"{_ROUND} ftz : f32x2")
_ATOMIC = f"relaxed acquire release acq_rel {_SCOPE} global {_CLUSTER} noftz L2::*"
_REDUCE = "add inc dec min max and or xor"
_ATOMIC_VECTORS = f"{_ATOMIC} add min max v2 v4 v8 : f16 f16x2 bf16 bf16x2 f32"
_ATOMIC_TYPES = f"b16 b32 b64 {_WIDE} f16 f16x2 bf16 bf16x2 f32 f64"

_FORMS: dict[str, tuple[str, ...]] = {
    "add sub": ("cc :" + _WIDE, f": {_NUMBERS} s16x2 u16x2", "sat : s32", *_ROUNDED, *_HALVES),
    "addc subc": ("cc :" + _WIDE,),
    "mul": ("hi lo wide :" + _NUMBERS, *_ROUNDED, *_HALVES),
    "mad": ("hi lo wide :" + _NUMBERS, "hi sat : s32", "hi lo cc :" + _WIDE, *_ROUNDED),
    "madc": ("hi lo cc :" + _WIDE,),
    "mul24": ("hi lo : s32 u32",),
    "mad24": ("hi lo : s32 u32", "hi sat : s32"),
    "sad rem": (":" + _NUMBERS,),
    "div": (":" + _NUMBERS, f"approx full {_ROUND} ftz : f32", _ROUND + " : f64"),
    "abs neg": (": s16 s32 s64 f64 bf16 bf16x2", "ftz : f32 f16 f16x2"),
    "min max": (
        f": {_NUMBERS} s16x2 u16x2 f64",
        "relu : s32 s16x2",
        "ftz NaN xorsign abs : f32 f16 f16x2",
        "NaN xorsign abs : bf16 bf16x2",
    ),
    "popc clz brev bfi": (": b32 b64",),
    "bfind": ("shiftamt :" + _WIDE,),
    "bfe": (":" + _WIDE,),
    "fns": (": b32",),
    "szext bmsk": ("clamp wrap : b32 s32 u32",),
    "dp4a": (": s32 u32",),
    "dp2a": ("lo hi : s32 u32",),
    "fma": (*_ROUNDED, "rn ftz sat relu : f16 f16x2", "rn relu : bf16 bf16x2"),
    "copysign": (": f32 f64",),
    "testp": ("finite infinite number notanumber normal subnormal : f32 f64",),
    "rcp": (f"approx {_ROUND} ftz : f32", _ROUND + " : f64", "approx ftz : f64"),
    "sqrt": (f"approx {_ROUND} ftz : f32", _ROUND + " : f64"),
    "rsqrt": ("approx ftz : f32 f64",),
    "sin cos lg2": ("approx ftz : f32",),
    "ex2": ("approx ftz : f32 bf16 bf16x2", "approx : f16 f16x2"),
    "tanh": ("approx : f32 f16 f16x2 bf16 bf16x2",),
    "setp set": (f"{_COMPARE} ftz : {_PLAIN} f16 f16x2 bf16 bf16x2",),
    "selp": (":" + _PLAIN,),
    "slct": (f"ftz : {_PLAIN}",),
    "and or xor not": (": pred " + _BITS,),
    "cnot shl": (":" + _BITS,),
    "shr": (f": {_BITS} {_NUMBERS}",),
    "lop3": ("and or : b32",),
    "shf": ("l r clamp wrap : b32",),
    "mov": (f": pred {_PLAIN} b128",),
    "cvta": (f"to const global local param param::entry {_CLUSTER} : u32 u64",),
    "mapa getctarank": (f"{_CLUSTER} : u32 u64",),
    "isspacep": (f"const global local param param::entry {_CLUSTER} :",),
    "prmt": ("f4e b4e rc8 ecl ecr rc16 : b32",),
    "cvt": (
        f"{_ROUND} rna rni rzi rmi rpi ftz sat relu satfinite : b8 s8 u8 {_NUMBERS} f16 bf16 f32 f64 tf32",
        "rn rz relu satfinite : f16x2 bf16x2 f32 e4m3x2 e5m2x2",
    ),
    "cvt.pack": ("pack sat u4 s4 u2 s2 : u16 s16 u8 s8 s32 b32",),
    "ld": (
        f"weak volatile relaxed acquire {_SCOPE} const global local param param::entry param::func {_CLUSTER}"
        f" nc v2 v4 v8 {_CACHE} : {_MEMORY}",
    ),
    "st": (
        f"weak volatile relaxed release {_SCOPE} global local param param::func {_CLUSTER}"
        f" v2 v4 v8 {_CACHE} : {_MEMORY}",
    ),
    "st.async": (f"async weak shared::cluster mbarrier::complete_tx::bytes v2 v4 : b32 b64 {_WIDE} f32 f64",),
    "red.async": (
        f"async relaxed cluster shared::cluster mbarrier::complete_tx::bytes {_REDUCE} : b32 u32 s32 u64 s64",
    ),
    "ldu": (f"global v2 v4 : {_MEMORY}",),
    "createpolicy": ("fractional range cvt global L2 L2::* : b64",),
    "prefetch prefetchu applypriority discard": ("tensormap param const global local L1 L2 L2::* :",),
    "shfl.sync": ("sync up down bfly idx : b32",),
    "cp.async": (f"async ca cg global {_SHARED} L2::* :",),
    "cp.async.commit_group": ("async commit_group :",),
    "cp.async.wait_group": ("async wait_group :",),
    "cp.async.wait_all": ("async wait_all :",),
    "cp.async.bulk": (
        f"async bulk global {_CLUSTER} mbarrier::complete_tx::bytes bulk_group multicast::cluster L2::* :",
    ),
    "cp.reduce.async.bulk": (
        f"reduce async bulk global {_CLUSTER} mbarrier::complete_tx::bytes bulk_group L2::* noftz {_REDUCE}"
        " : f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64",
    ),
    "cp.async.bulk.tensor": (
        f"async bulk tensor 1d 2d 3d 4d 5d global {_CLUSTER} tile im2col im2col_no_offs bulk_group"
        " mbarrier::complete_tx::bytes multicast::cluster L2::* :",
    ),
    "cp.reduce.async.bulk.tensor": (
        f"reduce async bulk tensor 1d 2d 3d 4d 5d global {_CLUSTER} tile im2col_no_offs bulk_group {_REDUCE}"
        " L2::* :",
    ),
    "cp.async.bulk.prefetch": ("async bulk prefetch L2 global L2::* :",),
    "cp.async.bulk.prefetch.tensor": (
        "async bulk prefetch tensor 1d 2d 3d 4d 5d L2 global tile im2col L2::* :",
    ),
    "cp.async.bulk.commit_group": ("async bulk commit_group :",),
    "cp.async.bulk.wait_group": ("async bulk wait_group read :",),
    "tensormap.replace": (f"replace tile {' '.join(FIELDS)} global {_SHARED} b1024 : b32 b64",),
    "tensormap.cp_fenceproxy": (
        "cp_fenceproxy global shared::cta tensormap::generic release sync aligned cta cluster gpu sys :",
    ),
    "bra call ret": ("uni :",),
    "brx": ("idx uni :",),
    "exit trap": (":",),
    "activemask": (": b32",),
    "atom": (f"{_ATOMIC} {_REDUCE} cas exch : {_ATOMIC_TYPES}", _ATOMIC_VECTORS),
    "red": (f"{_ATOMIC} {_REDUCE} : {_ATOMIC_TYPES}", _ATOMIC_VECTORS),
    "bar": ("sync arrive red popc and or cta : u32 pred",),
    "barrier": ("sync arrive red popc and or cta aligned : u32 pred",),
    "bar.warp": ("warp sync :",),
    "elect": ("sync :",),
    "match": ("any all sync : b32 b64",),
    "membar": ("cta gl sys :", "proxy alias :"),
    "fence": (f"sc acq_rel acquire release {_SCOPE} :", f"acquire release {_RESTRICT} cluster :"),
    "fence.proxy": ("proxy alias async global shared::cta shared::cluster :",),
    "fence.proxy.tensormap::generic": (f"proxy tensormap::generic acquire release {_SCOPE} :",),
    "fence.mbarrier_init": ("mbarrier_init release cluster :",),
    "barrier.cluster.arrive": ("cluster arrive release relaxed aligned :",),
    "barrier.cluster.wait": ("cluster wait acquire aligned :",),
    "redux": ("sync add min max and or xor : s32 u32 b32",),
    "vote.sync": ("sync all any uni ballot : pred b32",),
    "cp.async.mbarrier": (f"async mbarrier arrive noinc {_SHARED} : b64",),
    "mbarrier.init": (f"init {_SHARED} : b64",),
    "mbarrier.inval": (f"inval {_SHARED} : b64",),
    "mbarrier.arrive": (f"arrive noComplete release relaxed cta cluster {_CLUSTER} expect_tx : b64",),
    "mbarrier.arrive_drop": (
        f"arrive_drop noComplete release relaxed cta cluster {_CLUSTER} expect_tx : b64",
    ),
    "mbarrier.expect_tx": (f"expect_tx relaxed cta cluster {_CLUSTER} : b64",),
    "mbarrier.complete_tx": (f"complete_tx relaxed cta cluster {_CLUSTER} : b64",),
    "mbarrier.pending_count": ("pending_count : b64",),
    "mbarrier.test_wait": (f"test_wait parity acquire relaxed cta cluster {_SHARED} : b64",),
    "mbarrier.try_wait": (f"try_wait parity acquire relaxed cta cluster {_SHARED} : b64",),
    "ldmatrix stmatrix": (f"sync aligned m8n8 x1 x2 x4 trans {_SHARED} : b16",),
    "movmatrix": ("sync aligned m8n8 trans : b16",),
    "mma.sync": (
        "sync aligned row col m8n8* m16n8* satfinite xor and popc u4 s4 b1 e4m3 e5m2"
        " : f16 bf16 tf32 f32 f64 u8 s8 s32",
    ),
    "wgmma.mma_async": (
        "mma_async sync aligned m64n* satfinite and popc b1 e4m3 e5m2 : f16 bf16 tf32 f32 u8 s8 s32",
    ),
    "wgmma.fence": ("fence sync aligned :",),
    "wgmma.commit_group": ("commit_group sync aligned :",),
    "wgmma.wait_group": ("wait_group sync aligned :",),
    "griddepcontrol": ("launch_dependents wait :",),
    "setmaxnreg": ("inc dec sync aligned : u32",),
    "nanosleep": (": u32",),
    "pmevent": ("mask :",),
}


def _parsed(form: str) -> tuple[re.Pattern[str], frozenset[str]]:
    words, _, types = form.partition(":" if form.startswith(":") else " :")
    pattern = "|".join(re.escape(word).replace(r"\*", ".*") for word in words.split())
    return re.compile(pattern or "(?!)"), frozenset(types.split())


FORMS = {
    opcode: [_parsed(form) for form in forms]
    for opcodes, forms in _FORMS.items()
    for opcode in opcodes.split()
}


def odd(opcode: str, instruction: Instruction) -> str:
    """Which modifier or type no form of ``opcode`` takes beside the others; empty if there is none."""
    return _odd(opcode, instruction.mods)


@cache
def _odd(opcode: str, mods: tuple[str, ...]) -> str:
    left = [
        [mod for mod in mods if not (mod in types if mod in TYPES else words.fullmatch(mod))]
        for words, types in FORMS[opcode]
    ]
    return f"with .{min(left, key=len)[0]}" if all(left) else ""
