"""`mlopt explain` names what is wrong with a source, a function, a target or a machine."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from mlopt.errors import CompileError, InputError
from mlopt.tools import cli, explain, explain_layout
from typer.testing import CliRunner

FACTORIES = """
import torch
from torch import nn

def mlp():
    return nn.Linear(8, 8), torch.ones(3, 8)

def numbers():
    return 3
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


@pytest.mark.parametrize(
    ("source", "target", "machine", "error", "message"),
    [
        (":nothing", "cpu", "cpu", InputError, "has no function 'nothing'"),
        (":numbers", "cpu", "cpu", InputError, "something of type int"),
        ("", "cpu", "cpu", InputError, "is Python"),
        (":mlp", "tpu", "", CompileError, "target='tpu' is not known"),
        (":mlp", "cuda:sm_80", "cpu", InputError, "is a CPU"),
        (":mlp", "cpu", "h100", InputError, "is a GPU"),
        (":mlp", "cpu", "h10", InputError, "machine 'h10'; did you mean .*'h100'.*\n.*one of: host,"),
        (":mlp", "cuda:sm_120", "", InputError, "no description of a GPU with cuda:sm_120"),
    ],
)
def test_what_is_wrong_is_named(
    file: Path, source: str, target: str, machine: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        explain.explain(f"{file}{source}", "main", target, machine)


def test_other_commands_refuse_func_too() -> None:
    for command in (["compile"], ["profile", "--emulate"]):
        result = CliRunner().invoke(cli.app, [*command, "factories.py:mlp", "--func", "f"])
        assert isinstance(result.exception, InputError)
        assert "--func f names a function of an .mlir file" in str(result.exception)


@pytest.mark.parametrize("draw", [explain.explain, explain_layout.kernels_of])
@pytest.mark.parametrize(("name", "kind"), [("factories.py:mlp", "is Python"), ("p.pt2", "is an exported")])
def test_func_is_for_mlir_files(draw: Callable[..., object], name: str, kind: str) -> None:
    with pytest.raises(InputError, match=f"--func f names a function of an .mlir file, and {name} {kind}"):
        draw(name, "f", "cuda:sm_80")


@pytest.mark.parametrize(
    ("source", "remedy"),
    [("k.mlir:f", "pass k.mlir --func f"), ("k.mlir:", "pass k.mlir"), ("p.pt2:f", "pass p.pt2")],
)
def test_only_a_python_files_function_stands_behind_a_colon(source: str, remedy: str) -> None:
    with pytest.raises(InputError, match=f"{source} is no file") as raised:
        explain.explain(source, "main", "cpu", "cpu")
    assert raised.value.remedy == remedy


def test_an_exported_program_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "not.pt2"
    path.write_text("nothing")
    for each in (path, tmp_path / "missing.pt2"):
        with pytest.raises(InputError, match="cannot be read"):
            explain.explain(str(each), "main", "cpu", "cpu")


@pytest.mark.parametrize("name", ["missing.pt2", "missing.mlir"])
def test_a_file_that_is_not_there_is_named_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as raised:
        explain.explain(str(tmp_path / name), "main", "cpu", "cpu")
    assert str(raised.value).splitlines()[0] == f"{tmp_path / name} cannot be read: No such file or directory"


def test_torch_logs_no_traceback_of_a_broken_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "not.pt2"
    path.write_text("nothing")
    logger = logging.getLogger("torch.export")
    logger.addHandler(caplog.handler)
    try:
        with pytest.raises(InputError, match="cannot be read: BadZipFile"):
            explain.explain(str(path), "main", "cpu", "cpu")
        assert caplog.records == []
        logger.warning("still heard")
        assert "still heard" in caplog.text
    finally:
        logger.removeHandler(caplog.handler)


def test_a_file_without_functions(tmp_path: Path) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("")
    with pytest.raises(CompileError, match=r"the module has no function\n.*pass one with a func.func @main"):
        explain.explain(str(path), "main", "cpu", "cpu")


def test_text_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @main(")
    with pytest.raises(CompileError, match="cannot be parsed"):
        explain.explain(str(path), "main", "cpu", "cpu")
