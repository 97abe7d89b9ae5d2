"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

MISSES: dict[str, dict[str, str]] = {
    "column_argmax f32": {"banks": "a block's 32 results of 64 bits change hands once: 2 passes more"},
    "embedding f32": {"bytes": "the same token comes again when its row has left a cache that small"},
    "gather f32": {
        "requested": "neighbours come from anywhere in the row: 32 bytes for each of 4",
        "sectors": "neighbours come from anywhere in the row",
        "wide": "neighbours come from anywhere in the row",
    },
    "interleaved_rotary f32": {
        "wide": "a thread has two pairs of numbers, 16 bytes, and 8 of each angle; of four pairs a request "
        "would have every other 16 bytes, and touch twice the sectors that it fills"
    },
}

# Of the corpus's modules, which are small: the gates of any_size.py, in whatever dtype.
CORPUS: dict[str, dict[str, str]] = {
    "matmuls": {
        "banks": "f64 are stored by rows and loaded in pairs along columns, so that a row's are even places: "
        "72 passes, 8 of them for conflicts; without pairs, and without conflicts, it would be 80"
    },
}
