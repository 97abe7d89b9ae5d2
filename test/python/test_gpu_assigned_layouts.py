"""What mlopt-gpu-assign-layouts says of random kernels: layouts agree, cover tiles, allow wide accesses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlopt.dialects.attributes import LAYOUT
from mlopt.dialects.context import make_context
from mlopt.dialects.layouts import Layout
from mlopt.passes.gpu.assign_layouts import TRANSFERS
from mlopt.passes.gpu.layouts.access import WIDE, access_of
from mlopt.passes.gpu.layouts.coalescing import is_scattered
from mlopt.passes.gpu.layouts.tiles import links, sizes_of
from mlopt.passes.operations import nested_ops, ops_named
from mlopt.pipelines.cuda import cuda_stages
from mlopt.pipelines.driver import run_pipeline

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
from test_gpu_fuzz import make_case
from test_gpu_layouts import holders

CONVERT = "mlopt.convert_layout"


class Kernel:
    """A random kernel of tiles, and the layout of each."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        case = make_case(rng)
        stages = {stage.name: stage.passes for stage in cuda_stages("sm_80", 80)}
        self.note = case.note
        self.module = ir.Module.parse(case.text)
        run_pipeline(self.module.operation, f"builtin.module({stages['tile']})")
        gpu.set_warps(self.module, int(rng.choice([1, 2, 4, 8])))
        run_pipeline(self.module.operation, f"builtin.module({stages['layouts']})")
        (self.forall,) = ops_named(self.module.operation, "scf.forall")
        self.ops = nested_ops(self.forall.regions[0].blocks[0])
        self.layouts: dict[ir.Value, Layout] = {}
        for op in self.ops:
            for number, text in enumerate(LAYOUT.get(op) or ()):
                if text:
                    self.layouts[op.results[number]] = Layout.parse(text)
                    if op.name == "scf.for":
                        carried = op.regions[0].blocks[0].arguments[1 + number]
                        self.layouts[carried] = Layout.parse(text)

    def transfers(self) -> Iterator[tuple[ir.Operation, Layout]]:
        """The accesses, each with its tile's layout."""
        for op in self.ops:
            if op.name in TRANSFERS and access_of(op).tile in self.layouts:
                yield op, self.layouts[access_of(op).tile]


def along(layout: Layout, dim: int) -> tuple[list[int], list[tuple[int, int]]]:
    """What a layout says of one dim: the steps of thread bits and of registers."""
    registers = [(axis.extent, axis.step[dim]) for axis in layout.registers if axis.step[dim]]
    return [step[dim] for step in layout.bits], registers


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_layouts_of_random_kernels(seed: int) -> None:
    with make_context(), ir.Location.unknown():
        kernel = Kernel(seed)
        check_projections(kernel)
        check_coverage(kernel)
        check_accesses(kernel)
        check_conversions(kernel)


def check_projections(kernel: Kernel) -> None:
    """Dims that run along with each other are spread alike."""
    for op in kernel.ops:
        if op.name == CONVERT:
            continue
        for number, found in links(op):
            for dim, other, at in found:
                one = op.operands[number]
                if one in kernel.layouts and other in kernel.layouts and sizes_of(one)[dim] != 1:
                    assert along(kernel.layouts[one], dim) == along(kernel.layouts[other], at), (
                        kernel.note,
                        str(op),
                    )


def check_coverage(kernel: Kernel) -> None:
    """Each element of a tile has as many holders as the layout has copies."""
    seen = set()
    for tile, layout in kernel.layouts.items():
        key = (str(layout), tuple(sizes_of(tile)))
        if key not in seen and np.prod(key[1]) <= 2048:
            seen.add(key)
            found = holders(layout, list(key[1]))
            assert len(found) == np.prod(key[1]), (kernel.note, key)
            assert set(found.values()) == {1 << layout.copies.bit_count()}, (kernel.note, key)


def check_accesses(kernel: Kernel) -> None:
    """The widest access begins at multiples of its width, in memory and in the thread's registers."""
    for op, layout in kernel.transfers():
        access = access_of(op)
        inner = access.contiguous()
        width = 1 if inner is None else min(layout.run(inner), access.width())
        assert width * access.element_bytes <= WIDE
        if inner is None:
            continue
        for stride in (access.strides[access.dims[dim]] for dim in access.order()[1:]):
            assert stride is None or stride % width == 0, (kernel.note, str(op))
        for thread in range(layout.threads):
            assert layout.thread_position(thread)[inner] % width == 0
    assert any(True for _ in kernel.transfers())


def check_conversions(kernel: Kernel) -> None:
    """A tile changes hands, or the order of its registers, only for an access that would be scattered."""
    for op in (op for op in kernel.ops if op.name == CONVERT):
        source, result = op.operands[0], op.results[0]
        if source not in kernel.layouts:
            continue  # one scalar at all positions: nothing moves
        before, after = kernel.layouts[source], kernel.layouts[result]
        assert str(before) != str(after), (kernel.note, str(op))
        maker = None if isinstance(source.owner, ir.Block) else source.owner.operation
        read = maker is not None and maker.name in TRANSFERS and is_scattered(access_of(maker), after)
        users = [use.owner for use in result.uses]
        written = [user for user in users if user.name in TRANSFERS and is_scattered(access_of(user), before)]
        assert read or written, (kernel.note, str(op))
