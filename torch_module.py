"""From a torch module to a `Compiled`, and from an executable to a function of tensors."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from .compiled import Compiled
from .errors import CompileError, user_line
from .frontends.program import Input, Output, Program, Result
from .frontends.tracing import one_at_a_time
from .options import Options
from .report import Report
from .runtime import pool, requests
from .runtime.assembly import Stages
from .runtime.eager_strides import EagerStrides
from .runtime.executable import Executable
from .runtime.interrupts import OF_EXPORT, import_whole
from .runtime.opening import needs_gpu, notes, open_call
from .runtime.quiet import quiet_export
from .runtime.rehearsed import RehearsedProgram
from .runtime.signature import DTYPES, contiguous_strides
from .runtime.torch_tree import FunctionModule, TreeCall, is_flat, output_structure
from .runtime.torch_wrapper import TorchWrapper
from .runtime.verification import Verifier
from .runtime.weight_places import find_weights
from .runtime.weights import LiveWeights, bind_arguments


def compile_module(
    function: Callable[..., Any],
    example_inputs: Sequence[Any],
    example_kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
    options: Options,
) -> Compiled:
    """`mlopt.jit` without its fallback."""
    start = time.perf_counter()
    name = getattr(function, "__name__", type(function).__name__)
    if torch.is_autocast_enabled("cuda" if needs_gpu(options) else "cpu"):
        raise CompileError(
            "autocast is active", remedy="leave the autocast region, or convert the module (model.bfloat16())"
        )
    module, program, examples = trace(
        function, example_inputs, example_kwargs, dynamic_shapes, options=options, label=name
    )
    shapes = [
        tuple(example.permute(spec.order).shape if spec.order else example.shape)
        for spec, example in zip(program.inputs, examples, strict=True)
    ]
    built = requests.build_torch(program.text, program.weight_positions, options, name, shapes)
    eager_strides = EagerStrides(module, program, examples)
    opened: list[LiveWeights] = []

    def make(executable: Executable) -> Callable[..., Any]:
        weights = live_weights(executable, program, module)
        opened.extend([weights] if weights else [])
        return program_call(executable, program, weights, eager_strides)

    def refresh() -> None:
        for weights in opened:
            weights.refresh()

    call = open_call(built, options, name, make)
    general = TreeCall(call, program, module.forward)
    arity = len(program.inputs) if is_flat(program) else -1
    asm = Stages(built["stages"], built["object"], built.get("cubin", b""))
    metadata, seconds = built["metadata"], time.perf_counter() - start
    report = Report.from_metadata(metadata, program.ops, seconds, notes(options))
    compiled = Compiled(name, call, general, arity, asm, report, options, refresh)
    if options.verify:
        _verify_first_call(compiled, module, requests.may_round(options))
    return compiled


def trace(
    function: Callable[..., Any],
    example_inputs: Sequence[Any],
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    options: Options | None = None,
    label: str = "",
) -> tuple[torch.nn.Module, Program, list[Any]]:
    """The module that ``function`` is or becomes, its program, and an example of each input of that.

    With ``options`` the program is taken from the compile cache, or kept there under ``label``.
    """
    module = function if isinstance(function, torch.nn.Module) else FunctionModule(function)
    args, kwargs = pytree.tree_map_only(
        np.ndarray, torch.from_numpy, (tuple(example_inputs), dict(example_kwargs or {}))
    )
    with quiet_export(), one_at_a_time():
        kept = None
        if options is not None and dynamic_shapes is None:
            kept = RehearsedProgram(module, args, kwargs, options, label)
        program = kept.load() if kept is not None else None
        if program is None:
            if kept is not None and kept.is_new:
                pool.start()  # the workers load while torch.export does
            program = _captured(module, args, kwargs, dynamic_shapes, options, label)
            if kept is not None:
                kept.store(program)
    leaves = pytree.tree_leaves((args, kwargs))
    return module, program, [leaves[spec.position] for spec in program.inputs]


def _captured(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
    options: Options | None,
    label: str,
) -> Program:
    import_whole(OF_EXPORT)
    from .frontends.decomposing.target import for_target
    from .frontends.torch import capture
    from .runtime.kept_programs import KeptProgram

    keeper = None
    if options is not None:
        keeper = functools.partial(KeptProgram, options=options, label=label, missed=pool.start)
    own = for_target(options.target) if options is not None else nullcontext()
    try:
        with own:
            return capture(module, args, dynamic_shapes, example_kwargs=kwargs, keeper=keeper)
    except CompileError as error:
        error.where = error.where or user_line(error.__cause__)
        raise


def live_weights(executable: Executable, program: Program, module: torch.nn.Module) -> LiveWeights | None:
    """The program's weights in ``module``; None if there is nothing to look up or to prepare."""
    # @prepare may also hold what depends on nothing, such as an arange.
    if not program.weights and executable.prepare is None:
        return None
    mutated = [mutation.index for mutation in program.mutations if mutation.kind == "weight"]
    return LiveWeights(executable, *find_weights(module, program.weights), mutated)


def program_call(
    executable: Executable, program: Program, weights: LiveWeights | None, eager_strides: EagerStrides
) -> Callable[..., Any]:
    """The function from the program's inputs to what the module returns."""
    expected = len(program.inputs) + len(program.weights)
    given = sum(arg.kind != "prepared" for arg in executable.main.signature.args)
    if given != expected or len(executable.main.signature.results) != len(program.results):
        raise CompileError(f"the compiled function has {given} arguments, the program {expected}")
    names: dict[str, Any] = {}
    return TorchWrapper(
        entry=executable.main,
        inputs=program.inputs,
        results=program.results,
        outputs=eager_strides.outputs(),
        structure=output_structure(program.out_spec, names),
        mutations=program.mutations,
        conditions=program.conditions,
        bound=weights.current if weights else None,
        weights_grad=weights.requires_grad if weights else None,
        store=weights.store if weights else None,
        regions=weights.regions if weights else tuple,
        eager_strides=eager_strides,
        names=names,
    ).build()


def tensor_call(executable: Executable) -> Callable[..., tuple[torch.Tensor, ...]]:
    """A function from the arguments of ``main``, torch tensors, to a tuple of its results."""
    signature = executable.main.signature
    given = [arg for arg in signature.args if arg.kind != "prepared"]
    inputs = [_input(number, arg.dtype, arg.shape) for number, arg in enumerate(given)]
    results, outputs = [], []
    for number, buffer in enumerate(signature.results):
        sizes = iter(buffer.sizes)
        shape = tuple(next(sizes) if size is None else size for size in buffer.shape)
        dtype = _torch_dtype(buffer.dtype)
        results.append(Result(dtype, shape))
        outputs.append(
            Output("result", result=number, dtype=dtype, shape=shape, strides=contiguous_strides(shape))
        )
    return TorchWrapper(
        entry=executable.main,
        inputs=inputs,
        results=results,
        outputs=outputs,
        structure=f"({''.join(f'o{number}, ' for number in range(len(outputs)))})",
        bound=bind_arguments(executable) if executable.prepare is not None else None,
        bound_from=[number for number, arg in enumerate(given) if arg.kind == "weight"],
    ).build()


def _input(number: int, dtype: str, shape: Sequence[int | None]) -> Input:
    return Input(
        name=f"argument {number}",
        position=number,
        dtype=_torch_dtype(dtype),
        shape=tuple(shape),
        sizes=tuple(f"a{number}_{dim}" if size is None else size for dim, size in enumerate(shape)),
        ranges={},
    )


def _torch_dtype(name: str) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, DTYPES[name][1])
    return dtype


def _verify_first_call(compiled: Compiled, module: torch.nn.Module, tf32: bool) -> None:
    """Make the first call of ``compiled`` compare itself with eager; later calls go straight on."""
    arity, general = compiled._arity, compiled._general

    def first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        verifier = Verifier(module, args, kwargs, tf32)
        outputs = general(args, kwargs)
        verifier.check(outputs)
        compiled._arity, compiled._general = arity, general
        return outputs

    compiled._arity, compiled._general = -1, first
