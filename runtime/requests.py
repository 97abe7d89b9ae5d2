"""The requests of a compilation: answered from the cache on disk, or made to the worker processes."""

from __future__ import annotations

import functools
import os
import re
from collections import ChainMap
from collections.abc import Sequence
from typing import Any

from ..options import Options
from . import pool, tuning, tuning_device
from .cache import Cached
from .cuda.chips import chip_of, is_cuda

_IMPORT = "mlopt.frontends.importer:import_text"
_COMPILE = "mlopt.pipelines.compile:compile_text"
_CANDIDATES = "mlopt.pipelines.candidates:candidate_schedules"
_COMPILE_CUDA = "mlopt.pipelines.compile_cuda:compile_text"
# Where an op comes from: it is in the errors of a compilation, not in what a compilation makes.
_SOURCE_LINE = re.compile(r' loc\("(?:[^"\\]|\\.)*":\d+:\d+\)$', re.MULTILINE)


def build_torch(
    text: str, weights: list[int], options: Options, label: str = "", shapes: tuning.Shapes | None = None
) -> dict[str, Any]:
    """Torch dialect text as an object, its stages and metadata; ``weights`` are argument numbers.

    ``label`` names the program in ``mlopt cache``. ``shapes`` of the inputs are what ``tune=True`` measures.
    """
    cached = torch_place(text, weights, options, label, shapes)
    built = cached.load()
    if built is None:
        pool.start()  # the compile worker loads while the import worker works
        linalg = import_program(text, weights, options)
        built = _compile(linalg, options, "main", shapes=shapes, rounding=rounding_of(options))
        cached.store(built)
    return {**built, "stages": ChainMap(built["stages"], {"torch": text})}


def torch_place(
    text: str,
    weights: list[int],
    options: Options,
    label: str = "",
    shapes: Sequence[Sequence[int | None]] | None = None,
) -> Cached:
    """Where the cache has what `build_torch` makes."""
    program = {
        "text": _SOURCE_LINE.sub("", text),
        "weights": weights,
        **rounding_of(options),
        **_measured(options, shapes),
    }
    return Cached("torch", program, options, label)


def build(linalg: str, options: Options, func_name: str = "main", stage: str = "") -> dict[str, Any]:
    """Linalg text (or that of a stage) as an object, its stages and metadata."""
    cached = linalg_place(linalg, options, func_name, stage)
    built = cached.load()
    if built is None:
        built = _compile(linalg, options, func_name, stage)
        cached.store(built)
    return built


def linalg_place(linalg: str, options: Options, func_name: str = "main", stage: str = "") -> Cached:
    """Where the cache has what `build` makes."""
    program = {"text": linalg, "func_name": func_name, "stage": stage, **_measured(options)}
    return Cached("linalg", program, options, f"@{func_name}")


def import_program(text: str, weights: list[int], options: Options) -> str:
    """Torch dialect text as linalg text, by the import worker."""
    linalg: str = pool.call(
        "import",
        _IMPORT,
        timeout=options.timeout,
        reproducer="torch_text",
        torch_text=text,
        weights=weights,
        any_scan=is_cuda(options.target),
    )
    return linalg


def rounding_of(options: Options) -> dict[str, bool]:
    """What torch lets a GPU's products of f32 do, if that is more than nothing."""
    return {"tf32": True} if may_round(options) else {}


def may_round(options: Options) -> bool:
    """Whether the target's tensor cores may round factors of f32 (TF32), as torch's setting says now."""
    if not is_cuda(options.target):
        return False
    import torch  # as the program's caller has: importing mlopt does not

    return bool(torch.backends.cuda.matmul.fp32_precision == "tf32")


def _measured(options: Options, shapes: Sequence[Sequence[int | None]] | None = None) -> dict[str, Any]:
    """What a program that is tuned depends on beside the rest, by name."""
    return {**tuning_device.device_of(options).key, "shapes": shapes} if options.tune else {}


def _compile(
    linalg: str,
    options: Options,
    func_name: str,
    stage: str = "",
    shapes: tuning.Shapes | None = None,
    rounding: dict[str, bool] | None = None,
) -> dict[str, Any]:
    """By a compile worker; what the user's own passes print is printed here."""
    compile_with = functools.partial(_compile_with, linalg, options, func_name, stage, rounding or {})
    if options.tune and not stage:
        device = tuning_device.device_of(options)
        found = _candidates(linalg, options, func_name, rounding or {})

        def place(name: str, kernel: str) -> Cached:
            sizes = {"shapes": shapes} if "?" in kernel else {}
            return Cached("schedule", {"kernel": kernel, **device.key, **sizes}, options, name)

        places = {name: place(name, kernel) for name, kernel in found["kernels"].items()}
        built = tuning.tuned(found["schedules"], places, compile_with, shapes, device)
    else:
        built = compile_with("")
    print(built.pop("printed"), end="")
    return built


def _candidates(linalg: str, options: Options, func_name: str, rounding: dict[str, bool]) -> dict[str, Any]:
    """What there is to choose from."""
    found: dict[str, Any] = pool.call(
        "compile",
        _CANDIDATES,
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=linalg,
        func_name=func_name,
        **user_passes_of(options),
        **rounding,
        **_chip_of(options),
    )
    return found


def _chip_of(options: Options) -> dict[str, str]:
    """The GPU that is compiled for, if it is one, as workers take it."""
    return {"chip": chip_of(options.target).name} if is_cuda(options.target) else {}


def user_passes_of(options: Options) -> dict[str, Any]:
    """The passes of the user's own, as workers take them."""
    plugins = [os.path.abspath(path) for path in options.pass_plugins]  # noqa: PTH100 (links stay)
    return {"passes": options.passes, "plugins": plugins}


def _compile_with(
    linalg: str, options: Options, func_name: str, stage: str, rounding: dict[str, bool], choices: str
) -> dict[str, Any]:
    built: dict[str, Any] = pool.call(
        "compile",
        _COMPILE_CUDA if is_cuda(options.target) else _COMPILE,
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=linalg,
        func_name=func_name,
        cpu=options.cpu,
        features=options.features,
        opt_level=options.opt_level,
        fast_math=options.fast_math,
        stage=stage,
        choices=choices,
        **user_passes_of(options),
        **rounding,
        **_chip_of(options),
    )
    return built
