"""Blocks of products on tensor cores: cases whose best answer is known, and what holds for all of them."""

from __future__ import annotations

from math import ceil, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlopt.passes.costs.machine import find_machine, machine_names
from mlopt.passes.gpu.layouts.warps import REGISTERS
from mlopt.passes.scheduling.block_times import Estimate, estimates, overlapped
from mlopt.passes.scheduling.tensor_blocks import RESERVED, SHARED, WARP, Product

GPUS = [name for name in machine_names() if find_machine(name).chips]


def product(rows: int, columns: int, depth: int, kind: str = "bf16", loose: bool = False) -> Product:
    return Product(rows, columns, depth, 1, kind, 1 if kind == "i8" else 2, 2, loose)


def best(rows: int, columns: int, depth: int, **others: str) -> Estimate:
    return estimates(product(rows, columns, depth, **others), "a100", SHARED)[0]


@pytest.mark.parametrize("size", [4096, 8192])
def test_large_products_have_large_blocks(size: int) -> None:
    """128 x 256 or 256 x 128, three stages or more; within a fifth of the tensor cores' peak."""
    found = best(size, size, size)
    assert {found.block.rows, found.block.columns} == {128, 256}
    assert found.block.stages >= 3
    peak = 2 * size**3 / find_machine("a100").matrix["bf16"]
    assert peak < found.seconds < 1.2 * peak
    assert found.bound_by == "arithmetic"


@pytest.mark.parametrize("rows", [1, 7, 16])
@pytest.mark.parametrize(("columns", "depth"), [(4096, 4096), (14336, 4096), (4096, 14336)])
def test_few_rows_are_bound_by_the_weights_bytes(rows: int, columns: int, depth: int) -> None:
    """A single tile of rows, weights are read once, and within a fifth of the time that this takes."""
    found = best(rows, columns, depth)
    assert found.block.rows == 16
    least = 2 * columns * depth / find_machine("a100").bandwidth
    assert least < found.seconds < 1.2 * least
    assert found.bound_by == "memory"


def test_blocks_are_smaller_where_large_ones_would_not_fill_the_chip() -> None:
    found = best(512, 512, 512)
    assert ceil(512 / found.block.rows) * ceil(512 / found.block.columns) > 54


def test_waves_are_counted() -> None:
    """One block more than the chip holds takes a wave more."""
    one, more = (best(128 * 12, 128 * wide, 4096) for wide in (18, 19))
    sides = (128, 128)
    full, over = (
        next(
            each
            for each in estimates(product(128 * 12, 128 * wide, 4096), "a100", SHARED)
            if (each.block.rows, each.block.columns) == sides
        )
        for wide in (18, 19)
    )
    assert over.seconds > 1.3 * full.seconds
    assert one.seconds <= full.seconds and more.seconds <= over.seconds


sizes = st.integers(1, 20000)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, st.sampled_from(["bf16", "f16", "i8"]), st.booleans(), st.sampled_from(GPUS))
def test_all_that_are_possible_fit(
    rows: int, columns: int, depth: int, kind: str, loose: bool, machine: str
) -> None:
    asked = product(rows, columns, depth, kind, loose)
    found = estimates(asked, machine, SHARED)
    assert found
    known = find_machine(machine)
    for each in found:
        block = each.block
        assert block.registers(asked, aligned=False) * block.warps * WARP * each.least <= REGISTERS
        assert (block.slot(asked.bytes) * block.stages + RESERVED) * each.least <= SHARED
        assert prod(block.part) * block.warps >= block.rows * block.columns
        assert each.seconds >= 2 * rows * columns * depth / known.matrix[kind]
        assert each.seconds >= (rows + columns) * depth * asked.bytes / known.bandwidth
    assert [each.seconds for each in found] == sorted(each.seconds for each in found)


def test_what_a_task_owns_is_kept() -> None:
    found = estimates(product(512, 200, 40), "a100", SHARED, None, 200)
    assert {each.block.columns for each in found} == {200}
    assert estimates(product(512, 9000, 40), "a100", SHARED, None, 9000) == []


def test_overlapped() -> None:
    assert overlapped(0.0, 0.0) == 0.0
    assert overlapped(3.0, 0.0) == 3.0
    assert 4.0 < overlapped(4.0, 3.0) < 7.0
