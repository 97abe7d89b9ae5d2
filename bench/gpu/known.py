"""The gates that kernels miss, and why: a test compares them with what is measured.

A reason says what bounds the kernel, or else what it would take to hold the gate, which is not done.
"""

from __future__ import annotations

MISSES: dict[str, dict[str, str]] = {
    # The corpus's modules.
    "matmuls, f16": {
        "requested": "x @ y[:, 0]: 32 blocks of four rows each read the column again, 4 KB of sectors: twice "
        "what must be moved would leave eight blocks for 108 multiprocessors or more",
    },
    "concat_and_pad, f16": {
        "sectors": "three elements of each of 256 rows, a sector, for 24 warps of 32 lanes: 16 rows are of "
        "two warps, 1.0625, unless two lanes of each warp have no row",
    },
    "sorting, f64": {
        "requested": "each of a block's eight warps compares eight elements with all of a row of 64, keys "
        "and places, 768 bytes: the first one brings them, the others have them from the L1 cache",
    },
    "booleans, bool": dict.fromkeys(
        ("requested", "sectors"),
        "columns are reduced beside results of f32 and i32: a block has 8 columns, 32 bytes of these and 8 "
        "of bools, and asks for 66 KB; of 32 columns each there would be 16 blocks of 115 KB for 108 "
        "multiprocessors or more",
    ),
    "resnet_small, f16": {
        "requested": "windows of 3x3 at every other place share rows and columns, which come from the L1 "
        "cache: 16 bytes of a lane beside are four shuffles, and a load from there is one"
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
