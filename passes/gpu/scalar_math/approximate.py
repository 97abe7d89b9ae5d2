"""The approximate instructions of PTX (ISA 8.0, 9.7.3), and how far off they may be."""

from __future__ import annotations

from mlir import ir


def ex2(x: ir.Value) -> ir.Value:
    """2^x, off by at most 2^-22 of it; denormals are kept: three instructions beside the GPU's own."""
    return _call("llvm.nvvm.ex2.approx.f32", x)


def ex2_ftz(x: ir.Value) -> ir.Value:
    """2^x, off by at most 2^-22 of it, one instruction; what is below 2^-126, x too, counts as 0."""
    return _call("llvm.nvvm.ex2.approx.ftz.f32", x)


def rcp_ftz(x: ir.Value) -> ir.Value:
    """1 / x, off by at most 2^-23 of it, one instruction; what is below 2^-126, x too, counts as 0."""
    return _call("llvm.nvvm.rcp.approx.ftz.f", x)


def rsqrt_ftz(x: ir.Value) -> ir.Value:
    """1 / sqrt(x), off by at most 2^-22.9 of it, one instruction; an x below 2^-126 counts as 0."""
    return _call("llvm.nvvm.rsqrt.approx.ftz.f", x)


def _call(name: str, operand: ir.Value) -> ir.Value:
    call = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[operand.type],
        operands=[operand],
        attributes={
            "intrin": ir.StringAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
        },
    )
    return call.results[0]
