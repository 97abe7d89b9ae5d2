"""Special registers: what each lane reads from them, section 10 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .batch import Batch

Make = Callable[[Batch], Any]
SPECIAL: dict[str, Make] = {}


def _constant(value: int) -> Make:
    return lambda batch: np.uint32(value)


def _thread(axis: int) -> Make:
    def make(batch: Batch) -> Any:
        x, y, _ = batch.launch.block
        thread = batch.shape.thread
        return (thread % np.uint32(x), thread // np.uint32(x) % np.uint32(y), thread // np.uint32(x * y))[
            axis
        ]

    return make


def _block(axis: int) -> Make:
    def make(batch: Batch) -> Any:
        x, y, _ = batch.launch.grid
        number = batch.blocks[batch.shape.block].astype(np.uint32)
        return (number % np.uint32(x), number // np.uint32(x) % np.uint32(y), number // np.uint32(x * y))[
            axis
        ]

    return make


def _size(name: str, axis: int) -> Make:
    return lambda batch: np.uint32(getattr(batch.launch, name)[axis])


def _in_cluster(axis: int, part: str) -> Make:
    """A block's place in the grid of clusters, or in its cluster."""

    def make(batch: Batch) -> Any:
        size = np.uint32(batch.launch.clusters.shape[axis])
        block = _block(axis)(batch)
        return block // size if part == "//" else block % size

    return make


def _clusters(axis: int) -> Make:
    return lambda batch: np.uint32(batch.launch.grid[axis] // batch.launch.clusters.shape[axis])


def _cluster_size(axis: int) -> Make:
    return lambda batch: np.uint32(batch.launch.clusters.shape[axis])


def _lanes_compared(compare: Callable[[Any, Any], Any]) -> Make:
    def make(batch: Batch) -> Any:
        lane = np.arange(32)
        bits = [sum(1 << other for other in range(32) if compare(other, mine)) for mine in lane]
        return np.array(bits, np.uint32)[batch.shape.lane]

    return make


def _clock(shift: int, dtype: type) -> Make:
    return lambda batch: dtype(batch.launch.clock >> shift & int(np.iinfo(dtype).max))


for _axis, _letter in enumerate("xyz"):
    SPECIAL[f"%tid.{_letter}"] = _thread(_axis)
    SPECIAL[f"%ntid.{_letter}"] = _size("block", _axis)
    SPECIAL[f"%ctaid.{_letter}"] = _block(_axis)
    SPECIAL[f"%nctaid.{_letter}"] = _size("grid", _axis)
    SPECIAL[f"%clusterid.{_letter}"] = _in_cluster(_axis, "//")
    SPECIAL[f"%nclusterid.{_letter}"] = _clusters(_axis)
    SPECIAL[f"%cluster_ctaid.{_letter}"] = _in_cluster(_axis, "%")
    SPECIAL[f"%cluster_nctaid.{_letter}"] = _cluster_size(_axis)
SPECIAL["%laneid"] = lambda batch: batch.shape.lane
SPECIAL["%warpid"] = lambda batch: batch.shape.thread >> np.uint32(5)
SPECIAL["%nwarpid"] = lambda batch: np.uint32(batch.launch.chip.limits.warps)
SPECIAL["%smid"] = lambda batch: (batch.blocks[batch.shape.block] % batch.launch.chip.processors).astype(
    np.uint32
)
SPECIAL["%nsmid"] = lambda batch: np.uint32(batch.launch.chip.processors)
SPECIAL["%gridid"] = _constant(1)
SPECIAL["%cluster_ctarank"] = lambda batch: (batch.shape.block % batch.shape.cluster).astype(np.uint32)
SPECIAL["%cluster_nctarank"] = lambda batch: np.uint32(batch.shape.cluster)
SPECIAL["%is_explicit_cluster"] = lambda batch: np.bool_(batch.launch.clusters.explicit)
SPECIAL["%lanemask_eq"] = _lanes_compared(lambda other, mine: other == mine)
SPECIAL["%lanemask_lt"] = _lanes_compared(lambda other, mine: other < mine)
SPECIAL["%lanemask_le"] = _lanes_compared(lambda other, mine: other <= mine)
SPECIAL["%lanemask_gt"] = _lanes_compared(lambda other, mine: other > mine)
SPECIAL["%lanemask_ge"] = _lanes_compared(lambda other, mine: other >= mine)
SPECIAL["%dynamic_smem_size"] = lambda batch: np.uint32(batch.launch.dynamic_shared)
SPECIAL["%total_smem_size"] = lambda batch: np.uint32(batch.launch.shared_size)
SPECIAL["%aggr_smem_size"] = lambda batch: np.uint32(batch.launch.shared_size)
CLOCKS = {
    "%clock": _clock(0, np.uint32),
    "%clock_hi": _clock(32, np.uint32),
    "%clock64": _clock(0, np.uint64),
}
CLOCKS |= {"%globaltimer": _clock(0, np.uint64), "%globaltimer_lo": _clock(0, np.uint32)}
CLOCKS |= {"%globaltimer_hi": _clock(32, np.uint32)}
SPECIAL |= CLOCKS  # these are read anew each time
