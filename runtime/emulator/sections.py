"""Where the PTX ISA, version 9.0, describes each instruction: for the message about one that cannot be run.

Other versions number the chapters differently: what is 9.7.13 here is 9.7.12 in 8.x, and 9.7.14 in 9.3.
"""

from __future__ import annotations

from .ptx import Instruction

SECTIONS = {
    "9.7.1 Integer Arithmetic": "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns"
    " brev bfe bfi bmsk szext dp4a dp2a",
    "9.7.2 Extended-Precision Integer Arithmetic": "addc subc madc",
    "9.7.3 Floating-Point": "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "9.7.6 Comparison and Selection": "set setp selp slct",
    "9.7.8 Logic and Shift": "and or xor not cnot lop3 shf shl shr",
    "9.7.9 Data Movement and Conversion": "mov shfl prmt ld ldu st multimem prefetch prefetchu applypriority"
    " discard createpolicy isspacep cvta cvt mapa getctarank cp tensormap",
    "9.7.10 Texture": "tex tld4 txq istypep",
    "9.7.11 Surface": "suld sust sured suq",
    "9.7.12 Control Flow": "bra brx call ret exit",
    "9.7.13 Parallel Synchronization and Communication": "bar barrier membar fence atom red vote match"
    " activemask redux griddepcontrol elect mbarrier clusterlaunchcontrol",
    "9.7.14 Warp-Level Matrix Multiply-Accumulate": "wmma mma ldmatrix stmatrix movmatrix",
    "9.7.15 Asynchronous Warpgroup-Level Matrix Multiply-Accumulate": "wgmma",
    "9.7.16 TensorCore 5th Generation": "tcgen05",
    "9.7.17 Stack Manipulation": "stacksave stackrestore alloca",
    "9.7.18 Video": "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2"
    " vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4",
    "9.7.19 Miscellaneous": "brkpt nanosleep pmevent trap setmaxnreg",
}
_BY_OPCODE = {opcode: section for section, opcodes in SECTIONS.items() for opcode in opcodes.split()}
# Arithmetic and comparisons have a chapter of their own for some types.
_HALF, _MIXED = "9.7.4 Half Precision Floating-Point", "9.7.5 Mixed Precision Floating-Point"
_HALF_COMPARISON = "9.7.7 Half Precision Comparison"
TITLES = {name.partition(" ")[0]: name for name in (*SECTIONS, _HALF, _MIXED, _HALF_COMPARISON)}


def section(instruction: Instruction) -> str:
    """The section of an instruction; empty for what is none."""
    found = _BY_OPCODE.get(instruction.opcode, "")
    number = found.partition(" ")[0]
    floats = [kind.name.removesuffix("x2") for kind in instruction.types if kind.kind == "f"]
    halves = [name for name in floats if name in ("f16", "bf16")]
    if number in ("9.7.1", "9.7.3") and floats:
        return TITLES["9.7.3"] if not halves else _HALF if len(halves) == len(floats) else _MIXED
    return _HALF_COMPARISON if number == "9.7.6" and halves else found


def precise(instruction: Instruction, known: str) -> str:
    """``known``, which is where its family says that the ISA describes it, or the chapter for its types."""
    found = section(instruction)
    number, chapter = known.partition(" ")[0], found.partition(" ")[0]
    return known if f"{number}.".startswith(f"{chapter}.") else f"{found}: {instruction.opcode}"
