"""Gates of memory-bound GPU kernels: what misses one stands in bench/gpu/known.py, with the reason."""

from __future__ import annotations

import pytest
from mlopt.bench.gpu.gates import GATES, measure
from mlopt.bench.gpu.known import MISSES
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.operations import OPERATIONS
from mlopt.bench.gpu.table import surprises, table

LISTING = """
    .section .text.sum,"ax",@progbits
        /*0000*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
.L_x_0:
        /*0010*/                   LDG.E.128.CONSTANT R8, [R2.64+0x10] ;
        /*0020*/                   FADD R12, R7, R8 ;
        /*0030*/              @!P0 LDG.E.128 R16, [R2.64+0x20] ;
        /*0040*/              @P1 BRA `(.L_x_0) ;
        /*0050*/                   STG.E.64 [R2.64], R12 ;
        /*0060*/                   EXIT ;
"""


@pytest.mark.parametrize("name", OPERATIONS)
def test_gates_hold_or_the_reason_is_known(name: str) -> None:
    assert surprises(name, measure(OPERATIONS[name], "sm_80")) == []


def test_reasons_are_of_operations_and_gates_that_there_are() -> None:
    assert set(MISSES) <= set(OPERATIONS)
    assert all(set(gates) <= set(GATES) and all(gates.values()) for gates in MISSES.values())


def test_loads_are_late_after_a_use_in_the_same_loop() -> None:
    code = parse(LISTING)["sum"]
    assert [each.bits for each in code.named("LDG", "STG")] == [128, 128, 128, 64]
    assert code.late_loads() == 1
    assert parse(LISTING.replace("@P1 BRA `(.L_x_0)", "NOP"))["sum"].late_loads() == 1
    assert parse(LISTING.replace("FADD R12, R7, R8", "FADD R12, R0, R1"))["sum"].late_loads() == 0


def test_the_table_names_what_is_missed() -> None:
    found = measure(OPERATIONS["max_pool f32"], "sm_80")
    text = table({"max_pool f32": found}, "sm_80")
    assert "0 of 1 kernels hold all gates." in text
    assert f"- max_pool f32, wide: {MISSES['max_pool f32']['wide']}" in text
    assert surprises("relu_scale f32", found) == ["relu_scale f32: misses 'wide'"]
    assert surprises("layer_norm_1024 f32", found)[-1].startswith("layer_norm_1024 f32: holds 'first' now")
