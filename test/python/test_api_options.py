"""Options: arguments, environment, defaults, and the key of generated code."""

from pathlib import Path

import pytest
from mlopt.errors import CompileError
from mlopt.options import Options, table, variable


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"opt_level": 4}, r"opt_level=4 is not known[\s\S]*0, 1, 2, 3"),
        ({"opt_level": "2"}, "expected a int, got a str"),
        ({"opt_level": True}, "expected a int, got a bool"),
        ({"cpu": "zen"}, r"cpu='zen'[\s\S]*znver4"),
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


def test_the_key_is_of_what_decides_the_code():
    assert Options(verify=True, timeout=1.0).key() == Options().key()
    others = [Options(opt_level=1), Options(cpu="x86-64-v3"), Options(features="-fma")]
    assert len({options.key() for options in [Options(), *others]}) == 4


def test_the_table_has_every_option():
    assert all(f"`{name}` | `MLOPT_{name.upper()}`" in table() for name in vars(Options()))
    assert (Path(__file__).parents[2] / "docs" / "options.md").read_text() == table()
