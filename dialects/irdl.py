"""Loads the ``mlopt`` dialect, written in IRDL, into a context."""

from __future__ import annotations

from pathlib import Path

from mlir import ir
from mlir.dialects import irdl

DIALECT_FILE = Path(__file__).parent / "mlopt.irdl.mlir"


def load_mlopt_dialect(context: ir.Context) -> None:
    """Load the dialect; call it once a context, a second time aborts the process."""
    with context:
        irdl.load_dialects(ir.Module.parseFile(str(DIALECT_FILE)))
