"""The gates that kernels miss, and why: a test compares them with what is measured."""

from __future__ import annotations

MISSES: dict[str, dict[str, str]] = {}

# Of the corpus's modules, which are small: the gates of any_size.py, in whatever dtype.
CORPUS: dict[str, dict[str, str]] = {
    "matmuls": {
        "banks": "f64 are stored by rows and loaded in pairs along columns, so that a row's are even places: "
        "72 passes, 8 of them for conflicts; without pairs, and without conflicts, it would be 80"
    },
}
