"""Products in parts along their depth, on the emulator: right, the same at each call, weights read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mlopt
import numpy as np
import pytest
import torch
from mlopt import emulator
from mlopt.runtime.cuda.emulated import EmulatedMachine
from mlopt.runtime.cuda.executable import HostMemory
from mlopt.runtime.verification import Verifier
from torch import nn


class Layer(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + 1


@pytest.mark.parametrize(
    ("rows", "dtype", "kernels"), [(1, torch.bfloat16, 1), (16, torch.float16, 2), (33, torch.bfloat16, 1)]
)
def test_few_rows(rows: int, dtype: torch.dtype, kernels: int) -> None:
    """Partial products, and their sum with all that follows; the same numbers at each call.

    Of 16 rows the parts are so many that a kernel of its own adds them up in less time.
    """
    depth, columns = 4096, 72
    module, x = Layer(depth, columns).to(dtype), torch.randn(rows, depth, dtype=dtype)
    with torch.no_grad():
        compiled = mlopt.jit(module, x, target="cuda:sm_80", device="emulator")
        with emulator.record() as launches:
            found = compiled(x)
        Verifier(module, (x,), {}).check(found)
        assert torch.equal(found, compiled(x))
    product, total = launches[-kernels], launches[-1]
    assert "matmul" in product.kernel and "_sum_" in total.kernel and "_add" in total.kernel
    assert product.grid[0] > -(-columns // 16)
    read = depth * columns * 2 + rows * depth * 2
    if kernels == 1:  # the parts, which memory need not give back, and the bias
        parts = re.search(r"adds up its (\d+) parts", compiled.asm["tile"])
        assert parts is not None
        read += 4 * rows * columns * int(parts[1]) + columns * 2
    assert product.counters.dram_read < 1.02 * read
    assert product.counters.bank_conflicts == 0


class Batch(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, y)


def test_batches() -> None:
    """Each product of a batch is divided."""
    x, y = (torch.randn(shape, dtype=torch.float16) for shape in ((2, 8, 4096), (2, 4096, 16)))
    compiled = mlopt.jit(Batch(), x, y, target="cuda:sm_80", device="emulator")
    Verifier(Batch(), (x, y), {}).check(compiled(x, y))
    assert [kernel.name for kernel in compiled.report.gpu.kernels][-2].startswith("kernel_1_sum_cast")


def without_fence(ptx: str) -> str:
    """Nothing orders what a block has stored before its count."""
    return re.sub(r"fence\.acq_rel\.gpu;\s*(atom)", r"\1", ptx)


def without_barrier(ptx: str) -> str:
    """One thread counts before the others have stored."""
    *heads, last = re.split(r"(?=fence\.acq_rel\.gpu;\s*atom)", ptx)
    return "".join(re.sub(r"(.*)bar\.sync\s+0;", r"\1", head, flags=re.DOTALL) for head in heads) + last


def without_reset(ptx: str) -> str:
    """The next launch goes on counting."""
    return re.sub(r"atom\.global\.inc\.u32(.*), \d+;", r"atom.global.add.u32\1, 1;", ptx)


def with_shared_counters(ptx: str) -> str:
    """Tiles that count together."""
    return re.sub(r"(atom\.global\.inc\.u32\s+%r\d+, \[(%rd\d+)\])", r"and.b64 \2, \2, -64;\n\1", ptx)


PLANTED = {
    without_fence: "race",
    without_barrier: "race|warp-sync",
    without_reset: "counter",
    with_shared_counters: "race|uninitialized-memory|counter",
}


def test_what_last_blocks_rest_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without one of these is found, and leaves the next call as it should be."""
    depth, columns = 4096, 72
    module, x = Layer(depth, columns).bfloat16(), torch.randn(1, depth).bfloat16()
    image = EmulatedMachine.image

    def call(edit: Callable[[str], str]) -> torch.Tensor:
        def edited(self: EmulatedMachine, ptx: str, *rest: Any) -> Any:
            changed = edit(ptx)
            assert (changed == ptx) == (edit is str)
            return image(self, changed, *rest)

        monkeypatch.setattr(EmulatedMachine, "image", edited)
        with torch.no_grad():
            return mlopt.jit(module, x, target="cuda:sm_80", device="emulator")(x)

    call(str)
    for edit, kind in PLANTED.items():
        with pytest.raises(emulator.KernelError, match=f"^({kind}) in kernel kernel_1_matmul_sum"):
            call(edit)


def test_streams_have_counters_of_their_own() -> None:
    """Calls on one stream share them, whoever makes them; those that may run at the same time do not."""
    current = [0]
    memory = HostMemory(lambda: current[0])
    first = memory.counters(3)
    assert memory.counters(2) is first
    current[0] = 1
    other = memory.counters(3)
    assert other.address != first.address
    assert not other.view(np.dtype(np.int32)).any()
    current[0] = 0
    assert memory.counters(3) is first
    assert memory.zeros(3).address not in (first.address, other.address)
