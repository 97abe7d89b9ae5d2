"""The project's own files agree with each other, and importing mlopt stays light."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mlopt import versions
from mlopt.errors import VersionError

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_pins_are_those_of_pyproject() -> None:
    pinned = {
        name: version
        for name, _, version in (line.partition("==") for line in PROJECT["project"]["dependencies"])
    }
    assert {name: version for name, version in pinned.items() if version} == versions.PINS
    assert f"torch=={versions.TORCH_PIN['torch']}" in PROJECT["project"]["optional-dependencies"]["torch"]
    assert f"torch=={versions.TORCH_PIN['torch']}" in (ROOT / "Makefile").read_text()


def test_every_folder_with_modules_is_a_package() -> None:
    folders = ("dialects", "frontends", "passes", "pipelines", "runtime", "tools")
    with_modules = {path.parent for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in with_modules if not (folder / "__init__.py").exists()] == []


def test_wrong_versions_are_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    versions.check_versions()
    monkeypatch.setitem(versions.PINS, "llvmlite", "0.1.0")
    monkeypatch.setitem(versions.PINS, "mlopt-no-such-package", "1.0")
    with pytest.raises(VersionError) as caught:
        versions.check_versions()
    text = str(caught.value)
    assert "llvmlite is 0." in text
    assert "mlopt-no-such-package is missing" in text
    assert "-m pip install llvmlite==0.1.0 mlopt-no-such-package==1.0" in text
    monkeypatch.setenv(versions.ANY_VERSIONS_VARIABLE, "1")
    versions.check_versions()


def test_importing_mlopt_imports_nothing_heavy() -> None:
    code = (
        "import sys, mlopt; "
        "heavy = {'torch', 'mlir', 'torch_mlir', 'numpy', 'llvmlite'} & set(sys.modules); "
        "assert not heavy, heavy; assert 'jit' in dir(mlopt)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd="/")


def test_an_unknown_name_is_an_attribute_error() -> None:
    import mlopt

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mlopt.nothing


# What each folder may import of the package, besides its own modules: lower levels, and what all share.
SHARED = {"errors", "options", "processors", "tables", "versions"}
LEVELS = {
    "dialects": set(),
    "passes": {"dialects"},
    "frontends": {"dialects"},
    "pipelines": {"dialects", "passes", "runtime"},
    "runtime": {"dialects", "frontends"},
}


@pytest.mark.parametrize("folder", LEVELS)
def test_imports_go_one_way(folder):
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        package = path.relative_to(ROOT).parts[:-1]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level > len(package):
                names = [node.module] if node.module else [alias.name for alias in node.names]
                found.update({name.split(".")[0]: path.name for name in names})
    allowed = LEVELS[folder] | SHARED | {folder}
    assert {name: file for name, file in found.items() if name not in allowed} == {}


def test_attributes_are_named_in_one_place() -> None:
    declared = (ROOT / "dialects" / "attributes.py").read_text()
    names = re.findall(r'Mark\("(mlopt\.\w+)"', declared)
    assert len(names) > 20
    literal = re.compile(r"""["']({})["']""".format("|".join(map(re.escape, names))))
    files = [path for folder in ("passes", "pipelines") for path in (ROOT / folder).rglob("*.py")]
    found = [(path.name, name) for path in files for name in literal.findall(path.read_text())]
    assert found == []


def test_every_pass_has_a_lit_test_and_one_of_what_it_refuses() -> None:
    tests = {path.name for folder in ("passes", "cpu", "gpu") for path in (ROOT / "test" / folder).iterdir()}
    files = [path for folder in (".", "cpu", "gpu") for path in (ROOT / "passes" / folder).glob("*.py")]
    texts = [path.read_text() for path in files]
    names = [name for text in texts for name in re.findall(r'= "mlopt-(?:cpu-|gpu-)?([\w-]+)"', text)]
    assert len(names) > 20
    wanted = [f"{name}{kind}.mlir" for name in names for kind in ("", "-reject")]
    assert [name for name in wanted if name not in tests] == []
