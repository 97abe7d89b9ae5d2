"""The processors that code is generated for, and their features, by LLVM's names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CPUS = (
    "host", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
    "haswell", "broadwell", "skylake", "skylake-avx512", "cascadelake", "icelake-server", "sapphirerapids",
    "alderlake", "znver1", "znver2", "znver3", "znver4", "znver5",
)  # fmt: skip

# Of `llc -march=x86-64 -mattr=help`, those that decide which vector and scalar instructions are used.
# LLVM only prints a warning for a name that it does not know; others (x32, soft-float) change the ABI.
_NAMES = """
    adx aes allow-light-256-bit avx avx10.1 avx10.2 avx2 avx512bf16 avx512bitalg avx512bw avx512cd avx512dq
    avx512f avx512fp16 avx512ifma avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vp2intersect
    avx512vpopcntdq avxifma avxneconvert avxvnni avxvnniint16 avxvnniint8 bmi bmi2 branchfusion crc32 egpr
    ermsb f16c false-deps-getmant false-deps-lzcnt-tzcnt false-deps-mulc false-deps-mullq false-deps-perm
    false-deps-popcnt false-deps-range fast-bextr fast-dpwssd fast-gather fast-hops fast-lzcnt fast-movbe
    fast-scalar-fsqrt fast-scalar-shift-masks fast-shld-rotate fast-variable-crosslane-shuffle
    fast-variable-perlane-shuffle fast-vector-fsqrt fast-vector-shift-masks faster-shift-than-shuffle fma
    fma4 fsrm gfni idivl-to-divb idivq-to-divl lzcnt macrofusion movbe ndd nf no-bypass-delay
    no-bypass-delay-blend no-bypass-delay-mov no-bypass-delay-shuffle pclmul popcnt ppx prefer-128-bit
    prefer-256-bit prefer-legacy-setcc prefer-mask-registers prefer-movmsk-over-vtest prefer-no-gather
    prefer-no-scatter sbb-dep-breaking sha sha512 slow-3ops-lea slow-incdec slow-lea slow-pmaddwd
    slow-pmulld slow-pmullq slow-shld slow-two-mem-ops slow-unaligned-mem-16 slow-unaligned-mem-32 sm3 sm4
    sse sse2 sse3 sse4.1 sse4.2 sse4a ssse3 tbm tuning-fast-imm-vector-shift vaes vpclmulqdq vzeroupper
    xop zu
"""
FEATURES = frozenset(_NAMES.split())


def feature_problem(features: str) -> str:
    """What is wrong with ``+avx512f,-fma``; empty if nothing is."""
    for part in filter(None, features.split(",")):
        sign, name = part[:1], part[1:]
        if sign not in ("+", "-"):
            return f"'{part}' must start with + (add it) or - (leave it out)"
        if name not in FEATURES:
            return f"there is no feature '{name}'{did_you_mean(name, FEATURES)}"
    return ""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the candidates nearest to ``word``, or an empty string."""
    near = difflib.get_close_matches(word, sorted(candidates), n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
