"""The two requests of a compilation, made to the worker processes."""

from __future__ import annotations

from typing import Any

from ..options import Options
from . import pool

_IMPORT = "mlopt.frontends.importer:import_text"
_COMPILE = "mlopt.pipelines.compile:compile_text"


def import_program(text: str, weights: list[int], options: Options) -> str:
    """Torch dialect text as linalg text, by the import worker."""
    linalg: str = pool.call(
        "import", _IMPORT, timeout=options.timeout, reproducer="torch_text", torch_text=text, weights=weights
    )
    return linalg


def build(linalg: str, options: Options, func_name: str = "main") -> dict[str, Any]:
    """Linalg text as an object, its stages and metadata, by a compile worker."""
    built: dict[str, Any] = pool.call(
        "compile",
        _COMPILE,
        timeout=options.timeout,
        reproducer="linalg_text",
        linalg_text=linalg,
        func_name=func_name,
        cpu=options.cpu,
        features=options.features,
        opt_level=options.opt_level,
    )
    return built
