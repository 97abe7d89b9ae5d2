"""ptxas, NVIDIA's assembler: PTX to machine code, and what it says about each kernel.

It comes with the package nvidia-cuda-nvcc (mlopt[cuda] pins a version) or with a CUDA
toolkit. Without it programs still run: the driver compiles PTX when it loads it.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import CompileError, CompileTimeout, MloptError
from .chips import Chip

# The first release that reads PTX 8.0, which all chips need.
OLDEST_RELEASE = (12, 0)
_SECONDS = 60
_DISASSEMBLY_SECONDS = 600  # it takes one or two, but other programs may have the machine
# Whoever waits for a compile worker has a limit of their own (`Options.timeout`); this one is for the others.
_ASSEMBLY_SECONDS = 3600
_NOTHING = subprocess.DEVNULL  # a worker's own input is not for others
# Below Python's folder of packages: the pinned package first, then what others bring.
_BUNDLED = ("nvidia/cu13/bin", "nvidia/cuda_nvcc/bin", "triton/backends/nvidia/bin")


@dataclass(frozen=True)
class Ptxas:
    """One ptxas: where it is, and its release."""

    path: str
    release: tuple[int, int]

    @property
    def version(self) -> str:
        return f"{self.release[0]}.{self.release[1]}"


@dataclass(frozen=True)
class KernelCode:
    """What ptxas says of one kernel: registers a thread, bytes of spills, stack and static shared memory."""

    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int


@dataclass(frozen=True)
class Assembled:
    """Machine code, and what ptxas printed: by kernel, and its warnings.

    Warnings also hold advice (C75xx), such as that wgmma instructions were serialised.
    """

    cubin: bytes
    kernels: dict[str, KernelCode]
    warnings: tuple[str, ...]


def find_ptxas(chip: Chip) -> Ptxas | None:
    """A ptxas that knows ``chip``, or None; CompileTimeout if one does not say in time what it knows."""
    for path in tool_paths("ptxas"):
        release, chips = _examine(path)
        if release >= OLDEST_RELEASE and chip.name in chips:
            return Ptxas(path, release)
    return None


def tool_paths(name: str) -> Iterator[str]:
    """Where a tool of the CUDA toolkit is, in the order of preference."""
    packages = Path(sysconfig.get_paths()["purelib"])
    for folder in _BUNDLED:
        if (packages / folder / name).is_file():
            yield str(packages / folder / name)
    on_path = shutil.which(name)
    if on_path:
        yield on_path


def assemble(ptx: str, chip: Chip, ptxas: Ptxas) -> Assembled:
    """Machine code for ``chip``; CompileError with what ptxas printed if it refuses ``ptx``.

    CompileTimeout if it takes longer than an hour.
    """
    with tempfile.TemporaryDirectory(prefix="mlopt-ptxas-") as folder:
        source, target = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [ptxas.path, "-v", "-O3", f"-arch={chip.name}", str(source), "-o", str(target)]
        try:
            done = _run(command, _ASSEMBLY_SECONDS)
        except subprocess.TimeoutExpired:
            raise CompileTimeout(
                f"ptxas {ptxas.version} took longer than {_ASSEMBLY_SECONDS} s for {chip.name}",
                remedy="compile less at once: the kernels are too large for it",
            ) from None
        printed = done.stdout + done.stderr
        if done.returncode:
            raise CompileError(
                f"ptxas {ptxas.version} refuses the PTX for {chip.name}",
                details=printed.replace(str(source), "kernels.ptx"),
                remedy="This is a bug in mlopt or in LLVM: please report it.",
            )
        return Assembled(target.read_bytes(), parse_kernels(printed), parse_warnings(printed))


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CODE = re.compile(r"\(C\d{4}\)")


def parse_kernels(printed: str) -> dict[str, KernelCode]:
    """The statistics that ``ptxas -v`` prints, by kernel."""
    parts = _ENTRY.split(printed)[1:]
    return {name: _parse_kernel(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _parse_kernel(text: str) -> KernelCode:
    stack, used, shared = _STACK.search(text), _USED.search(text), _SHARED.search(text)
    frame, stores, loads = map(int, stack.groups()) if stack else (0, 0, 0)
    return KernelCode(int(used[1]) if used else 0, stores, loads, frame, int(shared[1]) if shared else 0)


def parse_warnings(printed: str) -> tuple[str, ...]:
    """The lines with a warning, or with advice that has a number, each once."""
    lines = [line.strip() for line in printed.splitlines()]
    return tuple(
        dict.fromkeys(line for line in lines if line.startswith("ptxas warning") or _CODE.search(line))
    )


@functools.cache
def _examine(path: str) -> tuple[tuple[int, int], frozenset[str]]:
    """The release of the ptxas at ``path`` and the chips that it knows; (0, 0) if it does not run."""
    release = re.search(r"release (\d+)\.(\d+)", _output(path, "--version"))
    if release is None:
        return (0, 0), frozenset()
    return (int(release[1]), int(release[2])), frozenset(re.findall(r"'(sm_\w+)'", _output(path, "--help")))


def _output(path: str, question: str) -> str:
    try:
        return _run([path, question], _SECONDS).stdout
    except OSError:
        return ""
    except subprocess.TimeoutExpired:
        # Not passed over: code would depend on how busy the machine is, and be kept so in the cache.
        raise CompileTimeout(
            f"{path} {question} took longer than {_SECONDS} s",
            remedy=f"compile again while the machine is less busy; if it hangs, remove {path}",
        ) from None


def _run(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=_NOTHING, capture_output=True, text=True, check=False, timeout=seconds
    )


def disassemble_cubin(cubin: bytes) -> str:
    """The machine code of kernels (SASS) as text, by nvdisasm.

    MloptError if that is not there or cannot read ``cubin``; CompileTimeout after ten minutes.
    """
    tool = next(tool_paths("nvdisasm"), None)
    if tool is None:
        raise MloptError(
            "nvdisasm is not there",
            remedy="pip install 'mlopt[cuda]'; asm.cubin has the machine code's bytes",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        try:
            done = _run([tool, "--print-code", file.name], _DISASSEMBLY_SECONDS)
        except OSError as error:
            raise MloptError(
                "nvdisasm does not run", where=tool, details=str(error), remedy="pip install 'mlopt[cuda]'"
            ) from None
        except subprocess.TimeoutExpired:
            raise CompileTimeout(
                f"nvdisasm took longer than {_DISASSEMBLY_SECONDS} s for {len(cubin)} bytes of machine code",
                where=tool,
                remedy="ask again while the machine is less busy; asm.cubin has the machine code's bytes",
            ) from None
    if done.returncode:
        raise MloptError(
            "nvdisasm cannot read the machine code",
            where=tool,
            details=done.stderr.replace(file.name, "kernels.cubin"),
            remedy="install one that is as new as ptxas: pip install 'mlopt[cuda]'",
        )
    return done.stdout
