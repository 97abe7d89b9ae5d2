"""Loads the ``mlopt`` dialect, written in IRDL, into a context."""

from __future__ import annotations

from pathlib import Path

from mlir import ir
from mlir._mlir_libs._mlir import globals as bindings
from mlir.dialects import irdl

# Where the bindings find `mlopt.py`, and so know at once that our ops have no classes of their own.
bindings.append_dialect_search_prefix(__package__)
DIALECT_FILE = Path(__file__).parent / "mlopt.irdl.mlir"


def load_mlopt_dialect(context: ir.Context) -> None:
    """Load the dialect; call it once a context, a second time aborts the process."""
    with context:
        irdl.load_dialects(ir.Module.parseFile(str(DIALECT_FILE)))
