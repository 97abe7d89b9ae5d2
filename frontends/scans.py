"""torch-mlir's running totals become mlopt.scan, which there are kernels for.

    %y, %all = tm_tensor.scan dimension(1) inclusive(true) ins(%x) outs(%zeros, %first) { add }
  ->
    %y = "mlopt.scan"(%x, %zeros) {kind = "add", …}

Legal where the totals start from the neutral element, as torch-mlir's do, and only those of all places are
read; what is marked with its kind (`running`) was made for this. CPUs have kernels for rows of known length:
others become loops (`importer.TM_TENSOR_TO_LOOPS`).
"""

from __future__ import annotations

from torch_mlir import ir

from .imported_ops import maker_named, ops_named
from .running import KIND

_KINDS = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "mul", "arith.muli": "mul"}


def keep_scans(module: ir.Module, any_length: bool) -> None:
    """Rewrite the scans of ``module``; ``any_length``: those along rows of unknown length, too."""
    for op in ops_named(module, "tm_tensor.scan"):
        kind = _kind(op)
        if kind is not None and (any_length or not _is_dynamic(op)):
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(_scan(op, kind))
            op.erase()


def _kind(op: ir.Operation) -> str | None:
    """How a scan that can be kept combines, else None."""
    if KIND in op.attributes:
        return ir.StringAttr(op.attributes[KIND]).value
    is_inclusive = ir.BoolAttr(op.attributes["inclusive"]).value
    if not is_inclusive or any(True for _ in op.results[1].uses):
        return None
    first, *others, _ = op.regions[0].blocks[0].operations
    return None if others else _KINDS.get(first.operation.name)


def _is_dynamic(op: ir.Operation) -> bool:
    """Whether the rows that a scan runs along have an unknown length."""
    along = ir.IntegerAttr(op.attributes["dimension"]).value
    return bool(ir.RankedTensorType(op.results[0].type).is_dynamic_dim(along))


def _scan(op: ir.Operation, kind: str) -> ir.Value:
    source, result = op.operands[0], op.results[0].type
    fill = maker_named(op.operands[1], "linalg.fill")
    rank, along = ir.RankedTensorType(result).rank, ir.IntegerAttr(op.attributes["dimension"]).value
    names = ("reduction" if dim == along else "parallel" for dim in range(rank))
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{name}>") for name in names]
    same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([same, same]),
        "iterator_types": ir.ArrayAttr.get(kinds),
        "kind": ir.StringAttr.get(kind),
    }
    init = op.operands[1] if fill is None else fill.operands[1]
    return ir.Operation.create("mlopt.scan", [result], [source, init], attributes).results[0]
