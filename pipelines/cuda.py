"""The way down to NVIDIA GPUs: named stages, each a list of passes, from linalg to the nvvm dialect.

The list reads top to bottom; a comment says why a pass is where it is. ``Compiled.asm`` holds
the IR after each stage under the stage's name, and the PTX that becomes of the last one.
"""

from __future__ import annotations

from ..passes.costs.machine import machine_for_code
from ..passes.options import format_pass
from ..passes.schedule import Schedule
from ..runtime.cuda.chips import find_chip
from .shared import BUFFERIZE, LINALG, kernels, tile
from .stages import Stage

_TILES = ("builtin", "func", "memref", "arith", "math", "cf", "scf", "affine", "vector", "ub")
_LAYOUTS = (*_TILES, "gpu", "mlopt")
WARPGROUPS = "sm_90a"  # the chip with wgmma
_THREADS = (*_LAYOUTS, "llvm", "nvvm")


def cuda_schedule(chip: str, tf32: bool = False, choices: str = "") -> Schedule:
    """mlopt-schedule for the GPU ``chip``; ``tf32`` and ``choices`` are those of `cuda_stages`."""
    return Schedule(
        "cuda",
        choices=choices,
        machine=machine_for_code(chip),
        shared=find_chip(chip).limits.shared,
        tf32=tf32,
        warpgroups=chip == WARPGROUPS,
    )


def cuda_stages(
    chip: str, ptx: int, fast_math: bool = False, tf32: bool = False, choices: str = ""
) -> tuple[Stage, ...]:
    """The stages for the GPU ``chip`` ("sm_80") in PTX of version ``ptx`` (80 is 8.0), both known to LLVM.

    ``tf32``: whether tensor cores may round factors of f32; ``choices`` are those of mlopt-schedule.
    """
    limits = find_chip(chip).limits
    block = f"{{shared={limits.shared_per_block}}}"
    # No other chip has wgmma, and the engine that copies tensors for it.
    has = chip == WARPGROUPS
    products = (
        f"mlopt-gpu-warpgroup-attention{block},mlopt-gpu-warpgroup-products{block},"
        f"mlopt-gpu-join-siblings{block},mlopt-gpu-float8-products,"
        if has
        else ""
    )
    roles = f"mlopt-gpu-warp-roles{{shared={limits.shared}}}"
    pairs = f"mlopt-gpu-pair-blocks{{machine={machine_for_code(chip)}}}"
    persistent = (
        f"mlopt-gpu-persistent-grid{{machine={machine_for_code(chip)} shared={limits.shared}}},"
        f"mlopt-gpu-ping-pong{{shared={limits.shared}}}"
    )
    loads = (
        f"mlopt-gpu-attention-loads{block},mlopt-gpu-warpgroup-loads{block},"
        f"mlopt-gpu-tma-loads,{roles},{pairs},mlopt-gpu-tma-stores{block},{persistent},"
        if has
        else ""
    )
    schedule = cuda_schedule(chip, tf32, choices)
    choosing = f"{{machine={machine_for_code(chip)} shared={limits.shared} warpgroups={str(has).lower()}}}"
    return (
        LINALG,
        # Threads have their positions at hand; a prepared tensor of them would be read by each block.
        kernels(
            machine_for_code(chip),
            "mlopt-gpu-compute-positions,"
            # Before channels go last: afterwards those of first layers are enough for that.
            f"mlopt-gpu-window-rows{{machine={machine_for_code(chip)} shared={limits.shared}}},"
            # While the sum of a product's parts can be fused with what comes after it.
            f"mlopt-gpu-channels-last{{machine={machine_for_code(chip)} shared={limits.shared}}},"
            # Weights are read as they lie then, which decides how few rows have parts of the depth.
            f"mlopt-gpu-weights-in-place{{tf32={str(tf32).lower()}}},"
            f"mlopt-gpu-narrow-weights{choosing},"
            f"mlopt-gpu-split-products{choosing},",
            float8=has,
        ),
        # Kernels that add up what others leave in parts: once the blocks of both are known.
        # A block's scratch is shared memory; mlopt-gpu-distribute, which knows all of it, asks again.
        tile(
            f"{format_pass(schedule)},mlopt-gpu-join-sums{{machine={machine_for_code(chip)}}}",
            fast_math,
            limits.shared_per_block,
        ),
        Stage(
            "layouts",
            # Only kernels touch the device's memory. Half floats compute in f32: said while values are
            # tiles, so that layouts see their size.
            f"{BUFFERIZE},mlopt-gpu-copies,mlopt-gpu-host-asserts,mlopt-cpu-widen-floats,"
            # What no tile rule takes: loops, an iteration a thread.
            "convert-linalg-to-parallel-loops,mlopt-gpu-padded-reads,mlopt-gpu-plain-loops,"
            # While a row's maximum and its sum are of whole tiles.
            "mlopt-gpu-softmax-sums,"
            # Rows that no block can hold; then accumulators stay with their threads while a loop runs, and
            # rows are read once for their maximum and the sum of exponentials.
            f"mlopt-gpu-chunk-rows{{shared={limits.shared}}},mlopt-gpu-late-reductions,mlopt-gpu-online-sums,"
            # What loops do not carry now.
            "mlopt-gpu-narrow-sums,"
            # What is still read again, as far as there is room.
            f"mlopt-gpu-keep-rows{{shared={limits.shared}}},"
            # A task without anything to share is a thread's, not a block's; blocks that share are neighbours,
            # and keep what their tasks share.
            "mlopt-gpu-single-elements,mlopt-gpu-order-tasks,"
            f"mlopt-gpu-take-turns{{machine={machine_for_code(chip)}}},"
            # Blocks that run together make squares of products.
            f"mlopt-gpu-group-tasks{{machine={machine_for_code(chip)}}},"
            # Loops with such products have little else to do, and keep what no step changes in registers.
            "mlopt-gpu-tensor-cores,mlopt-gpu-late-scales,mlopt-gpu-hoist-factors,"
            # Exponents of parts have the same scale; what needs a mask is then the last part's.
            "mlopt-gpu-split-keys,mlopt-gpu-split-masks,"
            # While the places of its steps are numbers.
            f"mlopt-gpu-join-loops,{products}"
            # Nothing upstream runs after it: canonicalize would merge constants of different layouts. Blocks
            # must have many tiles before warpgroups take turns with these.
            f"mlopt-gpu-assign-layouts{block},{loads}"
            f"mlopt-gpu-pipeline-loads{block},"
            # Once all of a product is there, its parts and their sums are one grid.
            "mlopt-gpu-last-blocks",
            _LAYOUTS,
        ),
        Stage(
            "threads",
            # While buffers are allocated, and kernels called by name.
            f"mlopt-gpu-stream-stores{{machine={machine_for_code(chip)}}},"
            # Each thread's share of the tiles; kernels become gpu functions and their launches. Sizes of
            # views are those that they were made with: the arena asks for no buffer's size.
            f"mlopt-gpu-distribute{block},"
            # From the bottom: from the top a loop is looked at again for each of its ops that changes, and
            # all that it carries compared with each other (0.34 s of 0.37 for 128 sums).
            "func.func(resolve-ranked-shaped-type-result-dims),canonicalize{top-down=false},cse,"
            # No host function allocates: torch owns memory.
            "mlopt-cpu-arena,"
            # The stream and the status reach the launches.
            "mlopt-gpu-entry",
            _THREADS,
        ),
        Stage(
            "nvvm",
            # On scalars, once equal ones are one; bytes before math is thousands of ops.
            "mlopt-gpu-dot-bytes,mlopt-gpu-expand-math,mlopt-gpu-pack-halves,"
            f"nvvm-attach-target{{chip={chip} features=+ptx{ptx} O=3}},"
            # convert-gpu-to-nvvm calls libdevice for math; convert-to-llvm would write log(1 + x) for log1p.
            "gpu.module(lower-affine,convert-scf-to-cf,convert-gpu-to-nvvm,convert-to-llvm,"
            "convert-nvvm-to-llvm,reconcile-unrealized-casts,canonicalize,cse),mlopt-gpu-loop-annotations,"
            # A failed assert of a host function returns its number; launches become calls of MLIR's CUDA
            # runtime, on the stream given. Nested, so that passes leave thousands of device ops alone.
            "func.func(lower-affine,convert-scf-to-cf),mlopt-cpu-status,mlopt-gpu-launch,"
            "func.func(mlopt-lower-expansions,expand-strided-metadata,lower-affine,arith-expand,convert-arith-to-llvm,"
            "convert-index-to-llvm),finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
            "llvm.func(reconcile-unrealized-casts,canonicalize,cse)",
            ("builtin", "llvm", "nvvm", "gpu.module", "gpu.module_end"),
            on_parts="mlopt-gpu-loop-annotations",  # the last one that is for device functions
        ),
    )
