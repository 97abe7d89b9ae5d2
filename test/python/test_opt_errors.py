"""What a failing command prints: the place in the user's file, the pass, a few lines; the IR is in a file."""

import re
import subprocess
import sys
from pathlib import Path

import mlopt
import pytest
import torch
from mlopt.errors import CompileError

INPUTS = Path(__file__).parent.parent / "tools" / "Inputs"
TOOL = str(Path(sys.executable).with_name("mlopt-opt"))
PLUGIN = f"--load-pass-plugin={INPUTS / 'planted.py'}"
MOST_LINES = 15
FUNCTIONS = "\n".join(
    f"func.func @f{number}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n" + "  return %x : tensor<4xf32>\n}"
    for number in range(200)
)


def failing(tmp_path: Path, text: str, *flags: str) -> str:
    (tmp_path / "in.mlir").write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        [TOOL, "in.mlir", *flags], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-mlopt-test-refuse"], "pass mlopt-test-refuse failed"),
        (["-mlopt-test-raise"], "pass mlopt-test-raise has a bug"),
        (["-mlopt-test-break"], "invalid IR after pass mlopt-test-break"),
        (["-cse", "-mlopt-test-refuse", "-mlir-disable-threading"], "pass mlopt-test-refuse failed"),
    ],
)
def test_a_failure_takes_a_few_lines_and_the_ir_is_in_a_file(tmp_path, flags, message) -> None:
    printed = failing(tmp_path, FUNCTIONS, PLUGIN, *flags)
    assert len(printed.splitlines()) <= MOST_LINES, printed
    assert re.match(r"in\.mlir:\d+:\d+: error: ", printed)
    saved = re.search(rf"{message}; all of the IR is in (\S+\.mlir)$", printed, re.MULTILINE)
    assert saved
    text = Path(saved[1]).read_text()
    assert all(f'"f{number}"' in text for number in range(200))
    again = subprocess.run([TOOL, saved[1]], capture_output=True, text=True, check=False)
    assert (again.returncode == 0) == ("break" not in message)


def test_in_a_named_pipeline_too(tmp_path: Path) -> None:
    vectors = "".join(f"  %z{n} = vector.broadcast %a : f32 to vector<4xf32>\n" for n in range(60))
    used = "  vector.print %z1 : vector<4xf32>\n  return %a : f32\n"
    text = f"func.func @main(%a: f32) -> f32 {{\n{vectors}{used}}}"
    printed = failing(tmp_path, text, "--mlopt-cpu")
    assert len(printed.splitlines()) <= MOST_LINES, printed
    assert re.match(r"in\.mlir:\d+:\d+: error: 'vector.\w+' may not remain after stage 'linalg'", printed)


def test_a_bug_in_a_pass_of_a_compilation_is_repeated_by_one_command() -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    with pytest.raises(CompileError, match="a bug in a pass") as caught:
        mlopt.compile_mlir(text, passes="cse,mlopt-test-raise", pass_plugins=INPUTS / "planted.py")
    assert len(str(caught.value).splitlines()) <= MOST_LINES
    assert re.fullmatch(rf"{INPUTS / 'planted.py'}:\d+", caught.value.where)
    assert 'raise KeyError("a bug in a pass")' in caught.value.details
    assert "mend the pass" in caught.value.remedy
    head = Path(caught.value.reproducer).read_text().splitlines()[:2]
    assert "mlopt-test-raise" in head[0]
    assert head[1] == f"// mlopt-plugins: {INPUTS / 'planted.py'}"
    again = subprocess.run(caught.value.command, shell=True, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "pass mlopt-test-raise raised KeyError: 'a bug in a pass'" in again.stderr


def test_a_refusal_in_jit_is_at_the_users_line() -> None:
    with pytest.raises(CompileError, match="this function is refused") as caught:
        mlopt.jit(
            lambda x: x + 1, torch.ones(3), passes="mlopt-test-refuse", pass_plugins=INPUTS / "planted.py"
        )
    assert re.match(rf"{Path(__file__)}:\d+", caught.value.where)
