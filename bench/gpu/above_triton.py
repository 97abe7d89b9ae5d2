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
        "room, never comes"
    ),
    ("softmax_part f64", "registers"): (
        "128 blocks of 128 threads for 108 multiprocessors, each of which has room for eight of 64 registers"
    ),
    ("geglu bf16", "registers"): (
        "both halves are loaded before one is used, and one waits while erf of the other is computed; "
        "Triton's second load comes when half of that is done"
    ),
    ("drop_first f32", "instructions"): _SHIFTED.format("four"),
    ("drop_first f16", "instructions"): _SHIFTED.format("eight"),
    ("relu_scale of any size", "instructions"): (
        "two sizes: a block divides its number by the blocks of a row, and asks where its row ends for what "
        "it loads and for what it stores; Triton's is told of one size, that of all elements"
    ),
    ("column_sum of any number of rows", "registers"): (
        "the places of a second loop, for the rows that whole steps leave; 32 blocks for 108 "
        "multiprocessors, each of which has room for nine"
    ),
}
