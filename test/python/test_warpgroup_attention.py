"""Which blocks of attention are left to warpgroups, and to single warps, by the model of an H100."""

from __future__ import annotations

import pytest
from mlopt.passes.scheduling.attention_blocks import Attention, estimates
from mlopt.passes.scheduling.warpgroup_attention import WarpgroupBlock, warpgroup_blocks

SHARED = 228 * 1024


def asked(rows: int, keys: int, width: int, **more: int) -> Attention:
    return Attention(rows, keys, width, width, count=32, kind="bf16", bytes=2, **more)


@pytest.mark.parametrize("width", [64, 128, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_long_rows_are_warpgroups(width: int, causal: bool) -> None:
    """Two of them have room: blocks that the tests assemble without spills."""
    attention = asked(4096, 4096, width, causal=causal)
    best, *_ = estimates(attention, "h100", SHARED, tuple(warpgroup_blocks(attention)))
    assert isinstance(best.block, WarpgroupBlock)
    assert (best.block.rows, best.block.warps) == (128, 8)
    assert best.block.shared(attention) <= SHARED - 1024


def test_masks_that_are_not_read_ahead_are_left_to_warps() -> None:
    attention = asked(4096, 4096, 64, score_bytes=2)
    best, *_ = estimates(attention, "h100", SHARED, tuple(warpgroup_blocks(attention)))
    assert not isinstance(best.block, WarpgroupBlock)


@pytest.mark.parametrize(("rows", "keys", "width"), [(40, 4096, 64), (4096, 32, 64), (4096, 4096, 96)])
def test_what_warpgroups_cannot_have(rows: int, keys: int, width: int) -> None:
    """Fewer rows than 64, one step of keys, rows of 192 bytes."""
    assert not list(warpgroup_blocks(asked(rows, keys, width)))
