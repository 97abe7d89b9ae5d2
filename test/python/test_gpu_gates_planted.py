"""Kernels that are planted to be bad miss the gate that is there for them."""

from __future__ import annotations

import math
from dataclasses import replace

from mlopt.bench.gpu.gates import FEW, MOST_AGAIN, SECTOR, Found, narrow_accesses
from mlopt.runtime.emulator.counters import Line

GOOD = Found(
    "op", "kernel", 32, 0, 1.0, 80, (4, 4), 0, (2, 2), math.inf, 1 << 20, 1 << 20, 1 << 20, 0, 1.0, True, 1.0
)  # fmt: skip


def test_a_row_that_is_read_three_times() -> None:
    """Written once, it asks for twice what must be moved, as norms with their weights do."""
    vars_ = {**vars(GOOD), "requested": 2 << 20, "again": 2.0}
    assert GOOD.misses == ()
    assert Found(**vars_).misses == ("requested",)
    assert Found(**{**vars_, "again": MOST_AGAIN}).misses == ()


def test_fewer_blocks_than_the_schedule_wants() -> None:
    assert Found(**{**vars(GOOD), "resident": False}).misses == ("residency",)


def test_warps_that_ask_for_a_sector_each() -> None:
    """Eight lanes have the data of a request: four times as many as whole warps would make."""
    text = "ld.global.nc.b32 %r1, [%rd1];"
    requests = 1000
    line = Line(
        0, text, "", "memory", 1, 8, bytes=SECTOR * requests, sectors=requests, requests=requests
    )  # fmt: skip
    least = SECTOR * requests
    assert narrow_accesses([line], {32}, least / FEW) == {("ld", 32)}  # parameters, say
    assert narrow_accesses([line], {32}, 2 * least) == set()


def test_a_kernel_that_adds_two_numbers_up() -> None:
    """Its lines ask for a sector each, once: there is nothing that wider ones would save."""
    line = Line(
        0, "ld.global.nc.v2.b32 {%r1, %r2}, [%rd1];", "", "memory", 1, 1, bytes=8, sectors=1, requests=1
    )
    least = 3 * SECTOR
    assert narrow_accesses([line], {32}, least) == {("ld", 64)}
    twice = replace(line, requests=2, sectors=2)
    assert narrow_accesses([twice], {32}, least) == set()
