"""What every target's way down has in common: from linalg to kernels, and the one bufferization."""

from __future__ import annotations

from ..passes.options import format_pass
from ..passes.structured import OWN_OPS, SCAN
from ..passes.verify import Verify
from .stages import Stage

TENSORS = (
    "builtin",
    "func",
    "linalg",
    "tensor",
    "arith",
    "math",
    "cf",
    "scf",
    "affine",
    "ub",
    "bufferization",
    "memref",
)
_TILES = (*TENSORS, "vector")

LINALG = Stage(
    "linalg",
    # arith and math on whole tensors, as people write them, are linalg, too. Sizes are compared before
    # canonicalize takes them for equal.
    "inline,symbol-dce,func.func(convert-elementwise-to-linalg),mlopt-check-sizes,"
    "mlopt-equal-sizes,int-range-optimizations,canonicalize,cse",
    (*TENSORS, SCAN),
)


def tile(schedule: str, fast_math: bool, scratch: int) -> Stage:
    """From kernels to tiles, by the passes ``schedule`` of a pipeline; ``scratch``: bytes a task may have."""
    # Where the ops of a kernel stand side by side.
    algebra = "mlopt-fast-math," if fast_math else ""
    verify = format_pass(Verify(scratch=scratch))
    return Stage("tile", f"{schedule},mlopt-tile,{algebra}{verify}", _TILES)


def kernels(machine: str, own: str = "", early: str = "", float8: bool = False) -> Stage:
    """From linalg to kernels; ``machine`` is the description that decides what is fused.

    ``own`` are passes of the target alone over what could be hoisted, each with a comma after it, ``early``
    those over products before they are joined. ``float8``: whether there are instructions for products of
    8-bit floats.
    """
    return Stage(
        "kernels",
        # 8-bit floats are bits before anything looks at what computes.
        f"mlopt-fp8-storage{'{products=true}' if float8 else ''},"
        # What a binary search does is one op, before passes ask each pair of ops.
        "mlopt-join-searches,canonicalize,cse,"
        # Ops named for what they are, then one form of them: linalg.generic.
        f"mlopt-raise{{machine={machine}}},canonicalize,cse,"
        # A softmax between two products, while queries, keys and values are still moved by ops of their own.
        f"mlopt-raise-attention{{machine={machine}}},canonicalize,cse,"
        # Queries, keys and values of one tensor: one product with all weights, of which readers take parts.
        f"{early}mlopt-join-products{{machine={machine}}},"
        # Slices and transposes become reads at other places; it sees through folded reshapes only.
        f"mlopt-fold-moves{{machine={machine}}},canonicalize,cse,"
        # i1 has no layout in memory; an integer division by zero must not trap.
        "mlopt-bool-storage,mlopt-guard-division,canonicalize,cse,"
        # What depends on weights alone leaves @main before it could be fused into it; batch norms go into
        # the weights of the convolutions before them.
        f"mlopt-fold-scales{{machine={machine}}},{own}mlopt-hoist,mlopt-fuse{{machine={machine}}},"
        # Which of a kernel's ops are a softmax together: for its name, and for mlopt explain.
        "mlopt-raise-named,mlopt-outline,"
        # Dims that a kernel runs through together become one: long rows for vectors and wide accesses.
        "mlopt-collapse-dims",
        (*TENSORS, *OWN_OPS),
        layers_once=True,
    )


# One bufferization of the whole module; outputs are written in place. No canonicalize after it: it
# would dissolve the scf.forall of a kernel with one task.
BUFFERIZE = (
    "eliminate-empty-tensors,"
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true},"
    "drop-equivalent-buffer-results,cse,mlopt-self-copies"
)
