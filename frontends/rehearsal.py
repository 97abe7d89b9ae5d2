"""What a module does with its inputs, found by running it once on tensors without memory.

    rehearsal, spec = record(module, args, kwargs)     # every op, its numbers, its source lines
    spec = follow(rehearsal, module, args, kwargs)     # in another process, days later

torch.export's graph says the same, but takes two seconds to import and to make, and a compilation that is in
the cache needs nothing else of it. A module that does as recorded has the recorded one's program, if
`form_of` is equal too: a rehearsal has each op below autograd in its order, with numbers, source lines and
which value is which; the form has names, dtypes, sizes and strides of all inputs, parameters and buffers.

To follow a record runs no kernel: what an op returns is as it was, since all before it was. So it takes no
import, and 0.1 ms an op. Modules have no record that do what it would not show: they use a tensor that is
neither passed nor their own nor computed, read a value out of one, call ops that are not torch's, change
what `state_kept` looks at. Sizes that vary and other places than the CPU are not recorded either.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .module_form import NoForm, named_tensors, plain, state_kept

Rehearsal = dict[str, Any]
"""Plain data: "ops", for each its text and what it returned; "returns", the text of the module's result."""

_NAMESPACES = ("aten", "prims")
_META = torch.device("meta")
_CPU = torch.device("cpu")


def record(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Rehearsal, Any] | None:
    """What ``module(*args, **kwargs)`` does, and the structure of what it returns; None where that has no
    record. No tensor is changed, nor what `state_kept` finds.
    """
    recorder = _Recorder(sys._getframe())
    returned = _run(module, args, kwargs, recorder)
    return None if returned is None else ({"ops": recorder.ops, "returns": returned[1]}, returned[0])


def follow(
    rehearsal: Rehearsal, module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """The structure of what ``module(*args, **kwargs)`` returns if it does what was recorded of a module of
    the same form, else None.
    """
    follower = _Follower(sys._getframe(), rehearsal["ops"])
    returned = _run(module, args, kwargs, follower)
    if returned is None or returned[1] != rehearsal["returns"] or not follower.is_done():
        return None
    return returned[0]


def _run(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], mode: _Mode
) -> tuple[Any, str] | None:
    """The structure of what the module returns, and its text; None where the mode or the module raises."""
    if _is_in_a_mode():
        return None
    named = named_tensors(module)
    leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
    inputs = [mode.stand_in(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    standing: dict[int, torch.Tensor] = {id(tensor): mode.stand_in(tensor) for tensor in named.values()}
    weights = {name: standing[id(tensor)] for name, tensor in named.items()}
    own_args, own_kwargs = pytree.tree_unflatten(inputs, structure)
    after = dict(weights)
    try:
        with state_kept(module), _as_in_export(), mode:
            # It leaves in ``after`` what the module has at the end.
            result = torch.func.functional_call(module, after, own_args, own_kwargs, tie_weights=False)
        outputs, returned = pytree.tree_flatten(result)
        text = f"{returned} of {_text(outputs)}"
    except Exception:  # torch.export will say what is wrong, if anything is
        return None
    if mode.failed or any(after[name] is not weights[name] for name in weights):
        return None
    return returned, text


class _StandIn(torch.Tensor):
    """A tensor on the CPU as far as a module can tell, without elements."""

    number: int

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(
        cls, number: int, dtype: torch.dtype, shape: Sequence[int], strides: Sequence[int],
        offset: int = 0, requires_grad: bool = False,
    ) -> _StandIn:  # fmt: skip
        made: _StandIn = torch.Tensor._make_wrapper_subclass(
            cls,
            shape,
            strides=strides,
            storage_offset=offset,
            dtype=dtype,
            device=_CPU,
            requires_grad=requires_grad,
        )
        made.number = number
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NoForm("a tensor that forward kept elsewhere while mlopt looked at it has no elements")


class _Mode(TorchDispatchMode, ABC):
    """Sees every op; ``bottom`` is a frame below the module's."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # Dynamo would be imported to be told, which takes a second

    def __init__(self, bottom: FrameType) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.failed = False  # an error may have been caught on its way out of the module
        self._bottom = bottom
        self._count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self.perform(func, args, kwargs or {})
        except BaseException:
            self.failed = True
            raise

    @abstractmethod
    def perform(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What an op returns."""

    def stand_in(self, tensor: torch.Tensor) -> _StandIn:
        """What the module is given for ``tensor``."""
        form = tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.requires_grad
        made = self.new(*form)
        made._is_param = isinstance(tensor, torch.nn.Parameter)
        made._is_buffer = isinstance(tensor, torch.nn.Buffer)  # type: ignore[attr-defined]
        return made

    def new(self, *form: Any) -> _StandIn:
        """A tensor with the next number."""
        made = _StandIn(self._count, *form)
        self._count += 1
        return made

    def text(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """An op as text, and the lines that called it, the innermost first."""
        if func.namespace not in _NAMESPACES:
            raise NoForm
        frames = []
        frame: FrameType | None = sys._getframe(3)
        while frame is not None and frame is not self._bottom:
            frames.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            frame = frame.f_back
        grad = torch.is_grad_enabled()
        return f"{func}{_text(args)}{_text(kwargs)} grad mode {grad} at {', '.join(frames)}"


class _Follower(_Mode):
    """Gives what the record says as long as each op is the recorded one."""

    def __init__(self, bottom: FrameType, ops: Sequence[Any]) -> None:
        super().__init__(bottom)
        self._ops = iter(ops)

    def is_done(self) -> bool:
        """Whether nothing is left of the record."""
        return next(self._ops, None) is None

    def perform(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        text, results = next(self._ops, (None, None))
        if self.text(func, args, kwargs) != text:
            raise NoForm
        known = {each.number: each for each in pytree.tree_leaves((args, kwargs)) if _is_stand_in(each)}
        return self._made(results, known)

    def _made(self, result: Any, known: Mapping[int, _StandIn]) -> Any:
        kind, value = result
        if kind == "same":
            return known[value]
        if kind == "new":
            return self.new(getattr(torch, value[0]), *value[1:])
        if kind in ("tuple", "list"):
            parts = [self._made(part, known) for part in value]
            return tuple(parts) if kind == "tuple" else parts
        return value


class _Recorder(_Mode):
    """Runs each op on tensors of the meta device, and writes it down."""

    def __init__(self, bottom: FrameType) -> None:
        super().__init__(bottom)
        self.ops: list[tuple[str, Any]] = []
        self._inner: dict[int, torch.Tensor] = {}

    def new(self, *form: Any) -> _StandIn:
        made = super().new(*form)
        dtype, shape, strides = form[:3]
        self._inner[made.number] = torch.empty_strided(shape, strides, dtype=dtype, device=_META)
        return made

    def perform(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        text = self.text(func, args, kwargs)
        leaves, structure = pytree.tree_flatten((args, kwargs))
        own_args, own_kwargs = pytree.tree_unflatten([self._own(leaf) for leaf in leaves], structure)
        known = {id(self._inner[each.number]): each for each in leaves if _is_stand_in(each)}
        if not known and any(each.name == "device" for each in func._schema.arguments):
            own_kwargs["device"] = _META
        results = func(*own_args, **own_kwargs)
        if func._schema.is_mutable and not all(map(self._has_kept_its_form, known.values())):
            raise NoForm
        made, written = self._outer(results, known)
        self.ops.append((text, written))
        return made

    def _own(self, leaf: Any) -> Any:
        if isinstance(leaf, _StandIn):
            return self._inner[leaf.number]
        return _META if type(leaf) is torch.device else leaf

    def _outer(self, result: Any, known: Mapping[int, _StandIn]) -> tuple[Any, Any]:
        """What the module gets for ``result``, and how that is written down."""
        if isinstance(result, tuple | list):
            parts = [self._outer(part, known) for part in result]
            kind = tuple if isinstance(result, tuple) else list
            return kind(made for made, _ in parts), (kind.__name__, [written for _, written in parts])
        if not isinstance(result, torch.Tensor):
            if type(result) not in (type(None), bool, int, float):
                raise NoForm
            return result, ("plain", result)
        if id(result) in known:
            same = known[id(result)]
            return same, ("same", same.number)
        if result.device != _META:
            raise NoForm
        made = self.new(result.dtype, result.shape, result.stride(), result.storage_offset())
        self._inner[made.number] = result
        dtype = str(result.dtype).removeprefix("torch.")
        return made, ("new", [dtype, list(result.shape), list(result.stride()), result.storage_offset()])

    def _has_kept_its_form(self, tensor: _StandIn) -> bool:
        inner = self._inner[tensor.number]
        return inner.shape == tensor.shape and inner.stride() == tensor.stride()


def _is_stand_in(value: Any) -> bool:
    return isinstance(value, _StandIn)


def _text(value: Any) -> str:
    """Arguments as text, tensors by their numbers."""
    if isinstance(value, _StandIn):
        return f"%{value.number}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(_text, value))})"
    if isinstance(value, dict):
        return f"({', '.join(f'{name}={_text(each)}' for name, each in value.items())})"
    return plain(value)


def _is_in_a_mode() -> bool:
    """Whether somebody else looks at ops too, and may change them."""
    return bool(torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack())


@contextmanager
def _as_in_export() -> Iterator[None]:
    """Let the module take the ways that it takes while torch.export traces it."""
    before = torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag
    torch.compiler._is_compiling_flag = torch.compiler._is_exporting_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag = before
