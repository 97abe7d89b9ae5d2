"""Rows of the table beside Triton's (against_triton.py) that are more than 5 % above, and why."""

from __future__ import annotations

_SHIFTED = (
    "rows begin at any element of 16 aligned bytes: a thread has these, one wide load, and lanes shift them "
    "to where they are stored at once; Triton loads and stores {} elements one by one"
)
# (operation, "instructions" or "registers")
OVER: dict[tuple[str, str], str] = {
    ("column_argmax f32", "registers"): (
        "32 blocks of 1024 threads for 108 multiprocessors: a second one, for which 32 registers would make "
        "room, never comes; with 32 ptxas spills 36 bytes"
    ),
    ("softmax_part f64", "registers"): (
        "128 blocks of 128 threads for 108 multiprocessors, each of which has room for eight of 64 "
        "registers; ptxas makes do with 46 and as few instructions where ten are to have room, which do not "
        "come"
    ),
    ("geglu bf16", "registers"): (
        "both halves are loaded before one is used, and one waits while erf of the other is computed; "
        "Triton's second load comes when half of that is done, as ours does with 32"
    ),
    ("drop_first f32", "instructions"): _SHIFTED.format("four"),
    ("drop_first f16", "instructions"): _SHIFTED.format("eight"),
    ("column_sum of any number of rows", "registers"): (
        "the places of a second loop, for the rows that whole steps leave; 32 blocks for 108 "
        "multiprocessors, each of which has room for nine"
    ),
}
