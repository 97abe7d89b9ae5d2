"""``verify=True``: the first call of a compiled module beside eager and eager in float64.

Each element may be off from the float64 result by twice as much as eager is, or by a small share
of the terms that it is made of, whichever is larger. The size of the terms is the sum of |dy/dv · v|
over all inputs and weights v; for x · w, and for a sum, that is the sum of the absolute terms. It is
estimated from below: v is changed by a tiny share with random signs, a few times, and the largest
change of y counts (of a change and its opposite, the smaller one: a step function may jump). So an
element that is small beside others, or small because much cancels, is measured by what it is made of,
not by the output's typical size. The terms are looked for only where some element is off by more than its
share of itself: they are never less.

Where tensor cores may round factors of f32 (TF32), eager is run with rounded factors, too, and an element may
be near either result. One that depends on such a product (factors of a bit less change it) may be off by the
share of f16, which has as many bits.

Integers and bools must be equal to eager's. Where eager or its float64 result is not finite, an element
has to agree with either: eager's own dtype may overflow where float64 does not.

In float64 also what the module makes for itself is float64 (`float64.py`). A module that does not run so
is compared with eager alone, with a warning: both may be off from the truth, so the bound is twice the share
of the terms, which are estimated in eager's dtype.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..errors import VerifyError, user_line
from .float64 import InFloat64
from .rounded_products import TF32_BITS, RoundedProducts
from .torch_inputs import describe

_SHARE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
_SHARE |= {dtype: 2 * torch.finfo(dtype).eps for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)}
SAMPLES = 8
_REFUSALS = (RuntimeError, TypeError, ValueError, AssertionError)  # of a module that insists on its dtype
STEP = 2.0**-20  # the inputs' relative change: small against 1, large against float64's rounding


class Verifier:
    """Takes what eager gives for some arguments, before a call; compares with what it returned.

    ``tf32``: the call may round the factors of its products of f32.
    """

    def __init__(
        self, module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], tf32: bool = False
    ) -> None:
        positional: tuple[Any, ...]
        positional, by_name = pytree.tree_map(_as_tensor, (tuple(args), dict(kwargs)))
        try:
            self.eager = self._rounded = self._coarser = _leaves(module, positional, by_name)
        except NotImplementedError as error:
            raise _without_eager(error) from error
        if tf32:
            with RoundedProducts(TF32_BITS):
                self._rounded = _leaves(module, positional, by_name)
            with RoundedProducts(TF32_BITS - 1):
                self._coarser = _leaves(module, positional, by_name)
        self._references = _references(module, (positional, by_name), self.eager)
        self.exact, self._find_terms = next(self._references)

    @functools.cached_property
    def terms(self) -> list[Any]:
        """The size of the terms of each element: 16 calls of the module, which few checks need.

        A module that does not run with other numbers has another reference from then on.
        """
        while True:
            try:
                return self._find_terms()
            except _REFUSALS:
                self.exact, self._find_terms = next(self._references)

    def check(self, outputs: Any) -> None:
        """Raise `VerifyError` if ``outputs`` are not what eager returns."""
        ours = pytree.tree_leaves(outputs)
        if len(ours) != len(self.eager):
            raise VerifyError(f"verify: {len(ours)} outputs, eager has {len(self.eager)}")
        least = [value.double().abs() if _is_float(value) else None for value in self.exact]
        with contextlib.suppress(VerifyError):
            self._compare(ours, least)  # no terms are smaller: what passes with these passes
            return
        self._compare(ours, self.terms)

    def _compare(self, ours: Sequence[Any], terms_of_all: Sequence[Any]) -> None:
        references = zip(self.eager, self._rounded, self._coarser, strict=True)
        each = zip(ours, references, self.exact, terms_of_all, strict=True)
        for number, (value, (eager, rounded, coarser), exact, terms) in enumerate(each):
            value = _as_tensor(value)
            if not isinstance(eager, torch.Tensor):
                if value != eager:
                    raise VerifyError(f"verify: output {number} is {value!r}, eager's is {eager!r}")
                continue
            share = _share(rounded, coarser)
            _check_tensor(number, value.detach(), (eager, rounded), exact, terms, share)


def _without_eager(error: NotImplementedError) -> VerifyError:
    what = (str(error).splitlines() or ["an op is not implemented"])[0]
    return VerifyError(
        "verify: eager cannot run this module, so there is nothing to compare with",
        where=user_line(error),
        details=what,
        remedy="leave out verify=True, or pass inputs on a device that has the op",
    )


def _share(rounded: torch.Tensor, coarser: torch.Tensor) -> torch.Tensor | None:
    """The share of its terms that each element may be off by; None of what is no float."""
    if not _is_float(rounded):
        return None
    share = torch.full(rounded.shape, _SHARE[rounded.dtype], dtype=torch.float64, device=rounded.device)
    return torch.where(_same(rounded, coarser), share, share.clamp(min=_SHARE[torch.float16]))


def _check_tensor(
    number: int,
    value: torch.Tensor,
    eagers: tuple[torch.Tensor, torch.Tensor],
    exact: torch.Tensor,
    terms: torch.Tensor,
    share: torch.Tensor | None,
) -> None:
    """``eagers``: as eager is, and with rounded factors; either will do."""
    eager, rounded = eagers
    kinds = [describe(tensor.dtype, tensor.shape) for tensor in (value, eager)]
    if kinds[0] != kinds[1]:
        raise VerifyError(f"verify: output {number} is {kinds[0]}, eager's is {kinds[1]}")
    wrong = _wrong(value, eager, exact, terms, share)
    if rounded is not eager:
        wrong &= _wrong(value, rounded, exact, terms, share)
    count = int(wrong.sum())
    if not count:
        return
    place = tuple(wrong.nonzero()[0].tolist())
    reference = "" if exact is eager else f", in float64 {exact[place].item():.9g}"
    raise VerifyError(
        f"verify: output {number} ({kinds[0]}) differs from eager in {count} of {value.numel()} elements",
        details=f"at {list(place)}: compiled {value[place].item():.9g}, "
        f"eager {eager[place].item():.9g}{reference}",
        remedy="please report it, with the module; fallback: run the module in eager",
    )


def _references(
    module: torch.nn.Module, arguments: tuple[Any, Any], eager: list[Any]
) -> Iterator[tuple[list[Any], Callable[[], list[Any]]]]:
    """What ``module`` returns in float64, and what finds the sizes of the terms; ``eager`` itself at last.

    The first that there is counts; the others are for modules that refuse to be called with other numbers.
    """
    problem = "it does not take other numbers"
    double = copy.deepcopy(module).double()
    own = copy.deepcopy(module), pytree.tree_map(_copied, arguments)
    converted = pytree.tree_map(_to_double, own[1])
    for each in (InFloat64(double, lift=False), InFloat64(double, lift=True)):
        try:
            exact = _leaves(each, *converted)
        except _REFUSALS as error:
            problem = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        if list(map(_kind, exact)) == list(map(_kind, pytree.tree_map(_to_double, eager))):
            yield exact, functools.partial(_terms, each, converted, exact, STEP)
        else:
            problem = "other dtypes or shapes come out"
    warnings.warn(
        f"verify: the module does not run in float64 ({problem}); it is compared with eager in its own"
        " dtype, with twice the bound",
        stacklevel=2,
    )
    yield eager, lambda: [None if value is None else 2 * value for value in _own_terms(*own, eager)]
    # Values that may not be changed.
    yield eager, lambda: [2 * value.double().abs() if _is_float(value) else None for value in eager]


def _own_terms(module: torch.nn.Module, arguments: tuple[Any, Any], eager: list[Any]) -> list[Any]:
    """The terms as eager's coarsest dtype shows them, with a step between its rounding and 1."""
    dtypes = [value.dtype for value in eager if _is_float(value)]
    step = math.sqrt(max((torch.finfo(dtype).eps for dtype in dtypes), default=STEP))
    return _terms(module, arguments, eager, step)


def _kind(value: Any) -> str:
    return describe(value.dtype, value.shape) if isinstance(value, torch.Tensor) else ""


def _terms(
    module: torch.nn.Module, arguments: tuple[Any, Any], result: Sequence[Any], size: float
) -> list[Any]:
    """For each element of ``result``, what ``module`` returns, the size of the terms that it is made of."""
    found: list[Any] = [abs(value) if _is_float(value) else None for value in result]
    for sample in range(SAMPLES):
        up, down = (_leaves_near(module, arguments, step, sample) for step in (size, -size))
        for number, (high, low, here) in enumerate(zip(up, down, result, strict=True)):
            if found[number] is not None:
                terms = torch.minimum((high - here).abs(), (low - here).abs()) / size
                found[number] = torch.maximum(found[number], torch.nan_to_num(terms, nan=0.0, posinf=0.0))
    return found


def _leaves_near(module: torch.nn.Module, arguments: tuple[Any, Any], step: float, seed: int) -> list[Any]:
    """What ``module`` returns where all floats are changed by ``step`` of theirs, with random signs."""
    change = functools.partial(_change, step=step, generator=torch.Generator().manual_seed(seed))
    changed = copy.deepcopy(module)
    for weight in (*changed.parameters(), *changed.buffers()):
        weight.data = change(weight.data)
    args, kwargs = pytree.tree_map_only(torch.Tensor, change, arguments)
    return _leaves(changed, args, kwargs, is_own=True)


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _change(value: torch.Tensor, step: float, generator: torch.Generator) -> torch.Tensor:
    """``value`` with each element up or down by half a step: each term of a product has two factors."""
    if not value.is_floating_point():
        return value
    signs = torch.randint(2, value.shape, generator=generator).double() - 0.5
    return value * (1 + step * signs).to(value.dtype)


def _wrong(
    value: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor,
    terms: torch.Tensor,
    share: torch.Tensor | None,
) -> torch.Tensor:
    """Which elements are not what they should be."""
    if share is None:
        return value != eager
    rounded = exact.to(value.dtype)
    agrees = _same(value, eager) | _same(value, rounded)
    value, eager, exact = value.double(), eager.double(), exact.double()
    finite = eager.isfinite() & exact.isfinite()
    allowed = torch.maximum(2 * (eager - exact).abs(), share * terms.double())
    near = torch.where(
        finite, (value - exact).abs() <= allowed, _near_finite(value, eager, exact, terms, share)
    )
    return ~(agrees | near)


def _near_finite(
    value: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, terms: torch.Tensor, share: torch.Tensor
) -> torch.Tensor:
    """Which elements are near the one of the two results that is finite, where the other is not."""
    near_exact = exact.isfinite() & ((value - exact).abs() <= share * terms.double())
    near_eager = eager.isfinite() & ((value - eager).abs() <= share * eager.abs())
    return near_exact | near_eager


def _same(value: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    value, other = value.double(), other.double()
    return (value == other) | (value.isnan() & other.isnan())


def _leaves(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], is_own: bool = False
) -> list[Any]:
    """The outputs of a copy of ``module`` (of itself, if ``is_own``) for copies of its arguments: either may
    be mutated.
    """
    with torch.no_grad():
        copies = pytree.tree_map(_copied, (args, kwargs))
        called = module if is_own else copy.deepcopy(module)
        return [
            leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
            for leaf in pytree.tree_leaves(called(*copies[0], **copies[1]))
        ]


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _as_tensor(value: Any) -> Any:
    return (
        torch.as_tensor(value.copy())
        if type(value).__module__ == "numpy" and hasattr(value, "dtype")
        else value
    )


def _to_double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
