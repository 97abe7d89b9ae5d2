"""What one kernel's runs on the emulator must hold, in tests and sweeps of products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpu_kernels import Kernel, run_kernel
from mlopt import emulator
from mlopt.runtime.cuda.chips import find_chip

CHIP = find_chip("sm_80")
ORDERS = ("round-robin", "ahead", "random")
SECTOR = 32  # bytes that come at once
SPARE = 1.05  # of the bytes that the tiling implies


def run_problems(
    kernel: Kernel, inputs: Sequence[np.ndarray], exact: np.ndarray, bound: np.ndarray, implied: int | None
) -> list[str]:
    """What breaks a gate in three orders of warps: the last of ``inputs`` becomes ``exact`` within ``bound``.

    ``implied``: the bytes that the tiling asks the caches for; None: nobody counts them.
    """
    results = []
    for order in ORDERS:
        with emulator.record() as reports:
            results += run_kernel(kernel, inputs, options=emulator.Options(schedule=order, seed=7))
    (report,) = reports
    found = [] if all(np.array_equal(results[0], each) for each in results) else ["the order of warps shows"]
    if not (np.abs(results[0] - exact) <= bound).all():
        found.append("wrong")
    counters = report.counters
    assert counters is not None
    found += [f"finding: {each}" for each in report.findings]
    if counters.bank_conflicts:
        found.append(f"{counters.bank_conflicts} bank conflicts")
    if kernel.launches[-1][3] > CHIP.limits.shared_per_block:
        found.append("a block has not so much shared memory")
    if implied is not None and counters.l2_bytes > SPARE * implied:
        found.append(f"{counters.l2_bytes} bytes from memory, where {implied} are implied")
    return found
