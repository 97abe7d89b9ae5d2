"""Outputs as torch tensors: fresh memory, eager's strides, and no silent end of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def _empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device="cpu")


# Inductor's allocator takes half the time, and no notice of default devices and modes.
empty_strided_cpu: Callable[[Sequence[int], Sequence[int], torch.dtype], torch.Tensor] = getattr(
    torch._C._dynamo.guards, "_empty_strided_cpu", _empty_strided
)


def restride(value: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """``value`` in fresh memory with ``strides``; dimensions of stride 0 are expanded views.

    Elements that share memory in eager (of ``unfold``, say) are equal, so they may share it here.
    """
    stored = tuple(1 if stride == 0 else size for size, stride in zip(value.shape, strides, strict=True))
    compact = tuple(stride or 1 for stride in strides)
    if value.is_cpu:
        result = empty_strided_cpu(stored, compact, value.dtype)
    else:
        result = torch.empty_strided(stored, compact, dtype=value.dtype, device=value.device)
    result.copy_(value[tuple(slice(size) for size in stored)])
    return result if 0 not in strides else result.as_strided(value.shape, tuple(strides)).detach()


class _Inference(torch.autograd.Function):
    """The node in eager's place: outputs require grad as they would there, and backward is an error."""

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, *outputs: torch.Tensor) -> tuple[torch.Tensor, ...]:  # noqa: ARG004
        ctx.mark_dirty(*outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:  # noqa: ARG004
        raise RuntimeError(
            "mlopt.jit compiles for inference: no graph was recorded for backward\n"
            "  remedy: train the module itself; call the compiled one under torch.no_grad()"
        )


_anchor = torch.empty(0, requires_grad=True)


def forbid_backward(*outputs: torch.Tensor) -> None:
    """Make ``outputs`` require grad in place, as eager's would; a backward through them raises."""
    _Inference.apply(_anchor, *outputs)  # type: ignore[no-untyped-call]
