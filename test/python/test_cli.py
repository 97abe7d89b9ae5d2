"""`mlopt compile FILE.py:FUNCTION` and `mlopt doctor`; lit tests the rest (test/tools)."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from mlopt import versions
from mlopt.errors import InputError
from mlopt.runtime.cuda import driver
from mlopt.tools import cli, doctor, programs
from typer.testing import CliRunner

FACTORIES = """
import torch

def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU()), torch.ones(2, 8)

def number():
    return 3

def fails():
    return inner()

def inner():
    return torch.zeros(3, "four")

def wrong():
    return torch.nn.Linear(3, 3), torch.ones(2, 4)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "factories.py"
    path.write_text(FACTORIES)
    return path


def test_compile_takes_a_function_that_returns_a_module(file: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["compile", f"{file}:mlp", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "100% compiled" in result.output
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.txt", "1_torch.mlir", "2_linalg.mlir"} <= written


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("MLOPT_CPU", "i386", "MLOPT_CPU=i386"), ("MLOPT_OPT_LEVEL", "7", "MLOPT_OPT_LEVEL=7")],
)
def test_the_environment_beats_defaults(file, monkeypatch, name, value, words) -> None:
    monkeypatch.setenv(name, value)
    result = CliRunner().invoke(cli.app, ["compile", f"{file}:mlp"])
    assert words in str(result.exception)
    result = CliRunner().invoke(cli.app, ["compile", f"{file}:mlp", "--cpu", "x86-64-v3", "-O", "1"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (":nothing", "has no function 'nothing'\n  remedy: name one of its functions: mlp, number, fails,"),
        (":mpl", "has no function 'mpl'; did you mean 'mlp'"),
        (":number", "something of type int"),
        ("", "is Python"),
    ],
)
def test_what_is_no_module_is_named(file: Path, source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        programs.compile_source(f"{file}{source}", "main")


def test_what_the_users_code_raises_is_shown_with_its_line(file: Path) -> None:
    command = [sys.executable, "-m", "mlopt.tools.cli", "compile"]
    line = 1 + FACTORIES.splitlines().index('    return torch.zeros(3, "four")')
    syntax = file.with_name("syntax.py")
    syntax.write_text("import torch\nx = (\n")
    for source, message, where in (
        (
            f"{file}:fails",
            "TypeError: zeros()",
            f"{file}:{line}",
        ),
        (f"{file}:wrong", "torch.export cannot trace Linear: RuntimeError", ""),
        (f"{syntax}:f", "SyntaxError: '(' was never closed", f"{syntax}:2"),
    ):
        done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("mlopt: error: ")
        assert message in done.stderr
        assert f"where: {where}\n" in done.stderr if where else True
        assert "Traceback" not in done.stderr
        assert "programs.py" not in done.stderr


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder, bytes_ = tmp_path / "folder.py", tmp_path / "bytes.mlir"
    folder.mkdir()
    bytes_.write_bytes(b"ab\xff")
    for source, message in (
        ("no/such/file.py:f", "is not there"),
        (f"{folder}:f", "is a folder"),
        (str(tmp_path), "cannot be read: Is a directory"),
        (str(bytes_), r"cannot be read: it is no text in UTF-8 \(byte 2\)"),
    ):
        with pytest.raises(InputError, match=f"{message}\n  remedy: "):
            programs.compile_source(source, "main")


# --- doctor


def test_doctor_finds_everything_that_is_needed() -> None:
    result = CliRunner().invoke(cli.app, ["doctor"])
    assert result.exit_code == 0, result.output
    for subject in ("Python", *versions.PINS, "torch", "CPU", "NVIDIA driver", "ptxas", "compilation"):
        assert subject in result.output
    assert "avx" in result.output


def test_doctor_fails_with_a_remedy_for_each_wrong_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.PINS, "llvmlite", "0.1.0")
    monkeypatch.setitem(doctor.PINS, "mlopt-no-such-package", "1.0")
    findings = {finding.subject: finding for finding in doctor._packages()}
    assert findings["llvmlite"].remedy == "pip install llvmlite==0.1.0"
    assert findings["mlopt-no-such-package"].found == "not installed"
    assert findings["torch-mlir"].fine

    monkeypatch.setattr(doctor, "examine", lambda: iter(findings.values()))
    result = CliRunner().invoke(cli.app, ["doctor"])
    assert result.exit_code == 1
    assert "2 needed things are missing" in result.output


def test_doctor_runs_where_importing_mlopt_would_fail() -> None:
    # The console script's import of the package must leave the check to doctor.
    code = (
        "import sys, importlib.metadata as m; sys.argv = ['/x/mlopt', 'doctor']; sys.path.insert(0, '/x'); "
        "import mlopt.versions as v; v.PINS['llvmlite'] = '0.1.0'; v.check_versions(); print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ("model name : X\nflags : fpu avx avx2 fma\n", (True, "avx avx2 fma")),
        ("model name : X\nflags : fpu sse4_2\n", (False, "sse4_2")),
        ("", (False, "unknown")),
    ],
)
def test_doctor_reads_the_cpu(monkeypatch: pytest.MonkeyPatch, info: str, expected: tuple[bool, str]) -> None:
    monkeypatch.setattr(doctor, "_read", lambda _: info)
    finding = doctor._cpu()
    assert finding.fine == expected[0]
    assert expected[1] in finding.found
    assert not finding.needed or finding.fine


def test_doctor_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libcuda-that-is-not-there.so.1")
    driver.driver.cache_clear()
    (finding,) = doctor._gpu()
    assert dataclasses.astuple(finding)[1:] == (
        "there is no NVIDIA driver (libcuda-that-is-not-there.so.1)",
        'install the NVIDIA driver; or pass device="emulator", which needs no GPU',
        False,
    )


def test_doctor_names_the_chips_that_ptxas_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = doctor.find_ptxas(doctor.find_chip("sm_80"))
    monkeypatch.setattr(doctor, "find_ptxas", lambda chip: None if chip.capability[0] == 12 else tool)
    finding = doctor._ptxas()
    assert finding.found.startswith("13.0 (/")
    assert finding.remedy.startswith("pip install 'mlopt[cuda]' for sm_120, sm_120a")
    monkeypatch.setattr(doctor, "find_ptxas", lambda chip: None)
    assert doctor._ptxas().found == "none that knows our chips"


def test_an_import_that_fails_says_why() -> None:
    finding = doctor._imports("nothing", "no_such_module_at_all", "llvmlite")
    assert "No module named 'no_such_module_at_all'" in finding.found
    assert "--force-reinstall" in finding.remedy
