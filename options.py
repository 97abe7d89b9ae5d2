"""The options of a compilation: one table of defaults, environment variables and help.

An argument beats the environment, the environment beats the default. `Options.key` is a hash
of what decides the generated code; nothing else may change it. docs/options.md is written by
``python -m mlopt.options``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import CompileError
from .processors import CPUS, did_you_mean, feature_problem
from .runtime.cuda.chips import PREFIX as CUDA_PREFIX
from .runtime.cuda.chips import TOO_OLD, chip_names

TARGETS = ("cpu", *(CUDA_PREFIX + name for name in chip_names()))


def _option(
    default: Any,
    text: str,
    *,
    choices: tuple[Any, ...] = (),
    changes_code: bool = False,
    separator: str = "",
) -> Any:
    """A field; ``separator`` stands between the elements of a tuple in the environment."""
    metadata = {"text": text, "choices": choices, "changes_code": changes_code, "separator": separator}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Options:
    """What `mlopt.jit` and `mlopt.compile_mlir` take as keyword arguments."""

    target: str = _option("cpu", "What to compile for.", choices=TARGETS, changes_code=True)
    device: str = _option(
        "gpu",
        "What runs programs for GPUs: the GPU, or an emulator on the CPU (docs/cuda.md).",
        choices=("gpu", "emulator"),
    )
    cpu: str = _option(
        "host",
        "The processor, by LLVM's name; host is the one that compiles. "
        "x86-64-v3 has AVX2, x86-64-v4 AVX-512.",
        choices=CPUS,
        changes_code=True,
    )
    features: str = _option(
        "",
        "Processor features to add or to leave out, as LLVM spells them: +avx512f,-fma.",
        changes_code=True,
    )
    opt_level: int = _option(2, "LLVM's optimization level.", choices=(0, 1, 2, 3), changes_code=True)
    fast_math: bool = _option(
        False,
        "Arithmetic as that of real numbers: reciprocals, fused multiply-adds, joined constants, x - x = 0. "
        "Results differ in their last bits, and where there are NaN or infinities (docs/semantics.md).",
        changes_code=True,
    )
    tune: bool = _option(
        False,
        "Measure a few schedules of each kernel, with the number of threads of now or on the GPU, and keep "
        "the fastest (docs/tuning.md).",
        changes_code=True,
    )
    cuda_graph: bool = _option(
        False,
        "Launch the kernels of a call on a GPU as one CUDA graph, from the second call of its sizes on "
        "(docs/cuda.md); without effect on CPUs and on the emulator.",
    )
    fallback: bool = _option(
        False, "Run in eager what cannot be compiled, with a warning, instead of an error."
    )
    verify: bool = _option(False, "Compare the first call's results with eager's, computed in float64.")
    passes: tuple[str, ...] = _option(
        (),
        "Passes of the user's own, each as it stands in a pipeline, and where: "
        '`"my-pass{size=4} after mlopt-schedule"` (docs/writing-passes.md).',
        changes_code=True,
        separator=";",
    )
    pass_plugins: tuple[str, ...] = _option(
        (), "Python files that define such passes.", changes_code=True, separator=os.pathsep
    )
    timeout: float = _option(600.0, "Seconds that one step of a compilation may take.")
    cache: bool = _option(True, "Keep what was compiled on disk, and take it from there (docs/cache.md).")
    cache_dir: str = _option("", "The folder for that; by default mlopt in the user's cache folder.")
    cache_megabytes: int = _option(1024, "What the folder may hold; what was not used for longest goes.")

    @staticmethod
    def resolve(**given: Any) -> Options:
        """The options ``given``, the rest from the environment (``MLOPT_OPT_LEVEL=3``) or by default."""
        fields = {field.name: field for field in dataclasses.fields(Options)}
        for name in given:
            if name not in fields:
                raise CompileError(
                    f"there is no option '{name}'{did_you_mean(name, fields)}",
                    remedy=f"use one of: {', '.join(fields)}",
                )
        values = {}
        for name, field in fields.items():
            text = os.environ.get(variable(name))
            if name in given:
                values[name] = _checked(field, given[name], f"option {name}={given[name]!r}")
            elif text is not None:
                values[name] = _checked(field, _parsed(field, text), f"{variable(name)}={text}")
        resolved = Options(**values)
        if resolved.device != "gpu" and resolved.target == "cpu":
            raise CompileError(
                f'device="{resolved.device}" runs programs for GPUs, the target is the CPU',
                remedy='pass target="cuda:sm_80" too, or another of them',
            )
        if resolved.tune and resolved.cpu != "host":
            raise CompileError(
                f"tune=True measures on this CPU, and the program is for {resolved.cpu}",
                remedy="leave out tune, or cpu",
            )
        return resolved

    def of_capture(self) -> Options:
        """The options of what is made before a target is asked for: none but passes decides what that is."""
        fields = [field for field in dataclasses.fields(self) if field.metadata["changes_code"]]
        defaults: dict[str, Any] = {field.name: field.default for field in fields if "pass" not in field.name}
        return dataclasses.replace(self, **defaults)

    def key(self) -> str:
        """A hash of the options that decide the generated code."""
        fields = [field for field in dataclasses.fields(self) if field.metadata["changes_code"]]
        text = json.dumps([[field.name, getattr(self, field.name)] for field in fields])
        return hashlib.sha256(text.encode()).hexdigest()


def variable(name: str) -> str:
    """The environment variable of an option."""
    return f"MLOPT_{name.upper()}"


_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_PARSERS: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: _BOOLEANS[text.lower()],
}


def _parsed(field: dataclasses.Field[Any], text: str) -> Any:
    kind = type(field.default)
    if kind is tuple:
        return [each for each in text.split(field.metadata["separator"]) if each.strip()]
    try:
        return _PARSERS[kind](text)
    except (ValueError, KeyError):
        raise CompileError(f"{variable(field.name)}={text} is not a {kind.__name__}") from None


def _checked(field: dataclasses.Field[Any], value: Any, where: str) -> Any:
    kind, choices = type(field.default), field.metadata["choices"]
    if kind is float and type(value) is int:
        value = float(value)
    if kind is tuple:
        return _texts(value, where)
    if type(value) is not kind:
        raise CompileError(f"{where}: expected a {kind.__name__}, got a {type(value).__name__}")
    if choices and value not in choices:
        if field.name == "target" and re.fullmatch(r"cuda:sm_[1-7]\d", str(value)):
            raise CompileError(f"{where}: {TOO_OLD}", remedy="compile for cuda:sm_80 or newer")
        meant = "cuda:sm_" if field.name == "target" and value == "gpu" else str(value)
        near = did_you_mean(meant, choices) if kind is str else ""
        raise CompileError(
            f"{where} is not known{near}", remedy=f"use one of: {', '.join(map(str, choices))}"
        )
    if field.name == "features" and (problem := feature_problem(str(value))):
        raise CompileError(f"{where}: {problem}", remedy="llc -march=x86-64 -mattr=help lists them")
    if isinstance(value, int | float) and not isinstance(value, bool) and not choices and value <= 0:
        raise CompileError(f"{where} must be more than 0")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    """Several texts or paths, or a single one."""
    values = [value] if isinstance(value, str | os.PathLike) else value
    if not isinstance(values, list | tuple) or not all(
        isinstance(each, str | os.PathLike) for each in values
    ):
        raise CompileError(f"{where}: expected texts, got {value!r}")
    return tuple(map(os.fspath, values))


def table() -> str:
    """The options as a Markdown page: docs/options.md."""
    rows = [
        "# Options\n",
        "Keyword arguments of `mlopt.jit` and `mlopt.compile_mlir`. An argument beats the environment.",
        "(Written by `python -m mlopt.options`.)\n",
        "| option | environment | default | |",
        "|---|---|---|---|",
    ]
    for field in dataclasses.fields(Options):
        choices = field.metadata["choices"]
        text = field.metadata["text"] + (f" One of {', '.join(map(str, choices))}." if choices else "")
        rows.append(f"| `{field.name}` | `{variable(field.name)}` | `{field.default!r}` | {text} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(table(), end="")
