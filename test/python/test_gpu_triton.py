"""The table of kernels beside Triton's: none is more than 5 % above, and how code is counted."""

from __future__ import annotations

import pytest
from mlopt.bench.gpu.against_triton import MOST, RESULTS, Kernel, Row, above, operation_of
from mlopt.bench.gpu.machine_code import parse
from mlopt.bench.gpu.operations import OPERATIONS
from mlopt.bench.gpu.timed import TIMED

STRAIGHT = """
    .section .text.k,"ax",@progbits
        /*0000*/                   LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0010*/                   LDG.E.128.CONSTANT R8, [R2.64+0x10] ;
        /*0020*/                   STG.E.128 [R2.64], R4 ;
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0) ;
        /*0050*/                   NOP ;
"""


def test_no_row_of_the_table_is_above() -> None:
    lines = [line.strip("| \n").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    rows = {cells[0]: (float(cells[5]), float(cells[9])) for cells in lines[2:]}
    assert all(name in TIMED or operation_of(name).name in name for name in rows)
    assert {"embedding f32", "embedding f32, unchecked", "gather f32", "gather f32, unchecked"} <= set(rows)
    # Ten small kernels are about launches; attention has rows of its own, and products a table.
    told = {name for name, timed in TIMED.items() if timed.flops is None and not name.startswith("ten")}
    assert {name for name in told if "-graph" not in name} <= set(rows)
    assert sum("attention" in name for name in rows) == 4
    assert {*OPERATIONS} <= set(rows)
    ratios = {(name, "instructions"): ratio for name, (ratio, _) in rows.items()}
    ratios |= {(name, "registers"): ratio for name, (_, ratio) in rows.items()}
    assert not {key for key, ratio in ratios.items() if ratio > MOST}
    more = {cells[0] for cells in lines[2:] if float(cells[8]) > MOST}
    assert more == {name for name in more if f"- {name}, registers: " in RESULTS.read_text()}


def test_elements_of_a_thread() -> None:
    code = parse(STRAIGHT)["k"]
    assert not code.loops()
    assert Kernel.of(code, 20, threads=64, elements=1024, size=4) == Kernel(5, 20, 16, 5 / 16)
    assert Kernel.of(code, 20, threads=64, elements=1024, size=4, own=512) == Kernel(5, 20, 8, 5 / 16)


def test_a_loop_counts_as_often_as_it_runs() -> None:
    """Four elements are stored in a turn of four instructions; the two behind it run once."""
    back = "        /*0028*/               @P0 BRA `(.L_x_1) ;"
    lines = STRAIGHT.splitlines()
    loop = parse("\n".join([lines[1], ".L_x_1:", *lines[2:5], back, *lines[5:]]))["k"]
    (turn,) = loop.loops()
    assert len(turn) == 4
    found = Kernel.of(loop, 20, threads=64, elements=1024, size=4)
    assert found == Kernel(6, 20, 4, (4 * 4 + 2) / 16)
    # Two loads bring eight elements; nothing is stored where a loop only adds up.
    sums = parse("\n".join([lines[1], ".L_x_1:", *lines[2:4], back, *lines[5:]]))["k"]
    assert Kernel.of(sums, 20, threads=64, elements=1024, size=4) == Kernel(5, 20, 8, (2 * 3 + 2) / 16)


def test_products_of_a_loop() -> None:
    lines = STRAIGHT.splitlines()
    product = "        /*0030*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;"
    back = "        /*0038*/               @P0 BRA `(.L_x_{0}) ;"
    short = [".L_x_7:", product, product, back.format(7)]
    code = parse(
        "\n".join([*lines[:2], ".L_x_6:", *lines[2:4], product, back.format(6), *short, *lines[4:]])
    )["k"]
    assert Kernel.of(code, 20, threads=64, elements=1024, size=2) == Kernel(3, 20, 2, 3 / 2)


def test_registers_cost_what_is_handed_out() -> None:
    ours = (Kernel(60, 41, 8, 60 / 8), Kernel(10, 9, 8, 10 / 8))
    row = Row("softmax_1024 f32", ours, (Kernel(140, 24, 16, 140 / 16),))
    assert row.ratios == {"instructions": 1.0, "registers": pytest.approx(48 / 32)}
    assert above([row]) == ["softmax_1024 f32: more registers than Triton plus 5 %"]
    assert not row.unpaid


@pytest.mark.parametrize(("ours", "theirs", "given"), [(29, 18, 32), (62, 57, 64), (20, 20, 0), (41, 24, 0)])
def test_registers_that_are_given_anyhow(ours, theirs, given) -> None:
    row = Row("transpose bf16", (Kernel(60, ours, 8, 8),), (Kernel(60, theirs, 8, 8),))
    assert row.registers == (ours, theirs)
    assert (f"both sides are given {given}, " in row.unpaid) if given else not row.unpaid


def test_what_a_failed_assertion_runs_is_not_counted() -> None:
    """Out of line, and only if a block tells without a condition of its own."""
    lines = STRAIGHT.splitlines()
    aside = "        /*0028*/               @P0 BRA `(.L_x_1) ;"
    tells = "        /*0038*/                   ATOMG.E.CAS.STRONG.SYS PT, R6, [R4], R6, R7 ;"
    text = "\n".join([*lines[:4], aside, *lines[4:6], ".L_x_1:", tells, *lines[4:6], *lines[6:]])
    code = parse(text)["k"]
    assert [each.name.split(".")[0] for each in code.reports()] == ["ATOMG", "STG", "EXIT"]
    assert Kernel.of(code, 20, threads=64, elements=1024, size=4) == Kernel(9, 20, 16, 6 / 16)
    assert parse(text.replace("    ATOMG", "@P1 ATOMG"))["k"].reports() == []
