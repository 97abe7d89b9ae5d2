"""Kernels that are planted to be bad miss the gate that is there for them."""

from __future__ import annotations

import math
from dataclasses import replace

from mlopt.bench.gpu.gates import FEW, MOST_AGAIN, SECTOR, Found, narrow_accesses
from mlopt.bench.gpu.places import anywhere, places_of, smaller_shares
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


def _lines(*texts: str, **bytes_of: int) -> list[Line]:
    """Lines of a kernel, numbered from 0; those that access memory fill their sectors."""
    found = []
    for number, text in enumerate(texts):
        size = bytes_of.get(f"line{number}", 0)
        sectors, requests = size // SECTOR, size // 128
        found.append(Line(number, text, "", "", 1, 32, bytes=size, sectors=sectors, requests=requests))
    return found


OWN = "mov.u32 %r1, %tid.x"
GATHER = (
    "ld.param.b64 %rd1, [k_param_0]",
    "ld.param.b64 %rd2, [k_param_1]",
    OWN,
    "mul.wide.u32 %rd3, %r1, 8",
    "add.s64 %rd4, %rd1, %rd3",
    "ld.global.nc.b64 %rd5, [%rd4]",
    "shl.b64 %rd6, %rd5, 2",
    "add.s64 %rd7, %rd2, %rd6",
    "ld.global.nc.b32 %r2, [%rd7]",
)
ONE_EACH = {"line5": 1024 * 8, "line8": 1024 * 4}


def test_an_element_for_each_place_may_lie_anywhere() -> None:
    places = places_of(_lines(*GATHER, **ONE_EACH))
    assert [each.buffers for each in places] == [{"k_param_0"}, {"k_param_1"}]
    assert [each.found for each in places] == [frozenset(), {5}]
    assert anywhere(places) == {8}


def test_a_lane_that_walks_along_a_row_knows_its_neighbours() -> None:
    """An embedding with a row a lane: 32 sectors a request, which wide accesses of a warp would not touch."""
    assert anywhere(places_of(_lines(*GATHER, **{**ONE_EACH, "line8": 768 * 1024 * 4}))) == set()


def test_a_row_that_all_lanes_read_is_no_scattered_element() -> None:
    block = [text.replace("%tid.x", "%ctaid.x") for text in GATHER]
    assert anywhere(places_of(_lines(*block, **ONE_EACH))) == set()
    known = [text.replace("%rd6, %rd5", "%rd6, %rd3") for text in GATHER]
    assert anywhere(places_of(_lines(*known, **ONE_EACH))) == set()


def test_a_thread_may_have_less_of_a_smaller_buffer() -> None:
    """Two pairs of numbers, 16 bytes, and 8 of their angles; but not twice 8 bytes instead of 16."""
    head = ("ld.param.b64 %rd1, [k_param_0]", "ld.param.b64 %rd2, [k_param_1]")
    wide = "ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]"
    narrow = "ld.global.nc.v2.b32 {%r5, %r6}, [%rd2]"
    fine = _lines(*head, wide, narrow, line2=4096, line3=2048)
    assert smaller_shares(places_of(fine)) == {3}
    again = _lines(*head, wide, narrow, narrow.replace("]", "+8]"), line2=4096, line3=2048, line4=2048)
    as_many = _lines(*head, wide, narrow, line2=2048, line3=2048)
    alone = _lines(*head, narrow, line2=2048)
    gaps = [*fine[:3], replace(fine[3], sectors=128)]
    assert [smaller_shares(places_of(lines)) for lines in (again, as_many, alone, gaps)] == [set()] * 4
