"""Inputs that are not plain tensors of the compiled dtype, shape and layout: adapt or refuse.

Everything here is off the hot path. What has the right values in the wrong form is copied
(strides, alignment, numpy arrays, lazily negated views); everything else is an error that
says which input is wrong, what was expected and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ..errors import InputError
from ..frontends.program import Condition, Input
from .arrays import ML_DTYPES, dtype_of_ml_dtypes
from .eager_strides import EagerStrides, lies_as_compiled, with_strides
from .signature import evaluate
from .torch_place import CPU, TorchPlace
from .transforms import refuse_transforms


def adapt(
    call: Callable[..., Any],
    specs: Sequence[Input],
    conditions: Sequence[Condition],
    mutated: Sequence[int],
    refuse_sharing: Callable[..., None],
    eager_strides: EagerStrides | None,
    inputs: Sequence[Any],
    place: TorchPlace = CPU,
) -> Any:
    """Bring ``inputs`` into the form that ``call`` takes, and call it.

    If one of them is a numpy array, the results are numpy arrays too. ``mutated`` are the
    numbers of the inputs that the call writes to. ``eager_strides`` says which strides the
    results get for inputs of another layout; without it they are as compiled.
    """
    refuse_transforms(inputs)
    numpy = any(isinstance(value, np.ndarray | np.generic) for value in inputs)
    tensors = [_to_tensor(value, spec, place) for value, spec in zip(inputs, specs, strict=True)]
    names = _check_sizes(tensors, specs)
    _check_conditions(conditions, names, specs)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        refuse_grad(specs, tensors)
    refuse_sharing(*map(_memory, inputs, tensors))  # here, because copies share nothing any more
    strides = eager_strides.of(tensors) if eager_strides is not None else None
    plain = [_plain(tensor, spec) for tensor, spec in zip(tensors, specs, strict=True)]
    results = call(*plain)
    if strides is not None:
        results = with_strides(results, strides)
    for number in mutated:
        _copy_back(plain[number], tensors[number], inputs[number])
    return pytree.tree_map_only(torch.Tensor, to_numpy, results) if numpy else results


def call_eager(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``function`` itself, which takes tensors; if an argument is a numpy array, so are the results."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    arrays = [number for number, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)]
    if not arrays:
        return function(*args, **kwargs)
    tensors = list(leaves)
    for number in arrays:
        tensors[number] = _from_numpy(
            np.asarray(leaves[number]), f"leaf {number} of the arguments", "a tensor"
        )
    args, kwargs = pytree.tree_unflatten(tensors, spec)
    results = function(*args, **kwargs)
    for number in arrays:
        if isinstance(leaves[number], np.ndarray) and leaves[number].flags.writeable:
            _copy_back(tensors[number], tensors[number], leaves[number])
    return pytree.tree_map_only(torch.Tensor, to_numpy, results)


def describe(dtype: torch.dtype, shape: Sequence[int | str | None]) -> str:
    """A dtype and a shape as messages show them: ``float32[4, ?]``."""
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"{str(dtype).removeprefix('torch.')}[{sizes}]"


def _to_tensor(value: Any, spec: Input, place: TorchPlace) -> torch.Tensor:
    """``value`` as a tensor in ``place`` of the right dtype and rank, or an error."""
    tensor: Any = value
    name, expected = f"input '{spec.name}'", describe(spec.dtype, spec.shape)
    if isinstance(value, np.ndarray | np.generic):
        tensor = _from_numpy(np.asarray(value), name, expected)
    elif isinstance(value, bool | int | float) and not spec.shape:
        tensor = _from_number(value, spec).to(place.device)
    if not isinstance(tensor, torch.Tensor):
        raise InputError(
            f"{name} is a {type(value).__name__}, expected a tensor {expected}",
            remedy="pass torch tensors or numpy arrays",
        )
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise InputError(
            f"{name} is a {type(tensor).__name__}, whose memory compiled code cannot read; "
            f"expected a tensor {expected}",
            remedy="convert it to a plain torch.Tensor",
        )
    if tensor.layout is not torch.strided:
        raise InputError(
            f"{name} is {tensor.layout}, expected a dense tensor {expected}", remedy="call .to_dense()"
        )
    if not place.has(tensor):
        where = "the CPU" if tensor.is_cpu else str(tensor.device)
        raise InputError(
            f"{name} is on {where}, the code runs on {place.words}",
            remedy=f'call .to("{place.device}") on it, or compile for its device',
        )
    if tensor.dtype is not spec.dtype:
        raise InputError(
            f"{name} is {_describe(tensor)}, compiled for {expected}",
            remedy=f"convert it with .to({spec.dtype}), or compile again for such an input",
        )
    return tensor


def _from_numpy(array: np.ndarray[Any, Any], name: str, expected: str) -> torch.Tensor:
    if array.dtype.name in ML_DTYPES:  # torch knows the bits, not the dtype
        bits = np.int16 if array.itemsize > 1 else np.uint8
        return torch.from_numpy(array.view(bits).copy()).view(getattr(torch, array.dtype.name))
    if not array.dtype.isnative:
        raise InputError(
            f"{name} is {array.dtype} in the other byte order",
            remedy="convert it with .astype(array.dtype.newbyteorder('='))",
        )
    if not array.flags.writeable or any(stride % max(array.itemsize, 1) for stride in array.strides):
        array = array.copy(order="K")
    if any(stride < 0 for stride in array.strides):
        array = np.ascontiguousarray(array)
    try:
        return torch.from_numpy(array)
    except TypeError:
        raise InputError(
            f"{name} is a numpy array of {array.dtype}, expected {expected}",
            remedy="convert it to a dtype that torch knows",
        ) from None


def _from_number(value: bool | int | float, spec: Input) -> torch.Tensor:
    if isinstance(value, float) and not spec.dtype.is_floating_point:
        raise InputError(
            f"input '{spec.name}' is the float {value}, compiled for {describe(spec.dtype, spec.shape)}",
            remedy="pass an integer",
        )
    return torch.tensor(value, dtype=spec.dtype)


def _wider(name: str, size: int, low: int) -> str:
    """How to compile for ``size``: a hint, such as Dim.DYNAMIC, is a range from 2 on."""
    bound = "min" if size < low else "max"
    unless = ", unless the module itself refuses no elements" if low == 1 > size else ""
    return f'compile again with Dim("{name}", {bound}={size}) in dynamic_shapes{unless}'


def _check_sizes(tensors: Sequence[torch.Tensor], specs: Sequence[Input]) -> dict[str, int]:
    """Check ranks and static sizes first; then ranges, and sizes that must equal others. All by name."""
    names: dict[str, int] = {}
    for number, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
        fits = len(tensor.shape) == len(spec.shape) and all(
            size is None or size == actual for size, actual in zip(spec.shape, tensor.shape, strict=True)
        )
        if not fits:
            raise InputError(
                f"input '{spec.name}' is {_describe(tensor)}, compiled for "
                f"{describe(spec.dtype, spec.shape)}",
                where=_line_that_fixed(spec, tensor.shape),
                remedy="pass this shape, or compile again (dynamic_shapes= for sizes that vary)",
            )
        for dim, (low, high) in spec.ranges.items():
            if tensor.shape[dim] < low or (high is not None and tensor.shape[dim] > high):
                limit = f"at least {low}" if high is None else f"{low} to {high}"
                raise InputError(
                    f"size {dim} of input '{spec.name}' is {tensor.shape[dim]}, compiled for {limit}",
                    remedy=_wider(f"{spec.name}_{dim}", tensor.shape[dim], low),
                )
        names |= {f"a{number}_{dim}": size for dim, size in enumerate(tensor.shape)}
    for tensor, spec in zip(tensors, specs, strict=True):
        for dim, size in enumerate(spec.sizes):
            wanted = evaluate(size, names)
            if wanted != tensor.shape[dim]:
                which = "" if isinstance(size, int) else f"{_readable(size, specs)}, which is "
                raise InputError(
                    f"size {dim} of input '{spec.name}' is {tensor.shape[dim]}, but must be {which}{wanted}",
                    where=_line_of(specs, spec, dim, names),
                    remedy="pass inputs whose sizes agree, or compile again with independent dynamic_shapes",
                )
    return names


def _line_that_fixed(spec: Input, shape: Sequence[int]) -> str:
    """The user's line by which a size that was to vary became a number, which is not the one in ``shape``."""
    sizes = zip(spec.shape, shape, strict=True) if len(spec.shape) == len(shape) else ()
    other = [dim for dim, (size, actual) in enumerate(sizes) if size not in (None, actual)]
    return next((line for dim in other for line in spec.lines.get(dim, {}).values()), "")


def _line_of(specs: Sequence[Input], spec: Input, dim: int, names: dict[str, int]) -> str:
    """The user's line whose wish the sizes ``names`` do not fulfil: one of this size first."""
    known = {f"{each.name}.shape": number for number, each in enumerate(specs)}

    def fails(wish: str) -> bool:
        if not all(name in known for name in re.findall(r"\w+\.shape", wish)):
            return False  # of what is no input
        text = re.sub(r"(\w+\.shape)\[(\d+)\]", lambda at: f"a{known[at[1]]}_{at[2]}", wish)
        try:
            return not evaluate(text, names)
        except ZeroDivisionError:
            return True

    wishes = [spec.lines.get(dim, {}), *(each for other in specs for each in other.lines.values())]
    return next((line for each in wishes for wish, line in each.items() if fails(wish)), "")


def _check_conditions(conditions: Sequence[Condition], names: dict[str, int], specs: Sequence[Input]) -> None:
    for condition in conditions:
        try:
            holds = evaluate(condition.text, names)
        except ZeroDivisionError:
            holds = 0
        if not holds:
            used = dict.fromkeys(re.findall(r"\ba\d+_\d+\b", condition.text))
            sizes = ", ".join(f"{_readable(name, specs)} is {names[name]}" for name in used)
            raise InputError(
                f"compiled for sizes with {_readable(condition.text, specs)}, but {sizes}",
                where=condition.where,
                remedy="compile again for such sizes",
            )


def _readable(size: int | str, specs: Sequence[Input]) -> str:
    """``a0_1`` as ``x.shape[1]``."""
    return re.sub(
        r"\ba(\d+)_(\d+)\b", lambda found: f"{specs[int(found[1])].name}.shape[{found[2]}]", str(size)
    )


def _plain(tensor: torch.Tensor, spec: Input) -> torch.Tensor:
    """The same values in a plain and aligned tensor, in the memory that the function takes."""
    tensor = tensor.detach().resolve_neg()
    if lies_as_compiled(spec, tensor) and not tensor.data_ptr() % tensor.dtype.itemsize:
        return tensor
    if not spec.strides:
        return tensor.clone(memory_format=torch.contiguous_format)
    return torch.empty_strided(tensor.shape, spec.strides, dtype=tensor.dtype, device=tensor.device).copy_(
        tensor
    )


def _memory(value: Any, tensor: torch.Tensor) -> Any:
    """What holds the caller's elements: ``tensor`` may be a copy of an array."""
    return value if isinstance(value, np.ndarray) and value.dtype.name not in ML_DTYPES else tensor


def _copy_back(new: torch.Tensor, tensor: torch.Tensor, value: Any) -> None:
    """Write what a call made of a mutated input to where the caller sees it."""
    with torch.no_grad():
        if new.data_ptr() != tensor.data_ptr() or new.stride() != tensor.stride():
            tensor.copy_(new)
        if isinstance(value, np.ndarray) and value.__array_interface__["data"][0] != tensor.data_ptr():
            value[...] = to_numpy(tensor)


def to_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A numpy array on the tensor's memory."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in ML_DTYPES:
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    bits = torch.int16 if tensor.itemsize > 1 else torch.uint8
    array: np.ndarray[Any, Any] = tensor.detach().view(bits).numpy().view(dtype_of_ml_dtypes(name))
    return array


def _describe(tensor: torch.Tensor) -> str:
    return describe(tensor.dtype, tensor.shape)


def refuse_grad(specs: Sequence[Input], tensors: Sequence[torch.Tensor]) -> NoReturn:
    """Compiled code records no graph; dropping one silently would give wrong gradients."""
    names = [spec.name for spec, tensor in zip(specs, tensors, strict=True) if tensor.requires_grad]
    raise InputError(
        f"input '{names[0]}' requires grad, and compiled code records no graph for backward",
        remedy="call it under torch.no_grad() or torch.inference_mode(), or pass a detached tensor",
    )


def refuse_autocast() -> NoReturn:
    """Eager would compute in other dtypes than the compiled code does."""
    raise InputError(
        "autocast is active, and compiled code computes in the dtypes that it was compiled for",
        remedy="leave the autocast region for this call, or convert the module before mlopt.jit "
        "(model.bfloat16())",
    )
