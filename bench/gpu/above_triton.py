"""Rows of the table beside Triton's (against_triton.py) that are more than 5 % above, and why."""

from __future__ import annotations

# (operation, "instructions" or "registers")
OVER: dict[tuple[str, str], str] = {
    ("geglu bf16", "registers"): (
        "both halves are loaded before one is used, and one waits while erf of the other is computed; "
        "Triton's second load comes when half of that is done, as ours does with 32"
    ),
}
