"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

MISSES: dict[str, dict[str, str]] = {
    "ten-f32": {
        "wide": "128 rows are divided by their sums where columns are reduced: a thread has four columns of "
        "two rows, and so one sum of each, 4 bytes"
    },
    "cross-entropy-f32": {
        "requested": "the mean of 1024 losses is one block's: a thread has 8 losses, and of the flags that "
        "say which count 16, so that half of its threads ask for flags again: 1 KB"
    },
}

# Of the corpus's modules, which are small: the gates of any_size.py, in whatever dtype.
CORPUS: dict[str, dict[str, str]] = {
    "bert_block": {
        "first": "queries, keys and values are parts of one buffer: what is loaded of the values comes after "
        "the first use of keys, and is on its way during the softmax"
    },
    "matmuls": {
        "banks": "f64 are stored by rows and loaded in pairs along columns, so that a row's are even places: "
        "72 passes, 8 of them for conflicts; without pairs, and without conflicts, it would be 80"
    },
    "vit": {
        "first": "six loads of 16 bytes, and where to store them, are more than the 32 registers of a "
        "thread: the sixth waits for the first, in a launch of one block"
    },
}
