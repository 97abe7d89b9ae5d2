"""The machine code of kernels: wide accesses, loads before what uses them, no spills."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gpu_kernels as gpu
import tile_kernels as kernels
from mlopt.runtime.cuda.chips import find_chip
from mlopt.runtime.cuda.ptxas import Assembled, assemble, disassemble_cubin, find_ptxas

CHIPS = ("sm_80", "sm_90a")


def build(text: str, chip: str) -> tuple[Assembled, dict[str, list[str]]]:
    """A kernel's machine code, and each function's instructions."""
    found = find_chip(chip)
    ptxas = find_ptxas(found)
    assert ptxas is not None
    assembled = assemble(gpu.compile_kernel(text, chip).ptx, found, ptxas)
    printed = disassemble_cubin(assembled.cubin)
    assert printed is not None
    functions: dict[str, list[str]] = {}
    for line in printed.splitlines():
        name = re.match(r"\s*\.section\s+\.text\.(\w+)", line)
        if name:
            code = functions.setdefault(name.group(1), [])
        instruction = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]*)", line)
        if instruction:
            code.append(instruction.group(1))
    return assembled, functions


@pytest.mark.parametrize("chip", CHIPS)
def test_elementwise_kernels_load_wide_and_first(chip: str) -> None:
    assembled, functions = build(kernels.relu_chain(1001, 1000), chip)
    code = functions["relu_chain"]
    loads = [at for at, name in enumerate(code) if name.startswith("LDG")]
    assert len(loads) == 4
    assert all("128" in code[at] for at in loads)
    assert all("128" in name for name in code if name.startswith("STG"))
    arithmetic = [at for at, name in enumerate(code) if name.startswith(("FMNMX", "FADD", "FMUL"))]
    assert max(loads) < min(arithmetic)
    assert all("128" not in name for name in functions["relu_chain_unaligned"])
    assert all(kernel.spill_stores == 0 and kernel.stack == 0 for kernel in assembled.kernels.values())


@pytest.mark.parametrize("chip", CHIPS)
def test_row_kernels_load_a_row_once(chip: str) -> None:
    for text, name, loads in (
        (kernels.softmax(64, 1000), "softmax", 2),
        (kernels.softmax(64, 4096), "softmax", 4),
        (kernels.layer_norm(1, 64, 1536), "layer_norm", 3 * 3),
    ):
        assembled, functions = build(text, chip)
        wide = [instruction for instruction in functions[name] if instruction.startswith("LDG")]
        assert len(wide) == loads
        assert all("128" in instruction for instruction in wide)
        assert not [name for name in functions[name] if name.startswith(("LDL", "STL"))]
        assert all(kernel.spill_stores == 0 for kernel in assembled.kernels.values())


@pytest.mark.parametrize("chip", CHIPS)
def test_a_transpose_moves_wide_pieces_through_shared_memory(chip: str) -> None:
    turn = kernels.generic_kernel(
        "turn",
        ["tensor<512x512xf32>", "tensor<512x512xf32>"],
        "a,b -> b,a | a,b",
        "pp",
        "%x: f32, %o: f32 { linalg.yield %x : f32 }",
    )
    _, functions = build(turn, chip)
    code = functions["turn"]
    assert all("128" in name for name in code if name.startswith(("LDG", "STG")))
    assert sum(name.startswith("BAR") for name in code) == 1


def test_a_sum_over_rows_has_no_barrier_in_its_loop() -> None:
    _, functions = build(kernels.column_sum(20000, 512), "sm_80")
    code = functions["column_sum"]
    assert sum(name.startswith("BAR") for name in code) == 1
    last = max(at for at, name in enumerate(code) if name.startswith("LDG"))
    assert all(at > last for at, name in enumerate(code) if name.startswith(("BAR", "SHFL")))


def test_a_total_of_unknown_size_has_all_warps_of_a_block_and_no_barrier_in_its_loop() -> None:
    body = "%x: f32, %o: f32 { %r = arith.addf %x, %o : f32 linalg.yield %r : f32 }"
    kinds = ["tensor<?xf32>", "tensor<f32>"]
    text = kernels.generic_kernel("total", kinds, "a -> a | ", "r", body, inits=["0.0"])
    assert "nvvm.maxntid = array<i32: 1024, 1, 1>" in gpu.compile_kernel(text).threads
    _, functions = build(text, "sm_80")
    code = functions["total"]
    last = max(at for at, name in enumerate(code) if name.startswith("LDG"))
    barriers = [at for at, name in enumerate(code) if name.startswith("BAR")]
    assert barriers and all(at > last for at in barriers)


@pytest.mark.parametrize("chip", CHIPS)
def test_transposed_weights_with_scales_spill_nothing(chip: str) -> None:
    for channels, lengths in ((256, (1152, 2304, 128, 2304, 2304)), (512, (2304, 4608, 256, 4608, 4608))):
        assembled, _ = build(kernels.scaled_weights(channels, lengths), chip)
        assert {"scaled_weights", "scaled_weights_unaligned"} == set(assembled.kernels)
        for kernel in assembled.kernels.values():
            assert kernel.spill_stores == 0 and kernel.stack == 0, kernel
