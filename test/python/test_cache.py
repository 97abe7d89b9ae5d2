"""The compile cache: what makes a hit and what a miss, and that a hit asks no worker."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import time
import warnings

import mlopt
import numpy as np
import pytest
import torch
from mlopt.errors import CompileError, MloptError
from mlopt.options import Options
from mlopt.passes import registry
from mlopt.pipelines import compile_cuda
from mlopt.runtime import cache, cache_key, pool, requests
from mlopt.runtime.cache_folder import Folder
from mlopt.tools.cache import ago
from mlopt.tools.cli import app
from typer.testing import CliRunner

RELU = """
func.func @main(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : tensor<4x?xf32>
  %e = tensor.empty(%n) : tensor<4x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xf32>) outs(%e : tensor<4x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<4x?xf32>
  return %y : tensor<4x?xf32>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache; files that are edited while the tests run do not count."""
    monkeypatch.setenv("MLOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "code_version_now", cache_key.code_version)
    cache._warn_once.cache_clear()
    return Folder(tmp_path / "cache", 1 << 30)


@pytest.fixture
def calls(monkeypatch):
    """The requests that reach the workers."""
    made = []
    original = pool.call

    def call(role, *args, **kwargs):
        made.append(role)
        return original(role, *args, **kwargs)

    monkeypatch.setattr(pool, "call", call)
    return made


def key(text="a", **options):
    return cache_key.key_of("linalg", {"text": text, "func_name": "main"}, Options.resolve(**options))


def test_the_second_compilation_asks_no_worker(calls, rng):
    x = rng.standard_normal((4, 7), np.float32)
    first = mlopt.compile_mlir(RELU)
    assert calls == ["compile"]
    second = mlopt.compile_mlir(RELU)
    assert calls == ["compile"]
    np.testing.assert_array_equal(second(x), np.maximum(x, 0))
    np.testing.assert_array_equal(second(x), first(x))
    assert dict(second.asm) == dict(first.asm)
    assert list(second.asm) == list(first.asm)
    assert second.kernels == first.kernels


def test_modules_are_found_too(calls):
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)).eval()
    x = torch.randn(3, 8)
    with torch.no_grad():
        first = mlopt.jit(model, x)
        assert calls == ["import", "compile"]
        torch.nn.init.normal_(model[0].weight)  # weights are arguments: other values, the same code
        second = mlopt.jit(model, x)
        assert calls == ["import", "compile"]
        assert torch.equal(second(x), first(x))
        torch.testing.assert_close(second(x), model(x))
    assert dict(second.asm) == dict(first.asm)
    assert second.report.ops == first.report.ops


def test_what_decides_the_code_decides_the_key():
    keys = [
        key(),
        key("b"),
        key(opt_level=1),
        key(cpu="x86-64-v3"),
        key(features="-fma"),
        cache_key.key_of("torch", {"text": "a", "func_name": "main"}, Options.resolve()),
        cache_key.key_of("linalg", {"text": "a", "func_name": "other"}, Options.resolve()),
    ]
    assert len(set(keys)) == len(keys)
    assert None not in keys


def test_what_does_not_decide_it_does_not():
    assert key() == key(timeout=5.0) == key(verify=True) == key(fallback=True) == key(cache_megabytes=5)


def test_versions_are_in_the_key(monkeypatch):
    before = key()
    versions = cache_key.found_versions()
    for name in versions:
        monkeypatch.setattr(cache_key, "found_versions", lambda name=name: {**versions, name: "0"})
        assert key() != before
    monkeypatch.setattr(cache_key, "found_versions", lambda: versions)
    assert key() == before
    monkeypatch.setattr(cache_key, "code_version", lambda: "other")
    assert key() != before


def test_the_host_is_in_the_key(monkeypatch):
    host, named = key(), key(cpu="znver4")
    monkeypatch.setattr(cache_key, "host_processor", lambda: "another")
    assert key() != host
    assert key(cpu="znver4") == named
    monkeypatch.setattr(cache_key, "host_processor", lambda: "")
    assert key() is None
    assert key(cpu="znver4") == named


def test_processors_are_told_apart():
    found = dict(zip(cache_key._CPU_FIELDS, json.loads(cache_key.host_processor()), strict=True))
    assert "sse2" in found["flags"].split()
    assert found["vendor_id"]


def test_the_assembler_is_in_the_key_of_gpus(monkeypatch, tmp_path):
    gpu = dataclasses.replace(Options.resolve(), target="cuda:sm_80")
    keys, cpu = [], key()
    for content in (None, "a", "longer"):
        if content is not None:
            (tmp_path / "ptxas").write_text(content)
            (tmp_path / "ptxas").chmod(0o755)
            monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
        keys.append(cache_key.key_of("linalg", {}, gpu))
    assert len({*keys}) == 3
    assert None not in keys
    assert key() == cpu


def test_what_a_gpu_program_is_survives():
    text = RELU.replace("4x?xf32", "4x64xf32").replace("%n = tensor.dim %x, %one : tensor<4x64xf32>", "")
    built = compile_cuda.compile_text(text.replace("tensor.empty(%n)", "tensor.empty()"), chip="sm_80")
    again = cache.unpack(cache.pack(built))
    assert dict(again.pop("stages")) == built.pop("stages")
    assert again == built


def test_plugins_switch_it_off(monkeypatch):
    assert cache_key.PLUGINS_VARIABLE == registry.PLUGINS_VARIABLE
    monkeypatch.setenv(cache_key.PLUGINS_VARIABLE, "/somewhere/pass.py")
    assert key() is None


def test_every_file_of_the_package_is_in_the_code_version(tmp_path):
    (tmp_path / "passes" / "cpu").mkdir(parents=True)
    (tmp_path / "test").mkdir()
    for name in ("__init__.py", "compiler.py", "passes/__init__.py", "passes/cpu/entry.py", "test/test_x.py"):
        (tmp_path / name).write_text("a")
    seen = {cache_key.hash_of_sources(tmp_path)}
    for name in ("compiler.py", "passes/cpu/entry.py", "passes/new.mlir"):
        (tmp_path / name).write_text("b")
        seen.add(cache_key.hash_of_sources(tmp_path))
    (tmp_path / "passes" / "new.mlir").rename(tmp_path / "passes" / "old.mlir")
    seen.add(cache_key.hash_of_sources(tmp_path))
    assert len(seen) == 5
    (tmp_path / "test" / "test_x.py").write_text("b")
    (tmp_path / "passes" / "notes.txt").write_text("b")
    assert cache_key.hash_of_sources(tmp_path) in seen


def test_the_code_version_is_another_after_each_edit(monkeypatch, tmp_path):
    package, path = tmp_path / "passes", tmp_path / "passes" / "fuse.py"
    (package / "empty").mkdir(parents=True)
    for file in (tmp_path / "options.py", package / "__init__.py", path):
        file.write_text("a")
    monkeypatch.setattr(cache_key, "__file__", str(tmp_path / "runtime" / "cache_key.py"))
    monkeypatch.setattr(cache_key, "_hashed", None)
    monkeypatch.setattr(cache_key, "_SETTLED", 0.02)
    read = []
    whole = cache_key.hash_of_sources
    monkeypatch.setattr(cache_key, "hash_of_sources", lambda root: read.append(root) or whole(root))
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns

    def edit_in_place():
        path.write_text("b")  # as many bytes
        os.utime(path, ns=times)

    edits = [
        lambda: None,
        edit_in_place,
        lambda: (package / "new.mlir").write_text(""),
        lambda: (package / "empty" / "new.py").write_text(""),
        lambda: path.rename(package / "fusion.py"),
        lambda: (package / "new.mlir").unlink(),
    ]
    versions = []
    for edit in edits:
        edit()
        versions.append(cache_key.code_version_now())  # at once, when the file system's clock tells nothing
        time.sleep(0.05)
        for _ in range(3):
            assert cache_key.code_version_now() == versions[-1] == whole(tmp_path)
    assert len(set(versions)) == len(edits)
    assert len(read) <= 2 * len(edits)  # at once, and when that was settled


def test_nothing_is_stored_once_the_code_was_edited(monkeypatch, folder):
    monkeypatch.setattr(cache, "code_version_now", lambda: "edited")
    mlopt.compile_mlir(RELU)
    assert folder.entries() == []


def test_failures_are_not_stored(folder, calls):
    for _ in range(2):
        with pytest.raises(CompileError):
            mlopt.compile_mlir(RELU.replace("linalg.yield %m", "linalg.yield %x"))
    assert calls == ["compile", "compile"]
    assert folder.entries() == []


def test_it_can_be_switched_off(monkeypatch, folder, calls):
    mlopt.compile_mlir(RELU, cache=False)
    monkeypatch.setenv("MLOPT_CACHE", "0")
    mlopt.compile_mlir(RELU)
    assert calls == ["compile", "compile"]
    assert not folder.path.exists()


def test_a_damaged_entry_is_compiled_again(folder, calls):
    mlopt.compile_mlir(RELU)
    (entry,) = folder.path.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = mlopt.compile_mlir(RELU)
    assert calls == ["compile", "compile"]
    assert again(np.ones((4, 2), np.float32)).shape == (4, 2)
    assert len(folder.entries()) == 1


def test_a_refused_folder_is_one_warning(folder, calls):
    folder.open()
    folder.path.chmod(0o777)
    with pytest.warns(UserWarning, match=f"without its cache on disk: others may write to {folder.path}"):
        mlopt.compile_mlir(RELU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mlopt.compile_mlir(RELU)
    assert calls == ["compile", "compile"]
    assert list(folder.path.iterdir()) == []


def test_a_full_disk_is_one_warning(monkeypatch, calls):
    def put(self, *args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "put", put)
    with pytest.warns(UserWarning, match="cannot be written: No space left on device"):
        mlopt.compile_mlir(RELU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = mlopt.compile_mlir(RELU)
    assert compiled(np.ones((4, 2), np.float32)).shape == (4, 2)


def test_what_is_packed_is_unpacked():
    built = {
        "object": b"\x7fELF\0",
        "metadata": {"functions": {"a": [None, 1, "é"]}},
        "ptx": "text",
        "n": [1],
    }
    stages = {"torch": "a", "linalg": "é\n"}
    again = cache.unpack(cache.pack({**built, "stages": stages}))
    texts = again.pop("stages")
    assert again == built
    assert dict(texts) == stages
    assert list(texts) == list(stages)
    assert "none" not in texts
    with pytest.raises(TypeError):
        cache.pack({"metadata": object()})


def test_metadata_survives_json():
    built = requests._compile(RELU, Options.resolve(), "main")
    assert json.loads(json.dumps(built["metadata"])) == built["metadata"]
    assert set(cache.unpack(cache.pack(built))) == set(built)


IN_A_PROCESS = """
import subprocess, sys
import numpy as np
import mlopt
from mlopt.runtime import cache, cache_key, pool

# Files that are edited while the tests run do not count.
cache.code_version = cache.code_version_now = cache_key.code_version = lambda: "the same"
if sys.argv[2] == "warm":
    def refuse(*args, **kwargs):
        raise AssertionError("a process was started")
    subprocess.Popen = refuse
compiled = mlopt.compile_mlir(open(sys.argv[1]).read())
x = np.linspace(-1, 1, 4 * 13, dtype=np.float32).reshape(4, 13)
sys.stdout.write(compiled(x).tobytes().hex())
assert bool(pool.pids("compile")) == (sys.argv[2] != "warm")
loaded = [name for name in sys.modules if name.split(".")[0] in ("mlir", "torch", "torch_mlir")]
assert not loaded, loaded
"""


def start(text, kind):
    command = [sys.executable, "-c", textwrap.dedent(IN_A_PROCESS), str(text), kind]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    return output


def test_processes_share_it(tmp_path, folder):
    text = tmp_path / "relu.mlir"
    text.write_text(RELU)
    both = [start(text, "cold"), start(text, "cold")]  # at once: each compiles, neither harms the other
    cold = {finish(process) for process in both}
    assert len(folder.entries()) == 1
    assert cold == {finish(start(text, "warm"))}


def run_tool(*arguments):
    return CliRunner().invoke(app, ["cache", *arguments])


def test_the_tool_shows_and_clears_it(folder):
    assert "0 entries, 0.00 MB of 1024 MB" in run_tool().output
    mlopt.compile_mlir(RELU)
    mlopt.compile_mlir(RELU, opt_level=1)
    (first, second) = folder.entries()
    os.utime(folder.path / f"{second.key}.entry", (time.time() - 7300,) * 2)
    shown = run_tool().output.splitlines()
    assert shown[0].startswith(f"{folder.path}: 2 entries, ")
    assert [line.split()[0:2] for line in shown[2:]] == [
        ["@main", first.key[:12]],
        ["@main", second.key[:12]],
    ]
    assert shown[-1].rstrip().endswith("2 h")
    data = json.loads(run_tool("--json").output)
    assert data["folder"] == str(folder.path)
    assert data["size"] == first.size + second.size
    assert [entry["key"] for entry in data["entries"]] == [first.key, second.key]
    assert 0 <= data["entries"][0]["made"] < 60
    assert "removed 2 entries" in run_tool("--clear").output
    assert folder.entries() == []


def test_the_tool_names_a_folder_that_it_refuses(folder):
    folder.open()
    folder.path.chmod(0o777)
    with pytest.raises(MloptError, match=f"others may write to {folder.path}"):
        CliRunner().invoke(app, ["cache"], catch_exceptions=False)


def test_ages_are_readable():
    ages = [None, 0.2, 119, 120, 7199, 7200, 86400 * 3]
    assert [ago(seconds) for seconds in ages] == ["?", "0 s", "119 s", "2 min", "120 min", "2 h", "3 days"]
