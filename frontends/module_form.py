"""What is known of a module and its inputs before it is run: names, structure, forms of all tensors."""

from __future__ import annotations

import inspect
import pickle
import random
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.layout, torch.memory_format)
MOST_REACHED = 1_000_000  # objects that are looked at for changes: half a second
_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class NoForm(Exception):  # noqa: N818
    """There is something that a text would not show."""


def form_of(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """The form as text; None where there is a tensor that is not dense, plain and on the CPU, an argument
    of the user's own class, or code that is not Python's.
    """
    if isinstance(module, torch.jit.ScriptModule):
        return None
    try:
        return "\n".join(_lines(module, args, kwargs))
    except NoForm:
        return None


def named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers, by each of their names."""
    parameters = module.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}


def plain(value: Any) -> str:
    """A value that is its text."""
    if type(value) is torch.device and value.type == "cpu":
        return "cpu"
    if type(value) not in _PLAIN:
        raise NoForm
    return repr(value)


def _lines(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[str]:
    code = getattr(module.forward, "__code__", None)
    where = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    yield f"forward({', '.join(inspect.signature(module.forward).parameters)}){where}"
    for name, each in module.named_modules():
        yield f"{name}: {type(each).__module__}.{type(each).__qualname__}"
    grad = f"{torch.is_grad_enabled()}, inference mode {torch.is_inference_mode_enabled()}"
    deterministic = torch.are_deterministic_algorithms_enabled()
    yield f"{torch.get_default_dtype()}, grad mode {grad}, deterministic {deterministic}"
    leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
    yield f"{structure}"
    named = named_tensors(module)
    yield from _forms([*enumerate(leaves), *named.items()])
    tensors: dict[int, int] = {}
    yield f"{[tensors.setdefault(id(tensor), len(tensors)) for tensor in named.values()]}"


def _forms(values: Iterable[tuple[int | str, Any]]) -> Iterator[str]:
    storages: dict[int, int] = {}
    for name, value in values:
        if not isinstance(value, torch.Tensor):
            yield f"{name}: {plain(value)}"
            continue
        if type(value) not in _TENSORS or value.device.type != "cpu" or value.layout is not torch.strided:
            raise NoForm
        if value.is_conj() or value.is_neg() or value.is_quantized or value.is_nested:
            raise NoForm
        storage = storages.setdefault(value.untyped_storage()._cdata, len(storages))
        place = f"offset {value.storage_offset()} in {storage}"
        form = f"{value.dtype} {list(value.shape)} {value.stride()} {place}"
        yield f"{name}: {type(value).__name__} {form} {value.requires_grad} {value.is_inference()}"


@contextmanager
def state_kept(module: torch.nn.Module) -> Iterator[None]:
    """Give objects of the user's that can be reached from ``module`` what they held, globals of their methods
    their values, and random numbers their places; `NoForm` where something was changed meanwhile.
    """
    holders, names = _reached(module)
    before = [(holder, _copy(holder)) for holder in holders]
    place, numpy_place = random.getstate(), np.random.get_state(legacy=False)
    before_drawing = _as_bytes(numpy_place)
    try:
        yield
    finally:
        changed = [(holder, had) for holder, had in before if not _is_same(holder, had)]
        for holder, had in changed:
            holder.clear()
            (holder.update if isinstance(holder, dict | set) else holder.extend)(had)
        other = [(space, name, value) for space, name, value in names if space.get(name) is not value]
        for space, name, value in other:
            space[name] = value
        drawn = random.getstate() != place or _as_bytes(np.random.get_state(legacy=False)) != before_drawing
        random.setstate(place)
        np.random.set_state(numpy_place)
    if changed or other or drawn:
        raise NoForm


def _reached(module: torch.nn.Module) -> tuple[list[Any], list[tuple[dict[str, Any], str, Any]]]:
    """The attributes and containers that can be reached by attributes, items, methods, closures and globals;
    and those globals.
    """
    seen: dict[int, Any] = {}
    pending: list[Any] = [module]
    holders, names = [], []
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if len(seen) > MOST_REACHED:
            raise NoForm
        if isinstance(value, FunctionType):
            if not _is_a_library(value.__module__):
                used = [name for name in value.__code__.co_names if name in value.__globals__]
                names += [(value.__globals__, name, value.__globals__[name]) for name in used]
                pending += [value.__globals__[name] for name in used]
            pending += [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
        elif isinstance(value, MethodType):
            pending += [value.__self__, value.__func__]
        elif isinstance(value, tuple | frozenset):
            pending += value
        elif isinstance(value, dict | list | set | deque):
            holders.append(value)
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, torch.nn.Module) or _is_of_the_user(value):
            pending += [vars(value), *(each for base in type(value).__mro__ for each in _methods(base))]
    return holders, names


def _methods(kind: type) -> list[FunctionType]:
    """The functions of a class of the user's."""
    if _is_a_library(kind.__module__):
        return []
    return [each for each in vars(kind).values() if isinstance(each, FunctionType)]


def _is_of_the_user(value: Any) -> bool:
    """Whether a value has attributes, and is neither Python's nor torch's own."""
    if isinstance(value, type | ModuleType | torch.Tensor) or not hasattr(value, "__dict__"):
        return False
    return type(value) is SimpleNamespace or not _is_a_library(type(value).__module__)


def _is_a_library(module: str | None) -> bool:
    """Whether a Python module keeps no state that a user's ``forward`` changes."""
    package = (module or "").partition(".")[0]
    return package in sys.stdlib_module_names or package in ("torch", "numpy", "mlopt")


def _is_empty(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _as_bytes(place: Mapping[str, Any]) -> bytes:
    """Where a generator of numpy's is: equal bytes, equal numbers. Text takes as long as a small module."""
    return pickle.dumps(place)


def _copy(holder: Any) -> Any:
    return dict(holder) if isinstance(holder, dict) else list(holder)


def _is_same(holder: Any, had: Any) -> bool:
    if len(holder) != len(had):
        return False
    if isinstance(had, dict):
        return all(name in holder and holder[name] is value for name, value in had.items())
    return all(one is other for one, other in zip(holder, had, strict=True))
