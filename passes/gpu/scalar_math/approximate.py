"""The instructions of PTX that LLVM has as intrinsics: approximate ones (ISA 8.0, 9.7.3) and how far off."""

from __future__ import annotations

from mlir import ir

from ...remembered import remembered


def ex2(x: ir.Value) -> ir.Value:
    """2^x, off by at most 2^-22 of it; denormals are kept: three instructions beside the GPU's own."""
    return intrinsic("llvm.nvvm.ex2.approx.f32", x)


def ex2_ftz(x: ir.Value) -> ir.Value:
    """2^x, off by at most 2^-22 of it, one instruction; what is below 2^-126, x too, counts as 0."""
    return intrinsic("llvm.nvvm.ex2.approx.ftz.f32", x)


def rcp_ftz(x: ir.Value) -> ir.Value:
    """1 / x, off by at most 2^-23 of it, one instruction; what is below 2^-126, x too, counts as 0."""
    return intrinsic("llvm.nvvm.rcp.approx.ftz.f", x)


def rsqrt_ftz(x: ir.Value) -> ir.Value:
    """1 / sqrt(x), off by at most 2^-22.9 of it, one instruction; an x below 2^-126 counts as 0."""
    return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", x)


def intrinsic(name: str, *operands: ir.Value) -> ir.Value:
    """LLVM's function ``name`` of scalars of the type that it gives."""
    attributes = _call_attributes(ir.Context.current, name, len(operands))
    return ir.Operation.create("llvm.call_intrinsic", [operands[0].type], operands, attributes).result


@remembered
def _call_attributes(context: ir.Context, name: str, operands: int) -> dict[str, ir.Attribute]:
    return {
        "intrin": ir.StringAttr.get(name, context),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([], context),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([operands, 0], context),
    }
