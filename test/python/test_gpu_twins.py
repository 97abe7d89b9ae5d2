"""Gates of twins for what is unaligned: their requests, the bytes that memory moves, banks, registers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels
from gpu_numbers import numbers, pointwise, to_bf16, wide
from mlopt import emulator
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import assemble, find_ptxas

CHIP = find_chip("sm_80")
SECTOR = 32
RELU = """%x: bf16, %o: bf16 { %z = arith.constant 0.0 : bf16
  %r = arith.maximumf %x, %z : bf16
  linalg.yield %r : bf16 }"""
TURN = "%x: f32, %o: f32 { linalg.yield %x : f32 }"
COLUMNS = ["tensor<64x96xf32>", "tensor<96x64xf32>"]
X = numbers((16, 1000))
BITS, TILE = to_bf16(numbers((16, 1024))), numbers((64, 96))
EXP = np.exp(wide(X) - wide(X).max(1, keepdims=True))
# The sectors of all requests over those that the bytes fill, at most.
CASES = {
    "relu": (pointwise((16, 1024), RELU, ["bf16"] * 2), BITS, np.maximum(wide(BITS), 0), 1.5),
    "softmax": (kernels.softmax(16, 1000), X, EXP / EXP.sum(1, keepdims=True), 1.3),
    "turn": (kernels.generic_kernel("turn", COLUMNS, "a,b -> b,a | a,b", "pp", TURN), TILE, TILE.T, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_twins_hold_their_gates(name: str) -> None:
    text, x, expected, most = CASES[name]
    kernel = gpu.compile_kernel(text)
    ptxas = find_ptxas(CHIP)
    assert ptxas is not None
    shift, out = x.itemsize, np.zeros(expected.shape, x.dtype)
    with emulator.record(trace=True) as reports:
        (found,) = gpu.run_kernel(kernel, [x, out], shift=shift)
    (report,) = reports
    np.testing.assert_allclose(wide(found), expected, rtol=1e-5, atol=1e-6)
    assert report.kernel.endswith("_unaligned") and not report.findings
    code, counters = assemble(kernel.ptx, CHIP, ptxas).kernels[report.kernel], report.counters
    assert code.spill_stores == code.stack == 0
    assert counters is not None and counters.bank_conflicts == 0
    sectors = sum(line.sectors for line in counters.lines if ".global" in line.text)
    assert sectors * SECTOR <= most * (x.nbytes + out.nbytes)
    moved = counters.dram_read + counters.dram_written
    assert moved <= 1.02 * (x.nbytes + out.nbytes) + 2 * SECTOR
