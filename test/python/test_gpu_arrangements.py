"""Tiles in shared memory between two layouts: each element has a place, and the passes are the fewest."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlopt.dialects.layouts import LINE_BYTES, WARP, Axis, Layout, wavefronts
from mlopt.passes.gpu.layouts.spread import Spread
from mlopt.passes.gpu.threads.arrangement import Arrangement
from mlopt.passes.gpu.threads.arrangements import (
    arrangements,
    best_arrangement,
    cost,
    least_cost,
    with_groups,
)

SHAPES = st.lists(st.integers(1, 24), min_size=2, max_size=3)
WARPS = st.sampled_from([1, 2, 4, 8])
SIZES = st.sampled_from([1, 2, 4, 8])  # bytes of an element
SIDES = st.sampled_from([32, 64, 128])


def spread_of(
    shape: list[int],
    warps: int,
    width: int,
    order: list[int],
    line: int | None = None,
    own: int | None = None,
) -> Layout:
    """``own``: a dim that each thread has all of, as contractions want of the one they reduce."""
    dims = range(len(shape))
    spread = Spread(shape, [set(dims) - {dim} for dim in dims], warps)
    if own is not None:
        spread.put(own, {}, [(shape[own], 1)])
    spread.fill(order, width, line=line)
    return spread.layout([dim if size != 1 else None for dim, size in enumerate(shape)])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Layout, Layout, tuple[int, ...], int]:
    """Two layouts of a tile as mlopt-gpu-assign-layouts makes them, and the bytes of an element."""
    shape, warps, size = draw(SHAPES), draw(WARPS), draw(SIZES)
    dims = list(range(len(shape)))
    layouts = [
        spread_of(
            shape,
            warps,
            draw(st.sampled_from([1, 2, 4, 8, 16])),
            draw(st.permutations(dims)),
            draw(st.sampled_from([None, LINE_BYTES // size])),
            draw(st.sampled_from([None, *dims])),
        )
        for _ in range(2)
    ]
    return layouts[0], layouts[1], tuple(shape), size


def passes(how: Arrangement, layout: Layout, copies: bool) -> tuple[int, int]:
    """The passes of all accesses, thread by thread, and how many it would be without conflicts."""
    width, total, least = how.width(layout), 0, 0
    share = LINE_BYTES // max(how.element_bytes * width, 4)
    threads = [layout.thread_position(thread) for thread in range(layout.threads)]
    for register in layout.register_positions:
        if register[how.inner] % width:
            continue
        for first in range(0, layout.threads, WARP):
            addresses: list[int | None] = [None] * WARP
            for lane in range(WARP):
                position = tuple(
                    one + other for one, other in zip(threads[first + lane], register, strict=True)
                )
                inside = all(at < size for at, size in zip(position, how.sizes, strict=True))
                if inside and (copies or not (first + lane) & layout.copies):
                    addresses[lane] = how.place(position) * how.element_bytes
            total += wavefronts(addresses, width * how.element_bytes)
            shares = [addresses[at : at + share] for at in range(0, WARP, share)]
            least += sum(any(address is not None for address in some) for some in shares)
    return total, least


@settings(max_examples=10, deadline=None)
@given(pairs())
def test_the_best_arrangement_takes_the_fewest_passes(
    pair: tuple[Layout, Layout, tuple[int, ...], int],
) -> None:
    source, target, sizes, element_bytes = pair
    best = best_arrangement(*pair)
    found = cost(best, source, target)
    assert found[0] == passes(best, source, copies=False)[0] + passes(best, target, copies=True)[0]
    least = least_cost(*pair)
    for one in (*arrangements(sizes, element_bytes), *with_groups(sizes, element_bytes)):
        if one.adds_up(source) and one.adds_up(target):
            assert least <= found <= cost(one, source, target)


@settings(max_examples=25, deadline=None)
@given(pairs(), st.randoms(use_true_random=False))
def test_what_passes_are_counted(pair: tuple[Layout, Layout, tuple[int, ...], int], random) -> None:
    """As thread by thread, and without conflicts."""
    source, target, sizes, element_bytes = pair
    one = random.choice(list(arrangements(sizes, element_bytes, swizzled=True)))
    if one.adds_up(source) and one.adds_up(target):
        stores, loads = passes(one, source, copies=False), passes(one, target, copies=True)
        assert cost(one, source, target)[0] == stores[0] + loads[0]
        assert (one.stores(source).least, one.loads(target).least) == (stores[1], loads[1])


@settings(max_examples=40, deadline=None)
@given(SHAPES, SIZES, st.randoms(use_true_random=False))
def test_arrangements_give_each_position_a_place(shape: list[int], element_bytes: int, random) -> None:
    kinds = list(arrangements(shape, element_bytes, swizzled=True)), list(with_groups(shape, element_bytes))
    for one in (one for every in kinds for one in random.sample(every, min(len(every), 20))):
        places = {one.place(position) for position in product(*map(range, shape))}
        assert len(places) == prod(shape)
        assert max(places) < one.elements


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(16, 32), (64, 64), (32, 256), (48, 96), (128, 128)]),
    st.sampled_from([1, 2, 4]),
    WARPS,
    st.booleans(),
)
def test_swizzled_places_are_combined_by_zones(
    sizes: tuple[int, int], element_bytes: int, warps: int, turned: bool
) -> None:
    """A thread's place in a register's zone, and what the register adds."""
    layout = spread_of(list(sizes), warps, 16 // element_bytes, [int(turned), int(not turned)])
    found = [one for one in arrangements(sizes, element_bytes, swizzled=True) if one.chunks > 1]
    assert found
    for one in (each for each in found if each.adds_up(layout)):
        for thread, register in product((0, 5, 26, layout.threads - 1), layout.register_positions):
            own = layout.thread_position(thread)
            together = [a + b for a, b in zip(own, register, strict=True)]
            row, column = own[one.rows], own[one.inner]
            begins = row * one.strides[one.rows] + row // one.group * one.gap
            begins += column ^ one.turn(row) ^ one.zone(register)
            assert one.place(together) == begins + one.further(register)


@settings(max_examples=30, deadline=None)
@given(SIDES, SIDES, SIZES, st.sampled_from([2, 4, 8]))
def test_a_transpose_has_no_bank_conflicts(rows: int, columns: int, element_bytes: int, warps: int) -> None:
    """Each pass over the banks of shared memory gives 128 bytes, or an element to every lane."""
    registers = rows * columns // (32 * warps)
    width = min(16 // element_bytes, registers)
    source = spread_of([rows, columns], warps, width, [1, 0])
    target = spread_of([rows, columns], warps, width, [0, 1], LINE_BYTES // element_bytes)
    one = best_arrangement(source, target, (rows, columns), element_bytes)
    for layout in (source, target):
        found, least = passes(one, layout, copies=True)
        assert (
            found
            == least
            == max(registers * element_bytes * warps // 4, registers // one.width(layout) * warps)
        )


@pytest.mark.parametrize(
    ("source", "target", "sizes", "element_bytes"),
    [
        # Attention's scores: pairs of columns by four rows; then a row a warp.
        (
            "reg 2:(0,1) lane 8:(0,2) 4:(1,0) warp 2:(4,0) 2:(0,16)",
            "reg 2:(4,0) lane 32:(0,1) warp 4:(1,0)",
            (7, 19),
            4,
        ),
        # A contraction's factor, with a dim of one element between.
        (
            "reg 2:(0,0,0,4) lane 4:(0,0,0,1) 8:(0,1,0,0) warp 4:(0,8,0,0)",
            "reg 4:(0,0,0,1) lane 2:(0,0,0,4) 16:(0,1,0,0) warp 2:(0,16,0,0) 2:(0,0,0,0)",
            (1, 17, 1, 8),
            4,
        ),
        # Planes of odd rows.
        (
            "reg 3:(0,0,4) lane 16:(0,1,0) 2:(1,0,0) warp 4:(0,0,1)",
            "reg 3:(0,4,0) lane 16:(0,0,1) 2:(1,0,0) warp 4:(0,1,0)",
            (2, 9, 9),
            1,
        ),
    ],
)
def test_odd_tiles_have_no_bank_conflicts(
    source: str, target: str, sizes: tuple[int, ...], element_bytes: int
) -> None:
    one, other = Layout.parse(source), Layout.parse(target)
    how = best_arrangement(one, other, sizes, element_bytes)
    for layout, copies in ((one, False), (other, True)):
        found, least = passes(how, layout, copies)
        assert found == least


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(2, 2), (4, 4), (2, 4), (4, 2), (8, 2), (2, 8), (2, 2, 2), (8, 4)]),
    st.sampled_from([16, 32, 64]),
    st.sampled_from([8, 16, 32, 64]),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_results_of_convolutions_have_no_bank_conflicts(
    image: tuple[int, ...], rows: int, channels: int, element_bytes: int, loads: bool
) -> None:
    """Between the layout of products and that of wide accesses, where rows are places of a few images."""
    count = max(rows // prod(image), 1)
    sizes = *([count] if count > 1 else []), *image, channels
    wide = 16 // element_bytes
    product_ = layout_by_rows(sizes, [(8, 0), (0, 1)], [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], (16, 8))
    stored = layout_by_rows(sizes, [(0, 1 << bit) for bit in range(wide.bit_length() - 1)], [], (1, wide))
    source, target = (stored, product_) if loads else (product_, stored)
    how = best_arrangement(source, target, sizes, element_bytes)
    for layout, copies in ((source, False), (target, True)):
        found, least = passes(how, layout, copies)
        assert found == least


def layout_by_rows(
    sizes: tuple[int, ...],
    registers: list[tuple[int, int]],
    bits: list[tuple[int, int]],
    covered: tuple[int, int],
) -> Layout:
    """A layout of four warps whose steps are rows, of all dims but the last, and columns.

    ``covered`` by ``registers`` and ``bits``: thread bits go on along columns, then rows, then registers do.
    """
    (row, column), bits, registers = covered, list(bits), list(registers)
    while len(bits) < 7 or row < prod(sizes[:-1]) or column < sizes[-1]:
        step = (0, column) if column < sizes[-1] else (row, 0) if row < prod(sizes[:-1]) else (0, 0)
        (bits if len(bits) < 7 else registers).append(step)
        row, column = (row, 2 * column) if step[1] else (2 * row, column)

    def position(step: tuple[int, int]) -> tuple[int, ...]:
        strides = [prod(sizes[dim + 1 : -1]) for dim in range(len(sizes) - 1)]
        return *(step[0] // stride % size for stride, size in zip(strides, sizes[:-1], strict=True)), step[1]

    return Layout(
        len(sizes), tuple(Axis(2, position(step)) for step in registers), tuple(map(position, bits))
    )


@settings(max_examples=20, deadline=None)
@given(SHAPES, WARPS, st.sampled_from([1, 2, 4, 8]), SIZES, st.randoms(use_true_random=False))
def test_places_add_up_where_they_are_said_to(
    shape: list[int], warps: int, width: int, element_bytes: int, random
) -> None:
    layout = spread_of(shape, warps, width, list(reversed(range(len(shape)))))
    every = *arrangements(shape, element_bytes), *with_groups(shape, element_bytes)
    fitting = [one for one in every if one.adds_up(layout)]
    assert any(one.gap == 0 for one in fitting)
    for one in random.sample(fitting, min(len(fitting), 50)):
        for thread in (0, 1, 6, 21, layout.threads - 1):
            own = layout.thread_position(thread)
            for register in layout.register_positions:
                together = [a + b for a, b in zip(own, register, strict=True)]
                assert one.place(together) == one.place(own) + one.place(register)


def test_a_row_has_gaps_between_lines_where_lanes_have_two_accesses_each() -> None:
    """Weights of 64 channels, loaded four a lane, and wanted eight a lane as halves of a row are."""
    four, eight = "reg 4:(1) lane 16:(4) 2:(0) warp 4:(0)", "reg 8:(1) lane 8:(8) 4:(0) warp 4:(0)"
    layouts = Layout.parse(four), Layout.parse(eight)
    best = best_arrangement(*layouts, (64,), 4)
    assert (best.group, best.gap, best.elements) == (32, 4, 68)
    assert cost(best, *layouts) == least_cost(*layouts, (64,), 4)
    assert len({best.place((at,)) for at in range(64)}) == 64
