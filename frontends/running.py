"""aten.logcumsumexp becomes a scan that adds what it has the logarithms of, and running extremes scans, too.

    %y = torch.aten.logcumsumexp %x, %dim
  ->
    %s, %all = tm_tensor.scan dimension(1) inclusive(true) ins(%t) outs(%e, %f) {mlopt.kind = "logaddexp"} {
    ^bb0(%a, %b):
      %hi, %lo = max and min of %a, %b
      tm_tensor.yield (%hi + log1p(exp(%hi = %lo ? 0 : %lo - %hi)))
    }

where %t and %s are %x and %y as torch_c casts them. torch-mlir's own form sums exp(x), which may be
infinite, or 0, where the logarithm is not. Runs between its two pipelines, of which the first leaves the op
alone; `scans.keep_scans` knows the scan by its mark; on CPUs one of unknown length becomes a loop, as others.
torch's dialect has no op for a running maximum or minimum (`decomposing/scans.py`): it comes as a
logcumsumexp that has the mark already.
"""

from __future__ import annotations

import re

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from .imported_ops import ops_named

OP = "aten.logcumsumexp"
KIND = "mlopt.kind"
_LOADS_DIALECTS = "builtin.module(func.func(convert-torch-to-tmtensor))"


def lower_running(module: ir.Module) -> None:
    """Rewrite each logcumsumexp of ``module``, and what comes as one."""
    found = ops_named(module, f"torch.{OP}")
    if found:  # passes load the dialects that they make ops of: ops of others would not be known
        PassManager.parse(_LOADS_DIALECTS).run(ir.Module.create(ir.Location.unknown()).operation)
    for op in found:
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_scan(op))
        op.erase()


def _scan(op: ir.Operation) -> ir.Value:
    source, dim = op.operands
    kind = _builtin(source.type)
    mark = op.attributes[KIND] if KIND in op.attributes else ir.StringAttr.get("logaddexp")
    along = ir.IntegerAttr(dim.owner.attributes["value"]).value % kind.rank
    values = _make("torch_c.to_builtin_tensor", kind, source)
    sizes = {
        at: _make("tensor.dim", ir.IndexType.get(), values, _constant(ir.IndexType.get(), at))
        for at in range(kind.rank)
        if kind.is_dynamic_dim(at)
    }
    outs = []
    for dims in (range(kind.rank), [at for at in range(kind.rank) if at != along]):
        out = ir.RankedTensorType.get([kind.shape[at] for at in dims], kind.element_type)
        outs.append(_make("tensor.empty", out, *(sizes[at] for at in dims if at in sizes)))
    attributes = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), along),
        "inclusive": ir.BoolAttr.get(True),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(outs)]),
        KIND: mark,
    }
    results = [out.type for out in outs]
    scan = ir.Operation.create("tm_tensor.scan", results, [values, *outs], attributes, regions=1)
    block = ir.Block.create_at_start(scan.regions[0], [kind.element_type] * 2)
    with ir.InsertionPoint(block):
        ir.Operation.create("tm_tensor.yield", [], [_joined(mark, *block.arguments)])
    return _make("torch_c.from_builtin_tensor", op.results[0].type, scan.results[0])


def _joined(mark: ir.Attribute, one: ir.Value, other: ir.Value) -> ir.Value:
    """What a scan of a kind makes of two elements."""
    kind = ir.StringAttr(mark).value
    return _added(one, other) if kind == "logaddexp" else _make(f"arith.{kind}", one.type, one, other)


def _added(one: ir.Value, other: ir.Value) -> ir.Value:
    """log(exp(one) + exp(other))."""
    kind = one.type
    high, low = _make("arith.maximumf", kind, one, other), _make("arith.minimumf", kind, one, other)
    equal = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _EQUAL)}
    bit = ir.IntegerType.get_signless(1)
    same = ir.Operation.create("arith.cmpf", [bit], [high, low], equal).results[0]
    apart = _make("arith.select", kind, same, _constant(kind, 0.0), _make("arith.subf", kind, low, high))
    return _make("arith.addf", kind, high, _make("math.log1p", kind, _make("math.exp", kind, apart)))


_EQUAL = 1  # arith.cmpf's oeq


def _builtin(kind: ir.Type) -> ir.RankedTensorType:
    """The tensor type of a torch.vtensor, ``!torch.vtensor<[?,4],f32>``; integers are signless in it."""
    found = re.fullmatch(r"!torch\.vtensor<\[(.*)\],(\w+)>", str(kind))
    assert found is not None, f"{kind} has sizes and a dtype"
    shape = "".join(f"{size}x" for size in found[1].split(",") if size)
    return ir.RankedTensorType(ir.Type.parse(f"tensor<{shape}{found[2].removeprefix('s')}>"))


def _make(name: str, kind: ir.Type, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [kind], list(operands)).results[0]


def _constant(kind: ir.Type, number: float) -> ir.Value:
    value = ir.FloatAttr.get(kind, number) if isinstance(number, float) else ir.IntegerAttr.get(kind, number)
    return ir.Operation.create("arith.constant", [kind], attributes={"value": value}).results[0]
