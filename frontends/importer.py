"""torch dialect text -> linalg text, in the import worker: torch_mlir without torch.

Only these parts of torch_mlir are imported: the package's own front ends would load torch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_mlir import ir
from torch_mlir._mlir_libs._torchMlir import register_dialect
from torch_mlir.passmanager import PassManager

from ..errors import CompileError, UnsupportedOpError
from .blame import failing_ops
from .floor_divisions import restore_floor_divisions
from .imported_ops import maker_named, ops_named
from .pool_places import restore_pool_places
from .running import OP as RUNNING
from .running import lower_running
from .scans import keep_scans
from .unsupported import EAGER_REMEDY, unsupported_ops

TO_BACKEND = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{backend-legal-ops=aten.flatten.using_ints,aten.unflatten.int,"
    f"{RUNNING}"
    " extra-library=})"
)
TO_LINALG = "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})"
# MLIR 22 does not know tm_tensor (scan, sort, scatter): what is left becomes loops.
TM_TENSOR_TO_LOOPS = "builtin.module(func.func(tm-tensor-bufferize,tm-tensor-to-loops,canonicalize,cse))"

_SHAPE_CHECKS = {
    "mismatched size for broadcast",
    "mismatching contracting dimension",
    "unimplemented: dynamic negative broadcast sizes",
}
_OP = re.compile(r'"(torch\.[\w.]+)"\(.*?(?:loc\("(.*?)":(\d+):\d+\))?$', re.MULTILINE)


def import_text(torch_text: str, weights: Sequence[int], any_scan: bool = False) -> str:
    """The linalg form of ``torch_text``; the arguments at ``weights`` get ``{mlopt.weight}``.

    ``any_scan``: whether there are kernels for totals of rows of unknown length, which are loops else.
    Raises `UnsupportedOpError` with all ops that torch-mlir does not know, or the first
    that it cannot lower.
    """
    context = _context()
    with context, ir.Location.unknown():
        _check_known(context, torch_text)
        errors: list[tuple[str, str]] = []
        handler = context.attach_diagnostic_handler(lambda d: _record(d, errors))
        try:
            module = _lower(torch_text, any_scan)
        except ir.MLIRError as error:
            raise _import_error(torch_text, errors, str(error)) from None
        finally:
            handler.detach()
        _drop_shape_checks(module)
        _keep_minus_zero(module)
        restore_floor_divisions(module)
        restore_pool_places(module)
        _mark_weights(module, weights)
        # torch.export has worked out all shapes.
        module.operation.attributes["mlopt.sizes_agree"] = ir.UnitAttr.get()
        return _portable(module.operation.get_asm(enable_debug_info=True))


def _context() -> ir.Context:
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True  # for our mlopt.* attributes
    context.emit_error_diagnostics = True
    register_dialect(context)
    return context


def _lower(torch_text: str, any_scan: bool) -> ir.Module:
    module = ir.Module.parse(torch_text)
    PassManager.parse(TO_BACKEND).run(module.operation)
    lower_running(module)
    PassManager.parse(TO_LINALG).run(module.operation)
    keep_scans(module, any_scan)
    if "tm_tensor." in str(module):
        PassManager.parse(TM_TENSOR_TO_LOOPS).run(module.operation)
    return module


def _lowers(torch_text: str) -> bool:
    with _context() as context, ir.Location.unknown():
        handler = context.attach_diagnostic_handler(lambda _: True)
        try:
            _lower(torch_text, any_scan=False)
        except ir.MLIRError:
            return False
        finally:
            handler.detach()
    return True


def _check_known(context: ir.Context, torch_text: str) -> None:
    unknown = [
        (_torch_name(name), f"{file}:{line}" if file else None)
        for name, file, line in _OP.findall(torch_text)
        if not context.is_registered_operation(name)
    ]
    if unknown:
        raise unsupported_ops(unknown)


def _record(diagnostic: ir.Diagnostic, errors: list[tuple[str, str]]) -> bool:
    if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
        errors.append((_location(str(diagnostic.location)), diagnostic.message))
    return True


def _location(asm: str) -> str:
    """``file:line`` of a printed location."""
    match = re.search(r'"((?:[^"\\]|\\.)*)":(\d+)', asm)
    return f"{match[1]}:{match[2]}" if match and match[1] != "-" else ""


def _import_error(torch_text: str, errors: list[tuple[str, str]], text: str) -> CompileError:
    if failing := failing_ops(torch_text, _lowers):
        return unsupported_ops(failing)
    where, message = errors[0] if errors else ("", text)
    return UnsupportedOpError(
        f"torch-mlir cannot import this module: {message}", where=where, remedy=EAGER_REMEDY
    )


def _torch_name(name: str) -> str:
    return name.removeprefix("torch.")


def _drop_shape_checks(module: ir.Module) -> None:
    """torch.export has shown that the shapes fit, for all sizes that the caller lets in."""
    for op in list(module.body.operations[0].regions[0].blocks[0].operations):
        if op.operation.name == "cf.assert" and op.operation.attributes["msg"].value in _SHAPE_CHECKS:
            op.operation.erase()


def _keep_minus_zero(module: ir.Module) -> None:
    """Relu, ``x > 0 or unordered ? x : 0``, as eager's: ``x >= 0 or unordered``, so that -0 stays."""
    greater, greater_or_equal = 9, 10  # arith's "ugt" and "uge"
    for select in ops_named(module, "arith.select"):
        compare = maker_named(select.operands[0], "arith.cmpf")
        if compare is None:
            continue
        x, zero = compare.operands
        same = select.operands[1] == x and select.operands[2] == zero
        predicate = compare.attributes["predicate"]
        if same and ir.IntegerAttr(predicate).value == greater and _is_zero(zero):
            compare.attributes["predicate"] = ir.IntegerAttr.get(predicate.type, greater_or_equal)


def _is_zero(value: ir.Value) -> bool:
    constant = maker_named(value, "arith.constant")
    return constant is not None and ir.FloatAttr(constant.attributes["value"]).value == 0


def _mark_weights(module: ir.Module, weights: Sequence[int]) -> None:
    function = module.body.operations[0]
    marked = ir.DictAttr.get({"mlopt.weight": ir.UnitAttr.get()})
    plain = ir.DictAttr.get({})
    count = len(function.regions[0].blocks[0].arguments)
    attributes = [marked if i in set(weights) else plain for i in range(count)]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _portable(text: str) -> str:
    """What MLIR 22 spells differently from the newer MLIR inside torch_mlir."""
    return re.sub(r"(bufferization\.to_tensor %\S+) : ", r"\1 restrict : ", text)
