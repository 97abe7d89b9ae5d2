"""Layouts: their text, what they cover, what projections keep."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlopt.dialects.layouts import Axis, Layout, sectors, wavefronts
from mlopt.passes.gpu.layouts.spread import Spread

SHAPES = st.lists(st.integers(1, 40), min_size=1, max_size=3)
WARPS = st.sampled_from([1, 2, 4, 8])
WIDTHS = st.sampled_from([1, 2, 4, 8])
LINES = st.sampled_from([None, 4, 16, 32])


def spread_of(
    shape: list[int], warps: int, width: int, order: list[int] | None = None, line: int | None = None
) -> Layout:
    dims = range(len(shape))
    spread = Spread(shape, [set(dims) - {dim} for dim in dims], warps)
    spread.fill(order or list(reversed(dims)), width, line=line)
    return spread.layout(list(dims))


def holders(layout: Layout, shape: list[int]) -> Counter[tuple[int, ...]]:
    """How many registers of all threads hold each position of a tile."""
    found: Counter[tuple[int, ...]] = Counter()
    for thread in range(layout.threads):
        own = layout.thread_position(thread)
        for register in layout.register_positions:
            position = tuple(one + other for one, other in zip(own, register, strict=True))
            if all(at < size for at, size in zip(position, shape, strict=True)):
                found[position] += 1
    return found


@settings(max_examples=60, deadline=None)
@given(SHAPES, WARPS, WIDTHS, LINES)
def test_every_position_is_covered_equally_often(
    shape: list[int], warps: int, width: int, line: int | None
) -> None:
    layout = spread_of(shape, warps, width, line=line)
    found = holders(layout, shape)
    assert set(found) == set(product(*map(range, shape)))
    assert set(found.values()) == {1 << layout.copies.bit_count()}


@settings(max_examples=60, deadline=None)
@given(SHAPES, WARPS, WIDTHS)
def test_text_reads_back(shape: list[int], warps: int, width: int) -> None:
    layout = spread_of(shape, warps, width)
    again = Layout.parse(str(layout))
    assert str(again) == str(layout)
    assert again.bits == layout.bits
    assert again.register_positions == layout.register_positions


@settings(max_examples=60, deadline=None)
@given(SHAPES, WARPS, WIDTHS, st.data())
def test_a_projection_is_where_its_positions_were(
    shape: list[int], warps: int, width: int, data: st.DataObject
) -> None:
    layout = spread_of(shape, warps, width)
    dims = data.draw(st.lists(st.sampled_from([None, *range(len(shape))]), max_size=3, unique=True))
    taken = layout.select(dims)

    def picked(position: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if dim is None else position[dim] for dim in dims)

    for thread in (0, 1, 5, layout.threads - 1):
        assert taken.thread_position(thread) == picked(layout.thread_position(thread))
    assert set(taken.register_positions) == set(map(picked, layout.register_positions))


@settings(max_examples=60, deadline=None)
@given(SHAPES, WARPS, WIDTHS)
def test_runs_are_neighbours_from_multiples(shape: list[int], warps: int, width: int) -> None:
    layout = spread_of(shape, warps, width)
    for dim in range(len(shape)):
        run = layout.run(dim)
        registers = set(layout.register_positions)
        for thread in range(layout.threads):
            assert layout.thread_position(thread)[dim] % run == 0
        for register in registers:
            first = register[dim] - register[dim] % run
            for at in range(first, first + run):
                assert (*register[:dim], at, *register[dim + 1 :]) in registers


def test_the_layout_of_a_block_of_rows() -> None:
    spread = Spread([8, 1000], [{1}, {0}], 4)
    spread.fill([1, 0], 4, {1})
    layout = spread.layout([0, 1])
    assert str(layout) == "reg 2:(4,0) 8:(0,128) 4:(0,1) lane 32:(0,4) warp 4:(1,0)"
    assert layout.covered == (8, 1024)
    assert str(spread.layout([0])) == "reg 2:(4) lane 32:(0) warp 4:(1)"
    assert str(spread.layout([1, None])) == "reg 8:(128,0) 4:(1,0) lane 32:(4,0) warp 4:(0,0)"
    assert spread.layout([0]).copies == 31
    assert str(layout.select([0])) == str(spread.layout([0]))


def test_classes_that_share_no_tile_share_thread_bits() -> None:
    spread = Spread([16, 128, 128], [{1, 2}, {0}, {0}], 4)
    spread.fill([1, 0], 4)
    spread.fill([2, 0], 4)
    assert spread.layout([0, 1]) == spread.layout([0, 2])
    assert set(holders(spread.layout([0, 2]), [16, 128]).values()) == {1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lane 32:(1) warp 4:(0)", "not a layout"),
        ("reg lane 16:(1) warp 4:(0)", "the lanes of a layout must be 32"),
        ("reg lane 32:(1) warp 3:(0)", "powers of two"),
        ("reg 2:(0,1) lane 32:(1) warp 1:(0)", "differ in rank"),
        ("reg x lane 32:(1) warp 1:(0)", "not a layout"),
        ("reg 2- lane 32:(1) warp 1:(0)", "not an axis"),
    ],
)
def test_what_is_no_layout(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.parse(text)


def test_steps_of_another_rank_are_refused() -> None:
    with pytest.raises(ValueError, match="another rank"):
        Layout(2, (Axis(4, (1,)),), ((0, 0),) * 5)
    with pytest.raises(ValueError, match="at least 5 thread bits"):
        Layout(1, (), ((1,),))
    with pytest.raises(ValueError, match="power of two of warps"):
        Spread([4], [set()], 3)


def test_wavefronts_and_sectors() -> None:
    assert wavefronts([4 * lane for lane in range(32)], 4) == 1
    assert wavefronts([0] * 32, 4) == 1  # one word for all
    assert wavefronts([8 * lane for lane in range(32)], 4) == 2
    assert wavefronts([128 * lane for lane in range(32)], 4) == 32
    assert wavefronts([132 * lane for lane in range(32)], 4) == 1
    assert wavefronts([16 * lane for lane in range(32)], 16) == 4  # as many as there are bytes for
    assert wavefronts([128 * lane for lane in range(32)], 16) == 32
    assert wavefronts([None] * 31 + [0], 4) == 1
    assert wavefronts([2 * lane for lane in range(32)], 2) == 1
    assert sectors([4 * lane for lane in range(32)], 4) == 4
    assert sectors([4000 * lane for lane in range(32)], 16) == 32
