"""What a compile worker does for a GPU: linalg text in; host object, PTX and machine code out."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..dialects.attributes import DEVICE_KERNELS, LAUNCHES
from ..dialects.context import make_context
from ..runtime import progress
from ..runtime.codegen import Target, generate
from ..runtime.cuda.chips import Chip, find_chip
from ..runtime.cuda.ptxas import Assembled, find_ptxas
from ..runtime.cuda.spills import assemble_unspilled
from .compile import lower_text
from .cuda import cuda_stages
from .device_code import take_ptx


def compile_text(
    linalg_text: str,
    *,
    chip: str,
    func_name: str = "main",
    cpu: str = "host",
    features: str = "",
    opt_level: int = 2,
    fast_math: bool = False,
    tf32: bool = False,
    choices: str = "",
    **extras: Any,
) -> dict[str, Any]:
    """Compile the module ``linalg_text`` for the GPU ``chip`` ("sm_80"); no GPU is needed.

    ``cpu``, ``features`` and ``opt_level`` are for the host part, which launches; ``fast_math`` adds
    mlopt-fast-math; ``tf32`` lets tensor cores round factors of f32; ``choices`` are mlopt-schedule's;
    ``extras`` are those of `lower_text`.
    Returns what `mlopt.pipelines.compile.compile_text` returns, and "ptx" (text) and "cubin" (bytes, empty
    without ptxas); "device" in the metadata says what is known of each kernel's code.
    """
    known_chip = find_chip(chip)
    with make_context(), ir.Location.unknown():
        stages = cuda_stages(known_chip.name, known_chip.ptx, fast_math, tf32, choices)
        lowered = lower_text(linalg_text, func_name, stages, entries_after="threads", **extras)
        built = build_device(lowered.module, known_chip)
        lowered.known["device"] = built.pop("device")
        progress.phase("code generation of the host part")
        code = generate(lowered.module, Target.resolve(cpu, features), opt_level)
    lowered.texts["ptx"] = built["ptx"]
    return {"object": code.object, **lowered.parts(), **built}


def build_device(module: ir.Module, chip: Chip) -> dict[str, Any]:
    """The device part of ``module`` after the "nvvm" stage: taken out of it, and assembled.

    Returns "ptx", "cubin" and "device": chip, kernels (in the order of `mlopt_load`), launches,
    ptxas's version ("" without), statistics of each kernel's code, and warnings.
    """
    kernels = DEVICE_KERNELS.get(module.operation) or ()
    launches = LAUNCHES.get(module.operation) or ()
    progress.phase("PTX")
    ptx = take_ptx(module)
    ptxas = find_ptxas(chip) if ptx else None
    progress.phase("ptxas")
    assembled = Assembled(b"", {}, ())
    if ptxas:
        ptx, assembled = assemble_unspilled(ptx, chip, ptxas)
    device = {
        "chip": chip.name,
        "kernels": list(kernels),
        "launches": [dict(launch) for launch in launches],
        "ptxas": ptxas.version if ptxas else "",
        "code": {name: vars(code) for name, code in assembled.kernels.items()},
        "warnings": list(assembled.warnings),
    }
    return {"ptx": ptx, "cubin": assembled.cubin, "device": device}
