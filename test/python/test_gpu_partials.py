"""Where the totals of warps lie in shared memory: each has a place, and no access has bank conflicts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlopt.dialects.layouts import LANE_BITS, LINE_BYTES, WARP, Layout, wavefronts
from mlopt.passes.gpu.threads.partials import Partials


@st.composite
def partials(draw: st.DrawFn) -> Partials:
    bits = draw(st.integers(LANE_BITS + 1, LANE_BITS + 5))
    uses = draw(st.lists(st.sampled_from(["owns", "reduced", "copies"]), min_size=bits, max_size=bits))
    uses[draw(st.integers(LANE_BITS, bits - 1))] = "reduced"
    owns = tuple(bit for bit in range(bits) if uses[bit] == "owns")
    warps = tuple(bit for bit in range(LANE_BITS, bits) if uses[bit] == "reduced")
    return Partials(draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 4, 8])), bits, owns, warps)


def places(layout: Layout, thread: int, width: int) -> list[int]:
    (own,) = layout.thread_position(thread)
    return [own + first + at for (first,) in layout.register_positions for at in range(width)]


@settings(max_examples=300, deadline=None)
@given(partials())
def test_totals_are_found_where_they_were_stored(how: Partials) -> None:
    """By their element of the result, their number in the thread, and the warp."""
    stored: dict[int, tuple[int, int, int]] = {}
    for thread in range(1 << how.bits):
        element, warp = (sum(thread & 1 << bit for bit in bits) for bits in (how.owns, how.warps))
        for number, place in enumerate(places(how.writes, thread, how.wide)):
            assert stored.setdefault(place, (element, number, warp)) == (element, number, warp)
    assert sorted(stored) == list(range(how.elements))
    every = sorted({warp for _, _, warp in stored.values()})
    for thread in range(1 << how.bits):
        found = [stored[place] for place in places(how.reads, thread, how.width)]
        assert {element for element, _, _ in found} == {sum(thread & 1 << bit for bit in how.owns)}
        mine = [(thread >> lane & 1, 1 << bit) for lane, bit in zip(how.lanes, how.warps, strict=False)]
        warps = [warp for warp in every if all(bool(warp & bit) == has for has, bit in mine)]
        each = how.wide * len(warps)
        for first in range(0, len(found), each):
            for one in range(how.wide):
                wanted = [(first // each * how.wide + one, warp) for warp in warps]
                assert [
                    (number, of) for _, number, of in found[first + one : first + each : how.wide]
                ] == wanted


@settings(max_examples=300, deadline=None)
@given(partials())
def test_totals_have_no_bank_conflicts(how: Partials) -> None:
    for layout, width in ((how.writes, how.wide), (how.reads, how.width)):
        assert width * how.size <= 16
        for warp in range(1 << how.bits - LANE_BITS):
            own = [layout.thread_position(WARP * warp + lane)[0] for lane in range(WARP)]
            for (first,) in layout.register_positions:
                addresses = [how.size * (each + first) for each in own]
                assert all(address % (width * how.size) == 0 for address in addresses)
                least = max(WARP * width * how.size // LINE_BYTES, 1)
                assert wavefronts(addresses, width * how.size) == least


@pytest.mark.parametrize(
    ("how", "writes", "reads", "width"),
    [
        # A row a block: four warps' totals at once.
        (Partials(1, 4, 7, (), (5, 6)), "reg lane 32:(0) warp 4:(1)", "reg lane 32:(0) warp 4:(0)", 4),
        # A column a lane: one at a time.
        (
            Partials(1, 4, 7, (0, 1, 2, 3, 4), (5, 6)),
            "reg lane 32:(1) warp 4:(32)",
            "reg 4:(32) lane 32:(1) warp 4:(0)",
            1,
        ),
        # Eight columns a lane: four lanes share the totals of four warps.
        (
            Partials(8, 4, 7, (0,), (5, 6)),
            "reg 2:(32) lane 2:(4) 16:(0) warp 4:(8)",
            "reg 2:(32) lane 8:(4) 4:(0) warp 4:(0)",
            4,
        ),
        # Four columns of eight a lane: four lanes share the totals of 32 warps.
        (
            Partials(4, 4, 10, (0, 1, 2), (5, 6, 7, 8, 9)),
            "reg lane 8:(4) 4:(0) warp 32:(32)",
            "reg 8:(128) lane 32:(4) warp 32:(0)",
            4,
        ),
    ],
)
def test_places(how: Partials, writes: str, reads: str, width: int) -> None:
    assert (str(how.writes), str(how.reads), how.width) == (writes, reads, width)
