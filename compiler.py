"""The public API: `jit` for torch modules, `compile_mlir` for MLIR text.

Both return a `Compiled`: a callable that shows its work.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .compiled import Compiled
from .errors import CompileError, InputError
from .options import Options
from .report import Report
from .runtime import requests
from .runtime.assembly import Stages
from .runtime.executable import Executable
from .runtime.opening import notes, open_call


def jit(
    module: Callable[..., Any],
    *example_inputs: Any,
    target: str | None = None,
    fallback: bool | None = None,
    verify: bool | None = None,
    dynamic_shapes: Any = None,
    example_kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Compiled:
    """Compile a torch module (or a function of tensors) for inference.

    ``example_inputs`` and ``example_kwargs`` show dtypes, shapes and structure; sizes that vary
    are named by ``dynamic_shapes``, as in `torch.export.export`. Structure and mode
    (train, eval) are those of the module now; its weights are looked up at each call, so
    that training it further or loading a state changes the results.

    The result has eager's values, strides and structure, always in fresh memory. Gradients:
    an input that requires grad is an error unless grad mode is off; where only weights
    require grad, results require grad as eager's do, and a backward through them raises.

    Keyword arguments are `mlopt.options.Options`: ``verify=True`` compares the first call with
    eager, ``fallback=True`` runs in eager what cannot be compiled, with a warning.
    """
    given = {"target": target, "fallback": fallback, "verify": verify}
    resolved = Options.resolve(**_present(given), **options)
    from .torch_module import compile_module  # imports torch

    try:
        return compile_module(module, example_inputs, dict(example_kwargs or {}), dynamic_shapes, resolved)
    except CompileError as error:
        if not resolved.fallback:
            raise
        return _eager(module, error, resolved)


def compile_mlir(
    text: str, func_name: str = "main", target: str | None = None, stage: str = "", **options: Any
) -> Compiled:
    """Compile MLIR text: linalg, tensor, arith and math on tensors, one function to call.

    With ``stage``, ``text`` is the IR of that stage (``compiled.asm["tile"]``), as it was or edited, and
    compilation goes on from there; its function is @main.

    Needs no torch. The result takes the function's arguments and returns its result, or a
    tuple of its results: numpy arrays, or torch tensors if one of the arguments is a tensor.
    """
    resolved = Options.resolve(**_present({"target": target}), **options)
    if options.get("fallback"):
        raise CompileError(
            "fallback=True runs in eager, which MLIR text does not have", remedy="leave it out"
        )
    if resolved.verify:
        raise CompileError(
            "verify=True compares with eager, which MLIR text does not have", remedy="leave it out"
        )
    start = time.perf_counter()
    built = requests.build(text, resolved, func_name, stage)
    call = open_call(built, resolved, func_name, _ByKind)
    arity = sum(arg["kind"] != "prepared" for arg in built["metadata"]["functions"]["main"]["args"])

    def general(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            raise InputError(f"@{func_name} takes no keyword arguments", remedy="pass them by position")
        raise InputError(f"@{func_name} takes {arity} arguments, {len(args)} were passed")

    seconds = time.perf_counter() - start
    report = Report.from_metadata(built["metadata"], (), seconds, notes(resolved))
    asm = Stages(built["stages"], built["object"], built.get("cubin", b""))
    return Compiled(func_name, call, general, arity, asm, report, resolved)


def _present(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was passed; the rest is the environment's, or by default."""
    return {name: value for name, value in given.items() if value is not None}


class _ByKind:
    """Calls with numpy arrays, or with torch tensors, whichever the first call turns out to have."""

    def __init__(self, executable: Executable) -> None:
        self._executable = executable
        self._calls: dict[str, Callable[..., tuple[Any, ...]]] = {}

    def __call__(self, *args: Any) -> Any:
        torch = sys.modules.get("torch")
        kind = "torch" if torch and any(isinstance(arg, torch.Tensor) for arg in args) else "numpy"
        call = self._calls.get(kind) or self._make(kind)
        results = call(*args)
        return results[0] if len(results) == 1 else results

    def _make(self, kind: str) -> Callable[..., tuple[Any, ...]]:
        if kind == "torch":
            from .torch_module import tensor_call

            self._calls[kind] = tensor_call(self._executable)
        elif self._executable.main.place is not None:
            where = self._executable.main.place.words
            raise InputError(
                f"compiled code runs on {where}, and no argument is a tensor there",
                remedy='pass torch tensors on the GPU, or compile with device="emulator"',
            )
        else:
            from .runtime.arrays import array_call

            self._calls[kind] = array_call(self._executable)
        return self._calls[kind]


def _eager(module: Callable[..., Any], error: CompileError, options: Options) -> Compiled:
    name = getattr(module, "__name__", type(module).__name__)
    warnings.warn(f"{name} runs in eager: {error}", stacklevel=3)

    from .runtime.torch_inputs import call_eager

    def general(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_eager(module, args, kwargs)

    return Compiled(name, module, general, -1, Stages({}, b""), Report(eager=str(error)), options)
