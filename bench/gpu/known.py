"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

_PAIRS = (
    "each element is compared with, or added to, all others of its row or column: they are read again for "
    "each of them"
)
_COLUMN = "x @ y[:, 0] reads a column: each element is a sector of its own, of which 2 bytes are used"
_EVERY_OTHER = "x[:, 1:, ::2] takes every other element: memory moves those in between"
_ODD_ROWS = (
    "rows of three, 515, or 512 elements that are moved by one begin anywhere in a sector, so that accesses "
    "are of single elements"
)
_SINGLE = "one element of each row is taken, at a place that is known at run time: a sector each"
_WINDOWS = (
    "windows of 3x3 at every other place begin before the image: their elements are loaded one by one, from "
    "the L1 cache where two windows share them"
)

MISSES: dict[str, dict[str, str]] = {
    "ten-f32": {
        "wide": "128 rows are divided by their sums where columns are reduced: a thread has four columns of "
        "two rows, and so one sum of each, 4 bytes"
    },
    "cross-entropy-f32": {
        "requested": "the mean of 1024 losses is one block's: a thread has 8 losses, and of the flags that "
        "say which count 16, so that half of its threads ask for flags again: 1 KB"
    },
    "column_sum of any number of rows": {
        "residency": "whole steps of rows, and a step of what is left of a number that is not known, at "
        "places of 64 bits: with 32 registers it would spill"
    },
    # The corpus's modules.
    "transcendental, bf16": {
        "wide": "sines and cosines of large numbers load digits of 2/pi, 4 bytes each, from where a number's "
        "exponent says: a branch that is seldom taken"
    },
    "arg_reductions, bf16": {
        "wide": "64 partial results with their places are a warp's: four of each a thread, of which the "
        "results are 8 bytes"
    },
    "compare_and_select, f16": {
        "residency": "six results of two inputs: of each a thread has eight elements as f32, and compares "
        "them for all results: with 32 registers it would spill"
    },
    "softmax_inner, bf16": {
        "residency": "columns are reduced twice: the totals of a thread's eight columns are exchanged beside "
        "their eight elements: with 32 registers it would spill"
    },
    "reductions, f64": {
        "residency": "five results of sums and extremes in both directions: 16 elements of a thread, 32 "
        "registers, stay for all of them: with 64 it would spill"
    },
    "cumulative, f16": {
        "requested": _PAIRS,
        "residency": "sums of blocks and within them: a thread has 32 elements, and 16 sums, when it "
        "exchanges them: with 42 registers it would spill; a launch of four blocks",
    },
    "matmuls, f16": {
        "wide": _COLUMN,
        "bytes": _COLUMN,
        "sectors": _COLUMN,
        "requested": "32 blocks of four rows each read the column again, a sector an element",
    },
    "shapes, i32": {"wide": _EVERY_OTHER, "bytes": _EVERY_OTHER, "sectors": _EVERY_OTHER},
    "concat_and_pad, f16": {
        "wide": _ODD_ROWS,
        "bytes": "of each row three elements are taken, for which memory moves a sector",
        "sectors": _ODD_ROWS,
        "requested": _ODD_ROWS,
    },
    "indexing, f64": {
        "wide": _SINGLE,
        "bytes": _SINGLE,
        "sectors": _SINGLE,
        "requested": "a row of 512 elements that all have one index is read by two blocks, which load it "
        "each",
    },
    "scatter, f32": {
        "wide": _PAIRS,
        "first": "a row of what was there is loaded behind the search for who writes it",
        "bytes": _PAIRS,
        "sectors": _SINGLE,
        "requested": _PAIRS,
    },
    "sorting, f64": {
        "wide": _SINGLE,
        "bytes": _SINGLE,
        "sectors": _SINGLE,
        "requested": _PAIRS,
        "banks": "64 elements of a row are compared with each other: both sides of the square pass through "
        "shared memory in elements of 8 bytes",
        "residency": "a thread compares 16 pairs of f64, and counts what it finds in 64 bits: with 64 "
        "registers it would spill; a launch of 32 blocks",
    },
    "booleans, bool": dict.fromkeys(
        ("wide", "requested", "sectors"),
        "columns are reduced beside results of f32 and i32: a block has 8 columns, 32 bytes of these and 8 "
        "of bools, and asks for 66 KB; of 32 columns each there would be 16 blocks of 115 KB for 108 "
        "multiprocessors",
    )
    | {
        "residency": "seven results of two inputs, of each of which a thread has 16 elements in a register "
        "each: with 32 registers it would spill; a launch of 64 blocks",
    },
    "pools, f32": dict.fromkeys(("wide", "requested", "sectors"), _WINDOWS),
    "resnet_small, f16": {
        "requested": "windows of 3x3 at every other place share rows and columns, which come from the L1 "
        "cache",
    },
    "lenet, f32": {
        "wide": "windows of rows of 24 columns: 12 results are no power of two, and a thread has one of them"
    },
    "mixer_block, f16": {
        "requested": "16 rows fill the sectors of what lies across them: eight warps have two each, and load "
        "the weights for these alone, in all a quarter more than memory moves"
    },
}

# Of the corpus's modules, which are small, each in the dtype that is tested: the gates of any_size.py.
CORPUS: dict[str, dict[str, str]] = {
    "bert_block, f32": {
        "first": "queries, keys and values are parts of one buffer: what is loaded of the values comes after "
        "the first use of keys, and is on its way during the softmax"
    },
    "resnet_small, f16": {
        "first": "images of a few places and of 8 to 32 channels: a factor of 8 rows, or as deep, comes "
        "through registers, a step's after the one before is stored",
        "residency": "eight steps of factors take more shared memory than the schedule counts: seven blocks "
        "fit, not ten, of a launch of one",
    },
}
