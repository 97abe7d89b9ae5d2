"""Options: arguments, environment, defaults, and the key of generated code."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
from mlopt import compile_mlir, jit
from mlopt.errors import CompileError
from mlopt.options import Options, table, variable
from mlopt.processors import CPUS, FEATURES


def test_defaults_and_arguments():
    assert Options.resolve() == Options()
    assert Options.resolve(opt_level=3).opt_level == 3
    assert Options.resolve(timeout=5).timeout == 5.0


def test_an_argument_beats_the_environment(monkeypatch):
    monkeypatch.setenv("MLOPT_OPT_LEVEL", "1")
    monkeypatch.setenv("MLOPT_VERIFY", "yes")
    assert Options.resolve().opt_level == 1
    assert Options.resolve().verify is True
    assert Options.resolve(opt_level=3, verify=False) == Options(opt_level=3)


def test_the_target_of_the_environment(monkeypatch):
    text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
    monkeypatch.setenv("MLOPT_TARGET", "bogus")
    with pytest.raises(CompileError, match="MLOPT_TARGET=bogus is not known"):
        compile_mlir(text)
    with pytest.raises(CompileError, match="MLOPT_TARGET=bogus is not known"):
        jit(abs)
    assert compile_mlir(text, target="cpu").options.target == "cpu"
    monkeypatch.setenv("MLOPT_TARGET", "cuda:sm_80")
    monkeypatch.setenv("MLOPT_DEVICE", "emulator")
    assert compile_mlir(text).options.target == "cuda:sm_80"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"opt_level": 4}, r"opt_level=4 is not known[\s\S]*0, 1, 2, 3"),
        ({"opt_level": "2"}, "expected a int, got a str"),
        ({"opt_level": True}, "expected a int, got a bool"),
        ({"target": "cuda:sm_70"}, r"target='cuda:sm_70': .* 8\.0 \(Ampere\)\n\s*remedy: .*sm_80 or newer"),
        ({"target": "cuda:sm_79x"}, r"target='cuda:sm_79x' is not known"),
        ({"cpu": "z80"}, r"cpu='z80' is not known\n[\s\S]*znver4"),
        ({"target": "gpu"}, "'gpu' is not known; did you mean 'cuda:sm_"),
        ({"cpu": "znver6"}, r"cpu='znver6' is not known; did you mean 'znver5' or"),
        (
            {"features": "+avx2,+avx512"},
            r"features='\+avx2,\+avx512': there is no feature 'avx512'; did you mean",
        ),
        ({"features": "+nonsense"}, r"there is no feature 'nonsense'\n"),
        ({"features": "avx2"}, r"'avx2' must start with \+"),
        ({"features": "+soft-float"}, "there is no feature 'soft-float'"),
        ({"opt_levl": 1}, "no option 'opt_levl'; did you mean 'opt_level'"),
        ({"timeout": 0}, "more than 0"),
        ({"speed": 1}, r"no option 'speed'[\s\S]*use one of: target"),
    ],
)
def test_wrong_arguments(given, message):
    with pytest.raises(CompileError, match=message):
        Options.resolve(**given)


@pytest.mark.parametrize(("name", "text"), [("opt_level", "high"), ("verify", "maybe"), ("cpu", "z80")])
def test_wrong_environment(monkeypatch, name, text):
    monkeypatch.setenv(variable(name), text)
    with pytest.raises(CompileError, match=f"MLOPT_{name.upper()}={text}"):
        Options.resolve()


def test_llvm_knows_the_processors_and_their_features():
    folder = next(iter(importlib.util.find_spec("llvm").submodule_search_locations))
    command = [f"{folder}/bin/llc", "-march=x86-64", "-mattr=help"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    known = {line.split()[0] for line in (done.stdout + done.stderr).splitlines() if " - " in line}
    assert set(CPUS) - {"host"} <= known
    assert known >= FEATURES
    assert Options.resolve(features="+avx512f,-fma").features == "+avx512f,-fma"


def test_the_key_is_of_what_decides_the_code():
    assert Options(verify=True, timeout=1.0).key() == Options().key()
    others = [
        Options(opt_level=1),
        Options(fast_math=True),
        Options(cpu="x86-64-v3"),
        Options(features="-fma"),
    ]
    assert len({options.key() for options in [Options(), *others]}) == 5


def test_the_table_has_every_option():
    assert all(f"`{name}` | `MLOPT_{name.upper()}`" in table() for name in vars(Options()))
    assert (Path(__file__).parents[2] / "docs" / "options.md").read_text() == table()
