"""The pages about passes: made from the sources, and a guide whose code is run as it stands there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mlopt import options

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs" / "writing-passes.md").read_text(), re.DOTALL)


def run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{BIN}:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(folder), "MLOPT_CACHE": "0"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def block(kind: str, containing: str) -> str:
    return next(text for language, text in BLOCKS if language == kind and containing in text)


@pytest.mark.parametrize(
    ("page", "module"),
    [("options.md", "mlopt.options"), ("passes.md", "mlopt.tools.opt_driver.reference")],
)
def test_pages_made_from_the_sources_are_current(page: str, module: str) -> None:
    made = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / page).read_text() == made, f"run: python -m {module} > docs/{page}"
    assert options.table().startswith("# Options")


def test_the_page_of_the_tool_lists_the_stages() -> None:
    page = (ROOT / "docs" / "mlopt-opt.md").read_text()
    code = "from mlopt.tools.opt_driver.named_pipelines import PIPELINES as all\n"
    row = "f'| `--{name}` | ' + ', '.join(f'`{stage.name}`' for stage in all[name]().stages()) + ' |'"
    command = [sys.executable, "-c", f"{code}for name in all: print({row})"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(made.splitlines()) == 2
    assert all(line in page for line in made.splitlines())


def test_the_guide_leads_to_a_tested_pass(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "passes" / "lit.cfg.py", tmp_path)
    (tmp_path / "halve.mlir").write_text(block("mlir", "RUN"))
    assert run("lit", ".", folder=tmp_path).returncode == 1  # there is no pass yet
    (tmp_path / "halve.py").write_text(block("python", "class Halve"))
    done = run("lit", "-v", ".", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    for line in block("sh", "--describe").splitlines():
        done = run("sh", "-c", line, folder=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "Multiply by 1/c instead of dividing" in done.stdout
    (tmp_path / "run.py").write_text(block("python", "mlopt.jit"))
    done = run(str(BIN / "python"), "run.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "arith.mulf" in done.stdout


def test_an_option_joins_the_pass_as_the_guide_says(tmp_path: Path) -> None:
    source = block("python", "class Halve")
    name = '    name: ClassVar[str] = "halve"\n'
    assert name in source
    (tmp_path / "halve.py").write_text(source.replace(name, block("python", "least: float")))
    (tmp_path / "halve.mlir").write_text(block("mlir", "RUN"))
    command = ["mlopt-opt", "halve.mlir", "--load-pass-plugin=halve.py"]
    assert run(*command, "--halve=least=4", folder=tmp_path).returncode == 0
    wrong = run(*command, "--halve=lest=4", folder=tmp_path)
    assert "halve: no option 'lest'; did you mean 'least'?" in wrong.stderr
    assert wrong.returncode == 1


def test_neither_numpy_nor_torch_nor_site_is_imported(tmp_path: Path) -> None:
    plugin = ROOT / "examples" / "passes" / "double_negation.py"
    (tmp_path / "in.mlir").write_text("func.func @f(%x: f32) -> f32 { return %x : f32 }")
    for flags in ([f"--load-pass-plugin={plugin}", "--double-negation"], ["--mlopt-guard-division"]):
        command = [str(BIN / "python"), "-S", "-X", "importtime", str(BIN / "mlopt-opt"), "in.mlir", *flags]
        done = run(*command, folder=tmp_path)
        assert done.returncode == 0, done.stderr[-2000:]
        imported = set(re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE))
        assert "mlir._mlir_libs._mlir" in imported
        assert not imported & {"numpy.core", "numpy._core", "torch", "site", "logging"}
