"""User passes in mlopt.jit and mlopt.compile_mlir, and compilation resumed from the IR of a stage."""

import os
import subprocess
import sys
from pathlib import Path

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError
from mlopt.passes import registry
from mlopt.tools.opt_driver import handover

INPUTS = Path(__file__).parent.parent / "tools" / "Inputs"
PASSES = Path(__file__).parent.parent.parent / "examples" / "passes"
TEXT = """
func.func @main(%x: tensor<7x16xf32>, %w: tensor<16x16xf32> {mlopt.weight}) -> tensor<7x16xf32> {
  %e = tensor.empty() : tensor<16x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<7x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<7x16xf32>) -> tensor<7x16xf32>
  %r = linalg.matmul ins(%x, %t : tensor<7x16xf32>, tensor<16x16xf32>)
      outs(%f : tensor<7x16xf32>) -> tensor<7x16xf32>
  %s = math.tanh %r : tensor<7x16xf32>
  return %s : tensor<7x16xf32>
}"""
RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((7, 16)).astype("f"), RNG.standard_normal((16, 16)).astype("f")
PRODUCT = X.astype("d") @ W.T.astype("d")
GPU = {"target": "cuda:sm_80", "device": "emulator"}


def close(got: object, exact: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(got), exact, rtol=1e-5, atol=1e-5)


# --- stage=


@pytest.mark.parametrize("stage", ["linalg", "kernels", "tile", "loops", "llvm"])
def test_compilation_goes_on_from_each_stage(stage: str) -> None:
    whole = mlopt.compile_mlir(TEXT)
    resumed = mlopt.compile_mlir(whole.asm[stage], stage=stage)
    close(resumed(X, W), np.tanh(PRODUCT))
    assert list(resumed.asm) == list(whole.asm)[list(whole.asm).index(stage) :]
    assert [kernel.name for kernel in resumed.kernels] == [kernel.name for kernel in whole.kernels]


@pytest.mark.parametrize("stage", ["kernels", "layouts", "threads", "nvvm"])
def test_for_a_gpu_too(stage: str) -> None:
    text = mlopt.compile_mlir(TEXT, **GPU).asm[stage]
    close(mlopt.compile_mlir(text, stage=stage, **GPU)(torch.tensor(X), torch.tensor(W)), np.tanh(PRODUCT))


@pytest.mark.parametrize("stage", ["linalg", "tile"])
def test_what_was_edited_is_what_runs(stage: str) -> None:
    text = mlopt.compile_mlir(TEXT).asm[stage]
    assert "math.tanh" in text
    close(mlopt.compile_mlir(text.replace("math.tanh", "math.absf"), stage=stage)(X, W), abs(PRODUCT))


@pytest.mark.parametrize(
    ("stage", "edit", "message"),
    [
        ("tile", lambda text: TEXT, r'stage "tile" leaves a function @main with memrefs'),
        ("tile", lambda text: text.replace("scf.forall ", "scf.foral "), r"line \d+, column \d+: "),
        (
            "loops",
            lambda text: text.split("// mlopt-program")[0],
            "lacks the line that says what",
        ),
        ("llvm", lambda text: mlopt.compile_mlir(TEXT).asm["tile"], r"may not remain after stage 'llvm'"),
        ("tiel", lambda text: text, r"no stage 'tiel'; did you mean 'tile'\?\n[\s\S]*linalg, kernels, tile"),
    ],
)
def test_text_that_is_not_of_the_stage_is_refused(stage, edit, message) -> None:
    asm = mlopt.compile_mlir(TEXT).asm
    with pytest.raises(CompileError, match=message):
        mlopt.compile_mlir(edit(asm.get(stage, TEXT)), stage=stage)


# --- passes=


def test_passes_of_a_plug_in_join_the_pipeline(capfd: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU())
    plugin = PASSES / "count_ops.py"
    x = torch.randn(5, 16)
    compiled = mlopt.jit(model, x, passes=["count-ops", "count-ops after tile"], pass_plugins=[plugin])
    close(compiled(x).detach(), model(x).detach().numpy())
    printed = capfd.readouterr().out
    assert "linalg.matmul" in printed  # before the stage "kernels", unless a place is named
    assert "vector.contract" in printed


def test_a_schedule_override_changes_the_tiles() -> None:
    plugin = str(PASSES / "set_tile.py")
    place = "set-tile{kernel=matmul tile=4,8} after mlopt-schedule"
    compiled = mlopt.compile_mlir(TEXT, passes=place, pass_plugins=plugin)
    close(compiled(X, W), np.tanh(PRODUCT))
    assert any("tile = array<i64: 4, 8" in kernel.schedule for kernel in compiled.kernels)


def test_the_environment_names_passes(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setenv("MLOPT_PASS_PLUGINS", str(PASSES / "count_ops.py"))
    monkeypatch.setenv("MLOPT_PASSES", "count-ops before linalg; count-ops after kernels")
    mlopt.compile_mlir(TEXT)
    assert capfd.readouterr().out.count("@main") == 2


def test_a_plug_in_is_read_anew_and_forgotten(tmp_path: Path, capfd) -> None:
    plugin = tmp_path / "mine.py"
    source = (PASSES / "count_ops.py").read_text()
    for word in ("one", "another"):
        plugin.write_text(source.replace("count-ops", f"count-{word}").replace("print(", f"print('{word}', "))
        mlopt.compile_mlir(TEXT, passes=f"count-{word}", pass_plugins=plugin)
        assert word in capfd.readouterr().out
    with pytest.raises(CompileError, match="unknown pass 'count-another'"):
        mlopt.compile_mlir(TEXT, passes="count-another")


def test_passes_of_installed_packages_are_found() -> None:
    code = (
        f"import mlopt; print(mlopt.compile_mlir('''{TEXT}''', passes='their-pass{{note=seen}}').asm['tile'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(INPUTS / "package")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert 'their.note = "seen"' in done.stdout
    assert registry.ENTRY_POINT_GROUP == handover.ENTRY_POINT_GROUP
    assert registry.PLUGINS_VARIABLE == handover.PLUGINS_VARIABLE


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("count-opps", r"unknown pass 'count-opps'; did you mean 'count-ops'"),
        ("count-ops{mots=1}", r"count-ops: no option 'mots'; did you mean 'most'"),
        ("count-ops after til", r"the place 'til', which is no stage[\s\S]*did you mean 'mlopt-tile'"),
        ("count-ops before cse", r"'cse', which runs \d+ times"),
        ("count-ops{", "never closed"),
        (" after tile", "names no pass"),
        (
            "count-ops{most=1}",
            r"pass count-ops\{most=1\} failed\n.*more than 1 op.*\n.*line 2, column 1",
        ),
    ],
)
def test_what_is_wrong_with_passes_is_said(passes: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        mlopt.compile_mlir(TEXT, passes=passes, pass_plugins=PASSES / "count_ops.py")
    assert len(str(caught.value).splitlines()) <= 15


def test_passes_need_a_stage_to_run_in() -> None:
    text = mlopt.compile_mlir(TEXT).asm["llvm"]
    with pytest.raises(CompileError, match="no stage is left"):
        mlopt.compile_mlir(text, stage="llvm", passes="count-ops", pass_plugins=PASSES / "count_ops.py")


def test_a_plug_in_with_a_mistake_is_named(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("import mlopt\n1 / 0\n")
    with pytest.raises(CompileError, match=r"cannot be loaded: ZeroDivisionError[\s\S]*mine.py:2"):
        mlopt.compile_mlir(TEXT, pass_plugins=plugin)
    with pytest.raises(CompileError, match="calls a pass 'cse', as MLIR does"):
        mlopt.compile_mlir(TEXT, passes="cse", pass_plugins=INPUTS / "misdeclared.py")
    with pytest.raises(CompileError, match="expected texts, got 3"):
        mlopt.compile_mlir(TEXT, passes=3)


def failing_with(plugin: Path) -> list[str]:
    """What the API and the tool say, in a process each, while the environment names a plug-in."""
    environment = {**os.environ, "MLOPT_PASS_PLUGINS": str(plugin), "MLOPT_CACHE": "0"}
    code = (
        f"import mlopt\ntry: mlopt.compile_mlir('''{TEXT}''')\nexcept mlopt.CompileError as e: exit(str(e))"
    )
    tool = [str(Path(sys.executable).with_name("mlopt-opt")), "--cse", "--mlopt-verify"]
    said = []
    for command in ([sys.executable, "-c", code], tool):
        done = subprocess.run(command, input="", env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        said.append(done.stderr)
    return said


def test_a_plug_in_of_the_environment_with_a_mistake_is_named_too(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("def x(:\n")
    for said in failing_with(plugin):
        assert f"the pass plug-in {plugin}, which MLOPT_PASS_PLUGINS names, cannot be loaded" in said
        assert "line 1" in said
        assert len(said.splitlines()) <= 2


@pytest.mark.parametrize(("name", "whose"), [("cse", "MLIR"), ("mlopt-fuse", "mlopt")])
def test_nor_can_it_take_the_place_of_another_pass(name: str, whose: str, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text((PASSES / "count_ops.py").read_text().replace('"count-ops"', f'"{name}"'))
    by_api, by_tool = failing_with(plugin)
    assert f"{plugin} calls a pass '{name}', as {whose} does" in by_api
    assert "give" in by_tool


def test_nor_can_an_installed_one() -> None:
    with registry.registered_for_now():
        with pytest.raises(registry.PluginError, match=r"'mlopt-fuse = a:B' calls a pass 'mlopt-fuse'"):
            registry.add_installed({"mlopt-fuse": "a:B"})
        assert not registry.is_foreign("mlopt-fuse")
