"""8-bit floats are stored only: every tensor of f8E4M3FN or f8E5M2 becomes one of i8, their bits.

    %y = linalg.generic … ins(%x : tensor<4xf8E5M2>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f8E5M2, %o: f32):
      %b = arith.extf %a : f8E5M2 to f32
      linalg.yield %b : f32

    %y = linalg.generic {mlopt.op = "cast"} ins(%x : tensor<4xi8>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: i8, %o: f32):
      %w = arith.extui %a : i8 to i16
      %s = arith.shli %w, %c8 : i16
      %h = arith.bitcast %s : i16 to f16
      %b = arith.extf %h : f16 to f32
      linalg.yield %b : f32

Conversions from and to them are integer arithmetic with torch's rounding (float8/conversions.py), on any
target: sm_80 has no instruction for them, nor has a CPU, and those of sm_89 make another number of what is
too large for e5m2. Numbers, comparisons and tests (isnan) are taken of the f32. Arguments and results of
functions that were 8-bit floats get the attribute `mlopt.float8` with the format. Legal for ops that move or
convert elements, and for math.absf, a mask of the bits; other ops that compute in an 8-bit float are refused.

A linalg.matmul of 8-bit floats into f32 is one of f16, which has all their numbers. With ``products`` both of
one format stay, for warpgroups (mlopt-gpu-float8-products has what becomes of others)::

    %p = linalg.generic {mlopt.op = "matmul"} ins(%x, %y : tensor<4x8xi8>, tensor<8x4xi8>) … {
    ^bb0(%a: i8, %b: i8, %s: f32):
      %v = arith.bitcast %a : i8 to f8E4M3FN
      %w = arith.extf %v : f8E4M3FN to f32 …

Effect: arguments and results of a byte an element. On sm_80 a kernel that only converts has 10 instructions
an element from e4m3fn to f32, 4 from e5m2, 15 from f32 to either; one that negates f32 has 3. No spills.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlir import ir
from mlir.dialects import arith

from ..dialects.attributes import FLOAT8, OP
from .base import Pass, UnsupportedError
from .float8 import products
from .float8.conversions import ALL_BUT_SIGN, FORMATS, Format, code_of, decode, encode
from .operations import nested_ops

_FLOATS8 = (ir.Float8E4M3FNType, ir.Float8E5M2Type)
_MOVES = ("bufferization.", "cf.", "func.", "memref.", "scf.", "tensor.", "ub.")
_MOVING = (
    "arith.constant", "arith.select", "linalg.broadcast", "linalg.copy", "linalg.fill", "linalg.generic",
    "linalg.index", "linalg.transpose", "linalg.yield",
)  # fmt: skip
_WIDENING, _NARROWING = "arith.extf", ("arith.truncf", "arith.sitofp", "arith.uitofp")
_ABSOLUTE = "math.absf"
_ASKING = (
    "arith.cmpf", "arith.fptosi", "arith.fptoui", "math.isfinite", "math.isinf", "math.isnan",
    "math.isnormal",
)  # fmt: skip


@dataclass(frozen=True)
class Fp8Storage(Pass):
    """Store 8-bit floats as i8; ``products``: multiply them as they are."""

    name: ClassVar[str] = "mlopt-fp8-storage"
    products: bool = False

    def run(self, op: ir.Operation) -> None:
        """Convert by what the types were, then change the types of all values."""
        if not any(map(_touches, nested_ops(op))):
            return
        with op.location:
            kept = {cast: cast.operands[0].type for cast in self._make_products(op)}
            touching = [each for each in nested_ops(op) if _touches(each) and each not in kept]
            for each in touching:
                check(each)
            for each in touching:
                _name(each)
            values = (value for each in touching for value in _values(each))
            forms = {value: form for value in values if (form := form_of(value.type)) is not None}
            for each in touching:
                _rewrite(each, forms)
            for each in (op, *nested_ops(op)):
                _retype(each)
            for cast, kind in kept.items():
                products.read_bits(cast, kind)

    def _make_products(self, op: ir.Operation) -> Iterator[ir.Operation]:
        """Rewrite the products of 8-bit floats; the casts of those that stay."""
        for each in [each for each in nested_ops(op) if is_product(each)]:
            if self.products and each.operands[0].type.element_type == each.operands[1].type.element_type:
                yield from products.make_product(each)
            else:
                products.widen_factors(each)


def is_product(op: ir.Operation) -> bool:
    """Whether ``op`` multiplies matrices of 8-bit floats, and adds up in f32."""
    if op.name != products.NAME or not isinstance(op.operands[0].type, ir.RankedTensorType):
        return False
    left, right, total = map(element_of, (operand.type for operand in op.operands))
    return all(isinstance(each, _FLOATS8) for each in (left, right)) and isinstance(total, ir.F32Type)


def check(op: ir.Operation) -> None:
    """`UnsupportedError` where an op computes in 8-bit floats, other than an absolute value."""
    if op.name.startswith(_MOVES) or op.name in (*_MOVING, _WIDENING, *_NARROWING, *_ASKING, _ABSOLUTE):
        return
    kind = next(value.type for value in _values(op) if form_of(value.type) is not None)
    raise UnsupportedError(
        op,
        f"'{op.name}' computes in {element_of(kind)}, but 8-bit floats are stored only",
        "convert to f32 first, and back where the result is stored",
    )


def form_of(kind: ir.Type) -> Format | None:
    """The format of an 8-bit float, or of the elements of a tensor or buffer; None for others."""
    element = element_of(kind)
    return FORMATS.get(str(element)) if isinstance(element, _FLOATS8) else None


def element_of(kind: ir.Type) -> ir.Type:
    """The type of a tensor's or buffer's elements; a scalar's own."""
    return kind.element_type if isinstance(kind, ir.ShapedType) else kind


def _values(op: ir.Operation) -> list[ir.Value]:
    inner = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
    return [*op.operands, *op.results, *inner]


def _touches(op: ir.Operation) -> bool:
    if op.name == "func.func":  # of a declaration nothing else says it
        kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        return any(form_of(each) is not None for each in (*kind.inputs, *kind.results))
    return any(form_of(value.type) is not None for value in _values(op))


def _name(op: ir.Operation) -> None:
    """What converts stays a cast by name."""
    if op.name in (_WIDENING, *_NARROWING) and op.parent.name == "linalg.generic":
        others = [each for each in op.parent.regions[0].blocks[0].operations if each.operation != op]
        if len(others) == 1:
            OP.set(op.parent, "cast")


def _rewrite(op: ir.Operation, forms: dict[ir.Value, Format]) -> None:
    """Write a conversion out; make an f32 of what is asked about. ``forms`` are what values were."""
    with ir.InsertionPoint(op), op.location:
        if op.name == "arith.constant":
            _change_constant(op)
        elif op.name in _ASKING:
            for number, operand in enumerate(op.operands):
                if operand in forms:
                    op.operands[number] = decode(_as_bits(operand), forms[operand])
        elif op.name == _ABSOLUTE:
            rest = arith.constant(ir.IntegerType.get_signless(8), ALL_BUT_SIGN)
            _replace(op, arith.andi(_as_bits(op.operands[0]), rest), forms)
        elif op.name in (_WIDENING, *_NARROWING):
            _replace(op, _converted(op, forms), forms)


def _converted(op: ir.Operation, forms: dict[ir.Value, Format]) -> ir.Value:
    """What a conversion gives: the bits of an 8-bit float, or a number."""
    source, result = op.operands[0], op.results[0]
    f32 = ir.F32Type.get()
    value = decode(_as_bits(source), forms[source]) if source in forms else source
    if op.name in ("arith.sitofp", "arith.uitofp"):
        value = ir.Operation.create(op.name, [f32], [value]).results[0]
    if result not in forms:
        return _cast(value, result.type)
    return encode(_cast(value, f32), forms[result])


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Between wider floats."""
    if value.type == kind:
        return value
    wider = ir.FloatType(value.type).width < ir.FloatType(kind).width
    return arith.extf(kind, value) if wider else arith.truncf(kind, value)


def _as_bits(value: ir.Value) -> ir.Value:
    """A value, which is an i8 from now on."""
    value.set_type(ir.IntegerType.get_signless(8))
    return value


def _replace(op: ir.Operation, value: ir.Value, forms: dict[ir.Value, Format]) -> None:
    result = op.results[0]
    if result in forms:
        forms[value] = forms.pop(result)
    result.set_type(value.type)
    result.replace_all_uses_with(value)
    op.erase()


def _change_constant(op: ir.Operation) -> None:
    """The bits of its number."""
    kind = op.results[0].type
    value = op.attributes["value"]
    byte = ir.IntegerType.get_signless(8)
    if isinstance(value, ir.FloatAttr):
        op.attributes["value"] = ir.IntegerAttr.get(byte, _code(value))
        return
    dense = ir.DenseElementsAttr(value)
    if not dense.is_splat:
        raise UnsupportedError(
            op,
            f"a constant {kind} with several values",
            "pass it as an argument: a parameter or buffer of the module",
        )
    splat = ir.IntegerAttr.get(byte, _code(dense.get_splat_value()))
    op.attributes["value"] = ir.DenseElementsAttr.get_splat(_stored(kind), splat)


def _code(value: ir.Attribute) -> int:
    """The bits of a constant, as a signed byte."""
    number = ir.FloatAttr(value)
    code = code_of(float(number.value), FORMATS[str(number.type)])
    return code - 256 if code > 127 else code


def _retype(op: ir.Operation) -> None:
    for value in op.results:
        if form_of(value.type) is not None:
            value.set_type(_stored(value.type))
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                if form_of(argument.type) is not None:
                    argument.set_type(_stored(argument.type))
    if op.name == "func.func":
        _retype_function(op)


def _retype_function(op: ir.Operation) -> None:
    type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    for key, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.results)):
        if any(form_of(kind) is not None for kind in types):
            op.attributes[key] = _marked(op, key, types)
    inputs, results = (list(map(_stored, types)) for types in (type_.inputs, type_.results))
    op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _marked(op: ir.Operation, key: str, types: Sequence[ir.Type]) -> ir.ArrayAttr:
    none = ir.ArrayAttr.get([ir.DictAttr.get({})] * len(types))
    old = ir.ArrayAttr(op.attributes[key]) if key in op.attributes else none
    forms = map(form_of, types)
    return ir.ArrayAttr.get(
        [
            marks if form is None else FLOAT8.added(marks, form.name)
            for marks, form in zip(old, forms, strict=True)
        ]
    )


def _stored(kind: ir.Type) -> ir.Type:
    """A type with i8 for 8-bit floats."""
    if form_of(kind) is None:
        return kind
    byte = ir.IntegerType.get_signless(8)
    if isinstance(kind, ir.RankedTensorType):
        return ir.RankedTensorType.get(kind.shape, byte, kind.encoding)
    if isinstance(kind, ir.MemRefType):
        return ir.MemRefType.get(kind.shape, byte, kind.layout, kind.memory_space)
    return byte
