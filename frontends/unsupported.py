"""The errors of the front ends: which ops or dtypes cannot be compiled, and at which lines.

The import worker reads this, too, and has no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UnsupportedOpError

if TYPE_CHECKING:
    import torch

EAGER_REMEDY = "run this part in eager (fallback=True), or write it with other ops"
NUMBER_REMEDY = (
    "compute with the tensor itself, without .item(), int() or .tolist(), "
    "or run this in eager (fallback=True)"
)
_DENSE = (
    "pass a dense tensor (to_dense(), dequantize(), to_padded_tensor()), "
    "or run this part in eager (fallback=True)"
)
_DTYPES = "f64, f32, f16, bf16, float8_e4m3fn, float8_e5m2, int8 to int64, uint8 and bool can be compiled"


def unsupported_ops(ops: Sequence[tuple[str, object]], remedy: str = EAGER_REMEDY) -> UnsupportedOpError:
    """``ops`` are pairs (name, source line or None); equal pairs are listed once."""
    lines = list(dict.fromkeys(f"{name} at {line}" if line else name for name, line in ops))
    names = list(dict.fromkeys(name for name, _ in ops))
    what = f"mlopt cannot compile {', '.join(names[:3])}"
    if len(names) > 3:
        what += f" and {len(names) - 3} more kinds of op"
    where = next((str(line) for _, line in ops if line), "")
    details = "\n".join(lines) if len(lines) > 1 else ""
    return UnsupportedOpError(what, where=where, details=details, remedy=remedy)


def unsupported_dtype(dtype: str, line: object) -> UnsupportedOpError:
    """``dtype`` is as torch spells it."""
    return UnsupportedOpError(f"mlopt cannot compile {dtype}", where=str(line or ""), remedy=_DTYPES)


def check_dense(tensor: torch.Tensor, what: str, line: object = None) -> None:
    """Raise `UnsupportedOpError` if ``tensor``, called ``what``, is sparse, quantized, nested or another
    library's.
    """
    form = "a nested tensor" if tensor.is_nested else str(tensor.layout)
    if tensor.is_quantized:
        form = f"a quantized tensor ({tensor.dtype})"
    elif form == "torch.strided":
        return
    raise UnsupportedOpError(
        f"mlopt cannot compile {what}, which is {form}", where=str(line or ""), remedy=_DENSE
    )
