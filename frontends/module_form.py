"""What is known of a module and its inputs before it is run: names, structure, forms of all tensors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.layout, torch.memory_format)
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
        if value.is_conj() or value.is_neg() or value.is_quantized:
            raise NoForm
        storage = storages.setdefault(value.untyped_storage()._cdata, len(storages))
        place = f"offset {value.storage_offset()} in {storage}"
        form = f"{value.dtype} {list(value.shape)} {value.stride()} {place}"
        yield f"{name}: {type(value).__name__} {form} {value.requires_grad} {value.is_inference()}"


@contextmanager
def attributes_kept(module: torch.nn.Module) -> Iterator[None]:
    """Give all submodules the attributes that they had, and what was in their lists, sets and dictionaries;
    `NoForm` where something was changed meanwhile.
    """
    before = [(holder, _copy(holder)) for each in module.modules() for holder in _holders(each)]
    changed = []
    try:
        yield
    finally:
        changed = [(holder, had) for holder, had in before if not _is_same(holder, had)]
        for holder, had in changed:
            holder.clear()
            (holder.extend if isinstance(holder, list) else holder.update)(had)
    if changed:
        raise NoForm


def _holders(module: torch.nn.Module) -> Iterator[Any]:
    yield vars(module)
    yield from (value for value in vars(module).values() if isinstance(value, dict | list | set))


def _copy(holder: Any) -> Any:
    return dict(holder) if isinstance(holder, dict) else list(holder)


def _is_same(holder: Any, had: Any) -> bool:
    if len(holder) != len(had):
        return False
    if isinstance(had, dict):
        return all(name in holder and holder[name] is value for name, value in had.items())
    return all(one is other for one, other in zip(holder, had, strict=True))
