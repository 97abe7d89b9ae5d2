"""Threads that have all tasks of short inner loops: rows of windows side by side hold what the image has."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt import emulator
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu


class Windows(nn.Module):
    """Each filter takes one place of one channel: the results are the windows' elements, as they are."""

    def __init__(self, places: int, channels: int, stride: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.stride, self.padding = stride, places // 2
        size = channels * places * places
        self.register_buffer("weight", torch.eye(size, dtype=dtype).reshape(size, channels, places, places))

    def forward(self, x: Tensor) -> Tensor:
        """A convolution."""
        return F.conv2d(x, self.weight, stride=self.stride, padding=self.padding)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("dtype", "shape", "places", "inner"),
    [
        (torch.float16, (1, 3, 58, 64), 7, "24, 4"),
        (torch.bfloat16, (2, 3, 58, 32), 7, "24, 4"),
        (torch.bfloat16, (1, 5, 62, 64), 3, "24, 4"),
        (torch.float16, (1, 3, 57, 33), 7, None),  # some thread would have none
    ],
)
def test_rows_of_windows(
    dtype: torch.dtype, shape: tuple[int, ...], places: int, inner: str | None, chip: str
) -> None:
    x = torch.randn(shape).to(dtype)
    x[0, :, ::3] = -0.0
    x[0, :, 1::5] = 2.0**-24  # a denormal of f16
    module = Windows(places, shape[1], 2, dtype)
    compiled = mlopt.jit(module, x, target=f"cuda:{chip}", device="emulator")
    found = re.findall(r"\binner = array<i64: ([\d, ]+)>", compiled.asm["layouts"])
    assert found == ([inner] if inner else [])
    assert torch.equal(compiled(x), module(x))


@dataclass(frozen=True)
class Beside:
    """Rows of windows of ``places``, of which ``kept`` are read, ``step`` apart, ``before`` of padding first.

    ``windows``: in a row of an image's, ``shape``; ``each``: how many a thread has.
    """

    dtype: type
    shape: tuple[int, int, int]
    windows: int
    places: int
    kept: int
    step: int
    before: int
    each: int

    @property
    def text(self) -> str:
        """A kernel's tiles; rows are read from one before the first on."""
        kind = {np.float16: "f16", np.float32: "f32", np.int8: "i8"}[self.dtype]
        zero = "0" if kind == "i8" else "0.0"
        channels, high, wide = self.shape
        image = f"memref<{channels}x{high}x{wide}x{kind}>"
        rows = f"memref<{high}x{self.windows}x{self.places}x{channels}x{kind}>"
        tile = f"vector<1x1x1x1x{kind}>"
        loops = f"{high}, {self.windows}, {self.places}, {channels}"
        return f"""
            #row = affine_map<(d0) -> (d0 - 1)>
            #place = affine_map<(d0, d1) -> (d0 * {self.step} + d1 - {self.before})>
            func.func private @windows(%x: {image}, %out: {rows}) attributes {{mlopt.kernel}} {{
              %kept = arith.constant {self.kept} : index
              %pad = arith.constant {zero} : {kind}
              %none = arith.constant dense<{zero}> : {tile}
              scf.forall (%h, %j, %l, %c) in ({loops}) {{
                %row = affine.apply #row(%h)
                %at = affine.apply #place(%j, %l)
                %is = arith.cmpi ult, %l, %kept : index
                %r = vector.transfer_read %x[%c, %row, %at], %pad {{in_bounds = [true, false, false]}}
                    : {image}, vector<1x1x1x{kind}>
                %v = vector.shape_cast %r : vector<1x1x1x{kind}> to {tile}
                %all = vector.broadcast %is : i1 to vector<1x1x1x1xi1>
                %w = arith.select %all, %v, %none : vector<1x1x1x1xi1>, {tile}
                vector.transfer_write %w, %out[%h, %j, %l, %c] {{in_bounds = [true, true, true, true]}}
                    : {tile}, {rows}
              }} {{mlopt.schedule = {{min_blocks = array<i64: 8>, tile = array<i64: 1, 1, 1, 1>,
                                      warps = array<i64: 4>}}}}
              return
            }}"""

    def wanted(self, x: np.ndarray) -> np.ndarray:
        """The rows."""
        channels, high, wide = self.shape
        made = np.zeros((high, self.windows, self.places, channels), self.dtype)
        for row, window, place in np.ndindex(high, self.windows, self.kept):
            at = window * self.step + place - self.before
            if row > 0 and 0 <= at < wide:
                made[row, window, place] = x[:, row - 1, at]
        return made


BESIDE = {
    # A row's 16 groups of windows are a warp's, or 28 are those of one and some of the next one's, as 40.
    "sevens": Beside(np.float16, (3, 5, 128), 64, 8, 7, 2, 3, 4),
    "across warps": Beside(np.float16, (3, 5, 224), 112, 8, 7, 2, 3, 4),
    "longer than a warp": Beside(np.float16, (3, 3, 320), 160, 8, 7, 2, 3, 4),
    # Without padding rows go on behind the last window's part, by a whole access, or more.
    "rows go on": Beside(np.float16, (3, 5, 40), 16, 8, 8, 2, 0, 4),
    "one group": Beside(np.float16, (3, 7, 16), 4, 8, 7, 2, 3, 4),
    "floats": Beside(np.float32, (3, 6, 24), 12, 4, 3, 2, 1, 2),
    "neighbours": Beside(np.float16, (2, 6, 64), 64, 8, 3, 1, 1, 8),
    "from further": Beside(np.float16, (3, 4, 128), 32, 8, 7, 2, 9, 1),  # a window by itself
    "in place": Beside(np.float16, (6, 6, 32), 16, 4, 2, 2, 0, 4),
}


@pytest.mark.parametrize("shift", [0, 4])
@pytest.mark.parametrize("name", BESIDE)
def test_windows_beside_each_other(name: str, shift: int) -> None:
    case = BESIDE[name]
    kernel = gpu.compile_tiles(case.text)
    x = np.random.default_rng(7).standard_normal(case.shape).astype(case.dtype)
    x[0, ::2, ::5], x[1, :, 1::7], x[0, 1::3, ::3] = np.nan, -np.inf, -0.0
    wanted = case.wanted(x)
    with emulator.record() as reports:
        for order in ("ahead", "random"):
            options = emulator.Options(schedule=order, seed=7)
            arguments = [x, np.ones_like(wanted)]
            (found,) = gpu.run_kernel(kernel, arguments, shift=shift, options=options)
            assert found.tobytes() == wanted.tobytes()
    assert not [finding for report in reports for finding in report.findings]
    assert all(report.counters.bank_conflicts == 0 for report in reports)
    groups, own = wanted.size // (wanted[0, 0].size * case.each), wanted[0, 0].nbytes * case.each
    launched = ("windows_unaligned", 0) if shift else ("windows", 128 * own)
    assert kernel.launches[0] == (launched[0], -(-groups // 128), 128, launched[1])
