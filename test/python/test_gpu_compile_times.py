"""What programs take from linalg to PTX: the table of `bench/gpu/compile_times.py`."""

from __future__ import annotations

import pytest
from mlopt.bench.gpu.compile_times import CHIPS, PROGRAMS, RESULTS, main, table, times_of
from mlopt.bench.gpu.timed import TIMED
from mlopt.bench.gpu.to_ptx import ToPtx, told_times
from mlopt.runtime.cuda.chips import find_chip


def test_kept_table_has_the_programs() -> None:
    rows = [line.strip("| ").split(" | ") for line in RESULTS.read_text().splitlines() if line[:2] == "| "]
    assert [cells[0] for cells in rows[2:]] == [*PROGRAMS] and rows[0][1:] == [*CHIPS]
    assert set(PROGRAMS) <= set(TIMED)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_kernel_and_its_twin_are_timed(chip: str) -> None:
    found = times_of("relu-4096-f32", find_chip(chip))
    assert found.kernels == 2 and found.each == found.seconds / 2 > 0


def test_times_of_several_kernels() -> None:
    """What a kernel takes is not what the row with the most kernels does."""
    told = told_times([ToPtx(0.3, 1), ToPtx(0.5, 5), ToPtx(0.4, 2)])
    assert told == "A row takes 0.40 s in the middle and 0.50 s at most, a kernel 0.20 s and 0.30 s."
    assert str(ToPtx(0.5, 5)) == "0.50 (5)"
    assert table([("a", [ToPtx(0.3, 1), ToPtx(0.4, 2)])]).splitlines()[-1] == "| a | 0.30 (1) | 0.40 (2) |"


def test_names_that_no_program_has_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no-such-program"])
    assert "no program's name has any of no-such-program" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["relu", "--save"])
    assert "name no programs" in capsys.readouterr().err
