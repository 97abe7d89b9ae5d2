"""Blocks of attention on tensor cores: cases whose best answer is known, and what holds for all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlopt.passes.costs.machine import find_machine, machine_names
from mlopt.passes.gpu.layouts.warps import REGISTERS
from mlopt.passes.scheduling.attention_blocks import Attention, Block, estimates
from mlopt.passes.scheduling.block_times import Estimate
from mlopt.passes.scheduling.tensor_blocks import RESERVED, SHARED, WARP

GPUS = [name for name in machine_names() if find_machine(name).chips]
LONG = Attention(4096, 4096, 64, 64, 32, "bf16", 2)


def best(asked: Attention) -> Estimate[Block]:
    return estimates(asked, "a100", SHARED)[0]


def test_long_sequences_have_many_rows() -> None:
    """32 a warp and 128 a multiprocessor or more, at over a half of the tensor cores' peak."""
    found = best(LONG)
    assert found.block.rows >= 128 and found.block.own == 32
    peak = 2 * 4096 * 4096 * 128 * 32 / find_machine("a100").matrix["bf16"]
    assert peak < found.seconds < 2 * peak


def test_short_ones_have_blocks_for_the_chip() -> None:
    found = best(replace(LONG, rows=128, keys=128, count=12))
    assert 12 * 128 / found.block.rows >= 24


def test_a_causal_one_takes_about_half_as_long() -> None:
    long = replace(LONG, rows=16384, keys=16384)
    assert 0.5 < best(replace(long, causal=True)).seconds / best(long).seconds < 0.55


def test_a_mask_costs_time() -> None:
    masked = replace(LONG, score_bytes=2, mask_bytes=2 * 4096 * 4096)
    assert best(masked).seconds > best(LONG).seconds


@pytest.mark.parametrize(
    ("width", "block", "spilled"),
    [  # as ptxas 13.0 has found them for the kernel and its twin, causal, of 1000 or 4096 rows
        (64, Block(128, 64, 4, 2), False),
        (64, Block(128, 128, 4, 2), True),
        (96, Block(128, 64, 4, 2), True),
        (96, Block(128, 128, 8, 2), False),
        (128, Block(64, 64, 4, 2), False),
        (128, Block(128, 32, 4, 3), True),
        (128, Block(256, 32, 8, 2), True),
        (128, Block(128, 64, 4, 2), True),
        (128, Block(64, 32, 2, 2), True),
        (192, Block(64, 64, 4, 2), True),
        (192, Block(128, 64, 8, 2), True),
        (192, Block(128, 32, 8, 4), False),
        (256, Block(32, 32, 2, 2), True),
        (256, Block(128, 32, 8, 2), False),
    ],
)
def test_what_spills_is_not_possible(width: int, block: Block, spilled: bool) -> None:
    asked = Attention(1000, 1000, width, width, 8, "f16", 2, causal=True)
    assert (block.resident(asked, SHARED, aligned=False) == 0) == spilled


sizes = st.integers(1, 5000)
widths = st.sampled_from([32, 40, 64, 96, 128, 192, 256])


@settings(max_examples=40, deadline=None)
@given(sizes, sizes, widths, widths, st.integers(1, 256), st.booleans(), st.sampled_from(GPUS))
def test_all_that_are_possible_fit(
    rows: int, keys: int, depth: int, width: int, count: int, masked: bool, machine: str
) -> None:
    asked = Attention(rows, keys, depth, width, count, "f16", 2, 2 * masked, 2 * masked * rows * keys)
    found = estimates(asked, machine, SHARED)
    assert found
    known = find_machine(machine)
    for each in found:
        block = each.block
        assert block.registers(asked, aligned=False) * block.warps * WARP * each.least <= REGISTERS
        assert (block.shared(asked) + RESERVED) * each.least <= SHARED
        assert each.seconds >= 2 * rows * keys * (depth + width) * count / known.matrix["f16"]
        assert each.seconds >= (rows + keys) * (depth + width) * count * 2 / known.bandwidth
    assert [each.seconds for each in found] == sorted(each.seconds for each in found)


def test_rows_of_too_many_elements_have_no_block() -> None:
    assert estimates(replace(LONG, width=512), "a100", SHARED) == []
