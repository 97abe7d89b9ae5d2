"""Between what a module takes and returns, and the tensors that its program does.

A module's arguments and results are trees: tuples, lists, dictionaries, None, numbers. The
hot path is a module whose arguments are all tensors, passed by position; everything else
goes through `TreeCall`.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..errors import InputError
from ..frontends.program import Program


def is_flat(program: Program) -> bool:
    """Whether the program's inputs are the positional arguments, one for one."""
    positional, by_name = program.in_spec.children()
    return (
        not by_name.num_children
        and not program.constants
        and all(child.is_leaf() for child in positional.children())
        and [spec.position for spec in program.inputs] == list(range(positional.num_children))
    )


class TreeCall:
    """Finds the program's inputs in the arguments of a call, however they were passed."""

    def __init__(self, call: Callable[..., Any], program: Program, forward: Callable[..., Any]) -> None:
        self.call = call
        self.program = program
        self.signature = inspect.signature(forward)
        self.positions = [spec.position for spec in program.inputs]

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the compiled module returns for these arguments."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self.program.in_spec:
            leaves, spec = pytree.tree_flatten(self._as_compiled(args, kwargs))
        if spec != self.program.in_spec:
            raise InputError(
                f"the arguments have the structure {_show(spec)}, compiled for {_show(self.program.in_spec)}",
                remedy="pass the same structure, or call mlopt.jit again",
            )
        for position, value in self.program.constants.items():
            given = leaves[position]
            if type(given) is not type(value) or given != value:
                raise InputError(
                    f"leaf {position} of the arguments is {given!r}, it was {value!r} when the module "
                    "was compiled",
                    remedy="call mlopt.jit again with this value",
                )
        return self.call(*[leaves[position] for position in self.positions])

    def _as_compiled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments, those by position and those by name that were so at compile time."""
        positional, by_name = self.program.in_spec.children()
        parameters = self.signature.parameters
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
            return args, {name: kwargs[name] for name in [*by_name.context, *kwargs] if name in kwargs}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(
                f"wrong arguments: {error}", remedy=f"the module takes {self.signature}"
            ) from None
        bound.apply_defaults()
        named = dict(bound.arguments)
        for parameter in parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                named.update(named.pop(parameter.name))
        order = list(parameters)[: positional.num_children]
        left = {
            name: value for name, value in named.items() if name not in order and name not in by_name.context
        }
        for name, value in left.items():
            if name not in parameters or value is not parameters[name].default:
                raise InputError(
                    f"the argument '{name}' was not there when the module was compiled",
                    remedy="call mlopt.jit again with it",
                )
        return tuple(named[name] for name in order), {
            name: named[name] for name in by_name.context if name in named
        }


def output_structure(spec: Any, names: dict[str, Any]) -> str:
    """The expression that builds what the module returns from ``o0, o1, …``."""
    leaves = iter(range(spec.num_leaves))
    text = _expression(spec, leaves)
    if text is not None:
        return text
    names.update(unflatten=pytree.tree_unflatten, out_spec=spec)
    return f"unflatten([{', '.join(f'o{i}' for i in range(spec.num_leaves))}], out_spec)"


def _expression(spec: Any, leaves: Iterator[int]) -> str | None:
    if spec.is_leaf():
        return f"o{next(leaves)}"
    parts = [_expression(child, leaves) for child in spec.children()]
    if any(part is None for part in parts):
        return None
    if spec.type is tuple:
        return f"({''.join(f'{part}, ' for part in parts)})"
    if spec.type is list:
        return f"[{', '.join(map(str, parts))}]"
    if spec.type is dict and all(type(key) in (str, int) for key in spec.context):
        return f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(spec.context, parts, strict=True))}}}"
    return None


def _show(spec: Any) -> str:
    """A tree of arguments with ``*`` for a leaf: ``(*, {'mask': *})``."""

    class _Star:
        def __repr__(self) -> str:
            return "*"

    args, kwargs = pytree.tree_unflatten([_Star()] * spec.num_leaves, spec)
    parts = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"({', '.join(parts)})"


class FunctionModule(torch.nn.Module):
    """A plain function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        # torch.export and error messages look at the signature.
        if inspect.ismethod(function):
            self.forward = types.MethodType(_as_forward(function.__func__), function.__self__)
        elif inspect.isfunction(function):
            self.forward = _as_forward(function)
        else:
            self.forward = lambda *args, **kwargs: function(*args, **kwargs)

    def _get_name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def _as_forward(function: Any) -> Any:
    """The same function by the name of a module's: of other frames, torch notes no source lines."""
    code = function.__code__.replace(co_name="forward")
    copy = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)
