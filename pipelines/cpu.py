"""The way down to x86: named stages, each a list of passes, from linalg to the llvm dialect.

The list reads top to bottom; a comment says why a pass is where it is. ``Compiled.asm`` holds
the IR after each stage under the stage's name.
"""

from __future__ import annotations

from ..passes.costs.machine import DEFAULT_CPU
from ..passes.cpu.strips.scratch import TASK_BYTES
from ..passes.options import format_pass
from ..passes.schedule import Schedule
from ..passes.scheduling.cpu import SCRATCH, WIDE_BITS
from ..passes.verify import Verify
from .shared import BUFFERIZE, LINALG, kernels, tile
from .stages import Rule, Stage, no_memory_of_type, vectors_of_at_most

_LOOPS = ("builtin", "func", "memref", "arith", "math", "cf", "scf", "affine", "vector", "ub", "llvm")
# Four native registers; wider ones make LLVM's time explode and spill.
_REGISTERS_A_VECTOR = 4
# No pass after strip-mining makes a task any scratch.
_ALL_SCRATCH = format_pass(Verify(level="loops", scratch=TASK_BYTES))
_NO_I1 = no_memory_of_type("i1", "loads and stores of i1 abort in finalize-memref-to-llvm")


def cpu_stages(
    vector_bits: int = 512, fast_math: bool = False, choices: str = "", dot_bf16: bool = False
) -> tuple[Stage, ...]:
    """The stages for a CPU whose vector registers have ``vector_bits`` bits (128, 256 or 512).

    ``choices`` are those of mlopt-schedule; ``dot_bf16``: the CPU has AVX512-BF16.
    """
    dots = "mlopt-cpu-dot-bf16," if dot_bf16 else ""
    # A strip of four wide registers has so many columns that few of them read a pixel.
    pixels = f"mlopt-dense-pixels{{vector-bits={vector_bits}}}," if vector_bits < WIDE_BITS else ""
    # What masks cost otherwise; canonicalize, in stages before, would fold the copies.
    windows = f"mlopt-cpu-pad-windows{{vector-bits={vector_bits}}}," if vector_bits < WIDE_BITS else ""
    schedule = format_pass(Schedule(choices=choices, vector_bits=vector_bits))
    narrow: Rule = vectors_of_at_most(_REGISTERS_A_VECTOR * vector_bits)
    return (
        LINALG,
        # Strips of registers read weights in one order; the tiles of a GPU pass through shared memory.
        kernels(
            DEFAULT_CPU,
            # A host loop reads the index of a row once: then its elements are added up by registers.
            own=f"{pixels}mlopt-spread-planes,mlopt-pack-weights{{vector-bits={vector_bits}}},"
            "loop-invariant-code-motion,",
            early="mlopt-weights-in-place,",
        ),
        tile(f"{windows}{schedule}", fast_math, SCRATCH),
        Stage(
            "loops",
            f"{BUFFERIZE},"
            # What a contraction makes of another one's tiles waits in memory.
            "mlopt-cpu-stage-tiles,"
            # Tiles become loops over registers; kernels without a tile rule become plain loops. Sizes of
            # views are those that they were made with: the arena asks for no buffer's size.
            "mlopt-cpu-plain-maxima,mlopt-cpu-softmax-sums,"
            f"mlopt-cpu-strip-mine{{vector-bits={vector_bits}}},{_ALL_SCRATCH},"
            "convert-linalg-to-loops,resolve-ranked-shaped-type-result-dims,canonicalize,cse,"
            # After the loops exist: half floats compute in f32, then functions become polynomials.
            f"{dots}mlopt-cpu-widen-floats,mlopt-cpu-expand-math{{vector-bits={vector_bits}}},"
            # No kernel or host function calls malloc.
            "mlopt-cpu-arena,mlopt-cpu-copies,"
            # Large results go past the caches: tasks are still loops here, and end with a fence. What such
            # loops read is asked for ahead, a row is stored while the next one is computed, and kernels start
            # where the one before has ended.
            "mlopt-cpu-stream-stores,mlopt-cpu-prefetch-streams,mlopt-cpu-late-stores,mlopt-cpu-turn-back,"
            # Profilers can see the kernels; sizes that are known are not passed on; large scratch leaves the
            # stack, and asserts that there is memory; threads and status reach the functions that need them;
            # then tasks run over threads.
            "mlopt-hooks,mlopt-cpu-bare-pointers,mlopt-cpu-scratch,mlopt-cpu-entry,mlopt-cpu-parallel",
            _LOOPS,
            (narrow, _NO_I1),
        ),
        Stage(
            "llvm",
            "lower-affine,convert-scf-to-cf,"
            # A failed assert returns its number: possible only where control flow is flat.
            "mlopt-cpu-status,"
            "mlopt-lower-expansions,expand-strided-metadata,lower-affine,arith-expand{include-bf16=true},"
            # What stays of math becomes calls lane by lane, of which vector ops remain.
            "convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm,convert-arith-to-llvm,"
            "convert-index-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
            # LLVM takes loads and stores of bf16 apart.
            "convert-ub-to-llvm,reconcile-unrealized-casts,mlopt-cpu-bf16-bits,canonicalize,cse,"
            # Of the branches that go to LLVM: none is merged any more.
            "mlopt-cpu-prepare-loops",
            ("builtin", "llvm"),
        ),
    )
