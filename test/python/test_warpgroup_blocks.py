"""Blocks of warpgroups: which are chosen, and that what is predicted of them is made by them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlir import ir
from mlopt.dialects.context import make_context
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.scheduling.block_times import estimates
from mlopt.passes.scheduling.tensor_blocks import Product
from mlopt.passes.scheduling.warpgroup_blocks import WarpgroupBlock, product_estimates, warpgroup_blocks
from mlopt.pipelines.driver import run_pipeline
from mlopt.runtime.cuda.chips import find_chip

sys.path.insert(0, str(Path(__file__).parent))
from gpu_kernels import pipelines
from gpu_products import product

MACHINE, SHARED = "h100", find_chip("sm_90a").limits.shared


def plain(rows: int, columns: int, depth: int, kind: str = "bf16", **others: object) -> Product:
    size = {"i8": 1, "tf32": 4}.get(kind, 2)
    return Product(rows, columns, depth, 1, kind, size, 2, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "kind"), [(4096, "bf16"), (8192, "bf16"), (4096, "tf32")])
def test_large_products_have_two_warpgroups(size: int, kind: str) -> None:
    """128 x 256 or 256 x 128; what single warps reach is less than it costs to wait for memory."""
    one = plain(size, size, size, kind)
    best = estimates(one, MACHINE, SHARED, others=tuple(warpgroup_blocks(one, None, None)))[0]
    assert isinstance(best.block, WarpgroupBlock)
    assert {best.block.rows, best.block.columns} == {128, 256}
    assert best.block.warps == 8 and best.block.stages >= 3
    single = estimates(one, MACHINE, SHARED)[0]
    assert single.seconds > 2 * size**3 / (find_machine(MACHINE).matrix[kind] * 0.7) > 0.7 * best.seconds


def test_few_rows_stay_with_single_warps() -> None:
    one = plain(16, 4096, 4096)
    assert not tuple(warpgroup_blocks(one, None, None))


@pytest.mark.parametrize(
    "others",
    [
        {"loose": True},
        {"around": 9},
        {"sums": 2},
        {"kind": "i8", "turned": (False, True)},
        {"kind": "tf32", "turned": (True, False)},
    ],
)
def test_products_that_warpgroups_may_not_make(others: dict[str, Any]) -> None:
    assert not tuple(warpgroup_blocks(plain(512, 512, 512, **others), None, None))


@pytest.mark.parametrize(
    ("kind", "left", "right", "depth"),
    [
        ("bf16", False, False, 512),
        ("f16", True, True, 512),
        ("i8", False, True, 512),
        ("tf32", False, True, 512),
        ("bf16", False, True, 64),  # a step that has all of it would be no loop, and by single warps
    ],
)
def test_blocks_are_made(kind: str, left: bool, right: bool, depth: int) -> None:
    """The passes take the blocks of a product, of which every third is looked at."""
    to_threads = pipelines("sm_90a", None)[1].split(",mlopt-gpu-assign-layouts")[0] + ")"
    text = product(512, 512, depth, kind, left, right)
    blocks = [each for each in warpgroup_blocks(plain(512, 512, depth, kind), None, None) if each.stages == 2]
    assert len(blocks) > 20
    for block in blocks[::3]:
        tile = f"{block.rows}, {block.columns}, {block.step}"
        schedule = f"warps = array<i64: {block.warps}>, stages = array<i64: 2>, tile = array<i64: {tile}>"
        schedule += ", tf32 = array<i64: 1>" * (kind == "tf32")
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            kernel = module.body.operations[0]
            kernel.attributes["mlopt.schedule"] = ir.Attribute.parse(f"{{{schedule}}}")
            run_pipeline(module.operation, "builtin.module(mlopt-tile)")
            run_pipeline(module.operation, to_threads)
            groups = block.columns // block.part[1]
            assert f'"m64n{block.columns // groups}k' in str(module), block


@pytest.mark.parametrize(
    ("size", "behind", "wanted"),
    [
        ((4096, 4096, 512), 36, True),  # a GELU takes as long as 8 steps
        ((4096, 4096, 4096), 36, False),
        ((4096, 4096, 512), 3, False),
        ((4096, 4096, 128), 3, True),
        ((512, 512, 512), 36, False),  # less than a tile for each multiprocessor
    ],
)
def test_warpgroups_take_turns(size: tuple[int, int, int], behind: int, wanted: bool) -> None:
    """Where what comes behind the product takes long beside it; never where other than elements come."""
    seconds = behind / (find_machine(MACHINE).vector["f32"] / 2)
    one = plain(*size, staged=2, behind=seconds, goes_on=True)
    best, *others = product_estimates(one, MACHINE, SHARED, warpgroups=True)
    assert best.block.alternates == (" in turn, " in str(best)) == wanted
    assert any(each.block.alternates for each in others) == (size[0] > 512)
    last = product_estimates(replace(one, goes_on=False), MACHINE, SHARED, warpgroups=True)
    assert not any(each.block.alternates for each in last)
