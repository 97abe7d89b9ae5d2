"""Which bytes of its sectors a launch uses, and how much of these an access asks for at once."""

from __future__ import annotations

import numpy as np
from mlopt import emulator
from mlopt.runtime.emulator.used import Used
from mlopt.test.python.emulator.snippets import kernel

# A lane has %r0, its number, and loads from or stores to the buffer at %rd0.
AT = "  mul.wide.u32 %rd3, %r0, {step};\n  add.s64 %rd4, %rd0, %rd3;\n"
LOAD, STORE = "  ld.global.b32 %r2, [%rd4+{at}];\n", "  st.global.b32 [%rd4+{at}], %r0;\n"


def used(step: int, *accesses: str) -> tuple[Used, list[int]]:
    """By one warp whose lanes lie ``step`` bytes apart; and the lines of its accesses."""
    body = AT.format(step=step) + "".join(accesses)
    with emulator.record(trace=True) as reports:
        emulator.load(kernel(body, 1)).launch("k", 1, 32, [np.zeros(4096, np.float32)])
    (report,) = reports
    assert report.trace is not None and report.counters is not None
    names = ("ld.global", "st.global")
    return report.trace.used(), [each.line for each in report.counters.lines if each.text.startswith(names)]


def test_a_column_is_used_as_far_as_there_is_one() -> None:
    found, (line,) = used(256, LOAD.format(at=0))
    assert found.bytes == 32 * 4
    assert found.filled(line) == 32
    assert found.has_no_neighbours(line, 4)


def test_every_other_element() -> None:
    found, (line,) = used(8, LOAD.format(at=4))
    assert (found.bytes, found.filled(line)) == (32 * 4, 8)
    assert found.has_no_neighbours(line, 4)


def test_what_lies_between_is_loaded_by_another_line() -> None:
    found, (even, odd) = used(8, LOAD.format(at=0), LOAD.format(at=4))
    assert found.bytes == 32 * 8
    assert (found.filled(even), found.filled(odd)) == (4, 4)
    assert not found.has_no_neighbours(even, 4) and not found.has_no_neighbours(odd, 4)


def test_neighbours_of_other_lanes() -> None:
    found, (line,) = used(4, LOAD.format(at=0))
    assert (found.bytes, found.filled(line)) == (128, 4)
    assert not found.has_no_neighbours(line, 4)


def test_a_neighbour_beyond_16_bytes_is_none() -> None:
    found, lines = used(64, LOAD.format(at=12), LOAD.format(at=16))
    assert [found.has_no_neighbours(line, 4) for line in lines] == [True, True]
    assert [found.filled(line) for line in lines] == [16, 16]


def test_stores_are_apart_from_loads() -> None:
    found, (load, store) = used(8, LOAD.format(at=0), STORE.format(at=4))
    assert found.bytes == 32 * 8
    assert (found.filled(load), found.filled(store)) == (8, 8)
    assert found.has_no_neighbours(load, 4) and found.has_no_neighbours(store, 4)


def test_a_launch_without_accesses() -> None:
    found, lines = used(4)
    assert (found.bytes, lines, found.filled(7), found.has_no_neighbours(7, 4)) == (0, [], 0.0, False)
