"""Arithmetic on f32 or f64 values, scalar or vector alike, emitted at the insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from mlir import ir
from mlir.dialects import arith, math, vector

_OrderedLess = arith.CmpFPredicate.OLT
_Equal = arith.CmpFPredicate.OEQ


@dataclass(frozen=True)
class Lanes:
    """Builds ops on values of one shape: ``shape`` is None for scalars, else that of the vector."""

    shape: tuple[int, ...] | None
    bits: int = 32
    vector_bits: int = 256
    """The width of the processor's registers; 512 means that there are scalef and lookups."""

    @staticmethod
    def like(type_: ir.Type, vector_bits: int = 256) -> Lanes:
        """The builder for values of ``type_``."""
        if isinstance(type_, ir.VectorType):
            return Lanes(tuple(type_.shape), type_.element_type.width, vector_bits)
        return Lanes(None, type_.width, vector_bits)

    @property
    def double(self) -> Lanes:
        """The same lanes in f64."""
        return Lanes(self.shape, 64, self.vector_bits)

    @property
    def float_type(self) -> ir.Type:
        """The type of the values."""
        return self._shaped(ir.F32Type.get() if self.bits == 32 else ir.F64Type.get())

    @property
    def int_type(self) -> ir.Type:
        """The integers of the same width."""
        return self._shaped(ir.IntegerType.get_signless(self.bits))

    def const(self, value: float) -> ir.Value:
        """A constant in all lanes."""
        return self._constant(self.float_type, value, ir.FloatAttr.get)

    def int_const(self, value: int) -> ir.Value:
        """An integer constant in all lanes."""
        return self._constant(self.int_type, value, ir.IntegerAttr.get)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a + b`, of floats."""
        return _made("arith.addf", a.type, a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a - b`, of floats."""
        return _made("arith.subf", a.type, a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a * b`, of floats."""
        return _made("arith.mulf", a.type, a, b)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a / b`, of floats."""
        return _made("arith.divf", a.type, a, b)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """`a * b + c`, rounded once."""
        return _made("math.fma", a.type, a, b, c)

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """`c0 + c1 x + c2 x² …` by Horner's rule."""
        result = self.const(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.const(coefficient))
        return result

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a < b`; false for NaN."""
        return arith.cmpf(_OrderedLess, a, b)

    def equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """`a == b`; false for NaN."""
        return arith.cmpf(_Equal, a, b)

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a`` where ``condition``, else ``b``."""
        return _made("arith.select", a.type, condition, a, b)

    def at_most(self, x: ir.Value, limit: float) -> ir.Value:
        """min(x, limit); NaN stays NaN. One instruction: minps returns its second operand for NaN."""
        bound = self.const(limit)
        return self.select(self.less(bound, x), bound, x)

    def at_least(self, x: ir.Value, limit: float) -> ir.Value:
        """max(x, limit); NaN stays NaN."""
        bound = self.const(limit)
        return self.select(self.less(x, bound), bound, x)

    def abs(self, x: ir.Value) -> ir.Value:
        """`|x|`."""
        return math.absf(x)

    def with_sign_of(self, x: ir.Value, sign: ir.Value) -> ir.Value:
        """``x``, which is not negative, with the sign of ``sign``."""
        mask = self.int_const(-(1 << (self.bits - 1)))
        signed = _made("arith.andi", self.int_type, self.to_bits(sign), mask)
        return self.from_bits(_made("arith.ori", self.int_type, signed, self.to_bits(x)))

    def to_bits(self, x: ir.Value) -> ir.Value:
        """The bits of a float as an integer."""
        return _made("arith.bitcast", self.int_type, x)

    def from_bits(self, x: ir.Value) -> ir.Value:
        """The float with these bits."""
        return _made("arith.bitcast", self.float_type, x)

    def round_to_int(self, x: ir.Value, scale: float = 1.0) -> tuple[ir.Value, ir.Value]:
        """The integer nearest to `x * scale`, as a float and as an integer; |x * scale| < 2^22 (2^51)."""
        rounded, bits = self.round_to_part(x, scale)
        bits_of_zero = 0x4B400000 if self.bits == 32 else 0x4338000000000000
        return rounded, arith.subi(bits, self.int_const(bits_of_zero))

    def round_to_part(self, x: ir.Value, scale: float, parts: int = 1) -> tuple[ir.Value, ir.Value]:
        """The multiple of 1 / ``parts`` nearest to `x * scale`; how many, in the low bits of an integer.

        ``parts`` is a power of two, |x * scale| < 2^22 (2^51) / parts. Adding 1.5 * 2^23 / parts leaves the
        number in the low bits of the sum; unlike fptosi this is defined for NaN.
        """
        magic = 1.5 * 2.0 ** (23 if self.bits == 32 else 52) / parts
        shifted = self.fma(x, self.const(scale), self.const(magic))
        return self.sub(shifted, self.const(magic)), self.to_bits(shifted)

    def power_of_two(self, exponent: ir.Value) -> ir.Value:
        """`2^exponent` of an integer in the range of normal numbers."""
        mantissa, bias = (23, 127) if self.bits == 32 else (52, 1023)
        biased = arith.addi(exponent, self.int_const(bias))
        return self.from_bits(arith.shli(biased, self.int_const(mantissa)))

    def scale(self, x: ir.Value, exponent: ir.Value, as_int: ir.Value | None = None) -> ir.Value:
        """`x * 2^floor(exponent)`, right into the denormals and to infinity.

        Without `has_lookup`, the exponent must be an integer, and given as one, too.
        """
        if self.has_lookup:
            return self._in_registers(_scalef, x, exponent)
        assert as_int is not None, "scalef alone takes the floor of the exponent"
        half = arith.shrsi(as_int, self.int_const(1))
        rest = arith.subi(as_int, half)
        return self.mul(self.mul(x, self.power_of_two(half)), self.power_of_two(rest))

    def scale_once(self, x: ir.Value, exponent: ir.Value, raised: int) -> ir.Value:
        """`x * 2^exponent` of an integer to which ``raised`` adds up to -126 … 127, rounded at most once.

        Half the instructions of `scale`: times 2^(exponent + raised), a normal number, and 2^-raised.
        """
        power = self.power_of_two(arith.addi(exponent, self.int_const(raised)))
        return self.mul(self.mul(x, power), self.const(2.0**-raised))

    def widen(self, x: ir.Value) -> ir.Value:
        """f32 lanes as f64."""
        return arith.extf(self.double.float_type, x)

    def narrow(self, x: ir.Value) -> ir.Value:
        """f64 lanes rounded to this builder's type."""
        return arith.truncf(self.float_type, x)

    @property
    def has_lookup(self) -> bool:
        """Whether there are `lookup`, and scalef for `scale`: f32 in whole registers of AVX-512."""
        whole = self.shape is not None and self.shape[-1] % 16 == 0
        return self.vector_bits >= 512 and self.bits == 32 and whole

    def lookup(self, index: ir.Value, table: Sequence[float]) -> ir.Value:
        """The number of a ``table`` of 16 that the low four bits of each lane's ``index`` choose."""
        register = Lanes((16,), self.bits, self.vector_bits).float_type
        entries = ir.DenseElementsAttr.get(np.asarray(table, np.float32), type=register)
        return self._in_registers(partial(_lookup, arith.constant(register, entries)), index)

    def _in_registers(self, work: Callable[..., ir.Value], *operands: ir.Value) -> ir.Value:
        """What ``work`` makes of 16 lanes of the operands, for all of them."""
        if self.shape == (16,):
            return work(*operands)
        result = self.const(0.0)
        for start in range(0, self.shape[-1] if self.shape else 0, 16):
            parts = [
                vector.extract_strided_slice(
                    ir.VectorType.get([16], operand.type.element_type), operand, [start], [16], [1]
                )
                for operand in operands
            ]
            result = vector.insert_strided_slice(work(*parts), result, [start], [1])
        return result

    def _shaped(self, element: ir.Type) -> ir.Type:
        return element if self.shape is None else ir.VectorType.get(self.shape, element)

    def _constant(self, type_: ir.Type, value: float, attribute: object) -> ir.Value:
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        scalar = attribute(element, value)  # type: ignore[operator]
        if element is type_:
            return _made("arith.constant", type_, value=scalar)
        return _made("arith.constant", type_, value=ir.DenseElementsAttr.get_splat(type_, scalar))


def in_registers(
    b: Lanes, operands: list[ir.Value], rule: Callable[[Lanes, list[ir.Value]], ir.Value]
) -> ir.Value:
    """``rule`` on one f32 register after the other, for rules that need f64: twice the registers a value."""
    lanes = b.vector_bits // 32
    if b.shape is None or len(b.shape) != 1 or b.shape[0] <= lanes:
        return rule(b, operands)
    result = operands[0]
    for start in range(0, b.shape[0], lanes):
        size = min(lanes, b.shape[0] - start)
        part = Lanes((size,), b.bits, b.vector_bits)
        parts = [vector.extract_strided_slice(part.float_type, v, [start], [size], [1]) for v in operands]
        result = vector.insert_strided_slice(rule(part, parts), result, [start], [1])
    return result


def splat(value: ir.Value) -> float | None:
    """The number that ``value`` holds in all lanes, if that is a constant."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name == "vector.broadcast":
        return splat(op.operands[0])
    if op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        return float(attribute.value)
    elements = ir.DenseElementsAttr(attribute)
    return float(ir.FloatAttr(elements.get_splat_value()).value) if elements.is_splat else None


def _made(name: str, kind: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """An op: upstream's functions take twice as long, and there are thousands."""
    return ir.Operation.create(name, [kind], operands, attributes).result


def _scalef(x: ir.Value, exponent: ir.Value) -> ir.Value:
    mask = arith.constant(ir.IntegerType.get_signless(16), -1)
    rounding = arith.constant(ir.IntegerType.get_signless(32), 4)  # the current direction
    return _intrinsic("llvm.x86.avx512.mask.scalef.ps.512", x.type, x, exponent, x, mask, rounding)


def _lookup(table: ir.Value, index: ir.Value) -> ir.Value:
    return _intrinsic("llvm.x86.avx512.permvar.sf.512", table.type, table, index)


def _intrinsic(name: str, result: ir.Type, *operands: ir.Value) -> ir.Value:
    call = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[result],
        operands=operands,
        attributes={
            "intrin": ir.StringAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
    )
    return call.results[0]
