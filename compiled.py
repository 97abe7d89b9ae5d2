"""What compilation gives to the user: a callable that shows its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import MloptError
from .options import Options
from .report import Kernel, Report
from .runtime.assembly import Stages


class Compiled:
    """A compiled module or function. Call it as the original is called.

    ``kernels``  what runs: name, ops, schedule, bytes and FLOPs of each kernel
    ``asm``      the program after each stage, as text: "torch", "linalg", "kernels", …, "object"
    ``report``   coverage, slow paths, totals; print it
    ``options``  what it was compiled with
    """

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        general: Callable[[tuple[Any, ...], dict[str, Any]], Any],
        arity: int,
        asm: Stages,
        report: Report,
        options: Options,
        refresh: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._call = call
        self._general = general
        self._arity = arity
        self.asm = asm
        self.report = report
        self.options = options
        self._refresh = refresh

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return self.report.kernels

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Inputs may be torch tensors or numpy arrays; what comes out is the same."""
        if kwargs or len(args) != self._arity:
            return self._general(args, kwargs)
        return self._call(*args)

    def refresh(self) -> None:
        """Look at all weights anew in the next call.

        Needed only after a write that torch does not notice: to ``weight.data``, or through an array
        that shares its memory.
        """
        if self._refresh is not None:
            self._refresh()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Machine code is this process's, and weights are the module's: a copy would silently share them."""
        raise MloptError(
            f"{self!r} cannot be copied or pickled",
            remedy="copy or pickle the module, and compile that with mlopt.jit: kernels come from the cache",
        )

    def __repr__(self) -> str:
        return f"<mlopt.Compiled {self.name} for {self.options.target}: {self.report.summary()}>"
