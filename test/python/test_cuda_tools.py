"""ptxas and nvdisasm that are slow, missing or broken: what is said, and what goes on without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlopt.bench.gpu import __main__ as gates
from mlopt.bench.gpu.measured import measure
from mlopt.bench.gpu.operations import OPERATIONS
from mlopt.errors import CompileTimeout, MloptError
from mlopt.runtime.assembly import Stages
from mlopt.runtime.cuda import ptxas
from mlopt.runtime.cuda.chips import find_chip
from mlopt.tools import doctor, emulating

SLOW = "#!/bin/sh\nexec sleep 30\n"


def _plant(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, script: str) -> str:
    """Only this tool is there; the others as they are."""
    tool, others = folder / name, ptxas.tool_paths
    tool.write_text(script)
    tool.chmod(0o755)
    monkeypatch.setattr(
        ptxas, "tool_paths", lambda asked: iter([str(tool)]) if asked == name else others(asked)
    )
    return str(tool)


def test_a_slow_nvdisasm_is_named_with_its_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = _plant(monkeypatch, tmp_path, "nvdisasm", SLOW)
    monkeypatch.setattr(ptxas, "_DISASSEMBLY_SECONDS", 0.2)
    with pytest.raises(CompileTimeout, match=r"nvdisasm took longer than 0\.2 s for 4 bytes") as found:
        Stages({}, b"", b"\x7fELF")["cubin"]
    assert found.value.where == tool
    assert "less busy" in found.value.remedy


def test_other_failures_of_nvdisasm_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(MloptError, match="nvdisasm cannot read the machine code") as found:
        ptxas.disassemble_cubin(b"no machine code")
    assert "kernels.cubin" in found.value.details
    _plant(monkeypatch, tmp_path, "nvdisasm", "not a program")
    with pytest.raises(MloptError, match="nvdisasm does not run"):
        ptxas.disassemble_cubin(b"\x7fELF")
    monkeypatch.setattr(ptxas, "tool_paths", lambda _: iter(()))
    with pytest.raises(MloptError, match=r"nvdisasm is not there") as found:
        ptxas.disassemble_cubin(b"\x7fELF")
    assert "pip install 'mlopt[cuda]'" in found.value.remedy


def test_a_slow_ptxas_is_not_taken_for_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Or programs would be compiled without machine code, and kept so."""
    tool = _plant(monkeypatch, tmp_path, "ptxas", SLOW)
    monkeypatch.setattr(ptxas, "_SECONDS", 0.2)
    with pytest.raises(CompileTimeout, match=r"ptxas --version took longer than 0\.2 s") as found:
        ptxas.find_ptxas(find_chip("sm_80"))
    assert tool in found.value.remedy
    with pytest.raises(CompileTimeout, match="--version took longer"):
        emulating.registers(".version 8.0", "kernel", "sm_80")
    told = doctor._ptxas()
    assert not told.fine and not told.needed
    assert told.found == found.value.what


def test_a_table_of_gates_goes_on_after_a_row_that_took_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(chip: str) -> list[gates.Found]:
        raise CompileTimeout("nvdisasm took longer than 600 s", where=chip, remedy="ask again")

    name = "transpose f32"
    rows = {"slow f32": slow, name: lambda chip: measure(OPERATIONS[name], chip)}
    monkeypatch.setattr(gates, "all_rows", lambda: rows)
    monkeypatch.setattr(gates, "results_of", lambda chip: tmp_path / "gates.md")
    assert gates.main(["--save"]) == 1
    kept = (tmp_path / "gates.md").read_text()
    assert f"| {name} | kernel_0_transpose |" in kept
    assert "slow f32 is not measured: nvdisasm took longer than 600 s." in kept
    assert "slow f32: not measured: nvdisasm took longer than 600 s" in capsys.readouterr().err
