"""Constants and shapes of vectors, for the tile rules."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, scf, vector

from ..constants import literal_of


def zero_of(element: ir.Type) -> ir.Attribute:
    """Zero of a scalar type."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, 0.0)
    return ir.IntegerAttr.get(element, 0)


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A vector with unit dims added or dropped."""
    if list(value.type.shape) == list(shape):
        return value
    return vector.ShapeCastOp(ir.VectorType.get(shape, value.type.element_type), value).result


class VectorBuilder:
    """Makes vectors at the insertion point, and constants before ``forall``, each once."""

    def __init__(self, forall: scf.ForallOp) -> None:
        self.forall = forall
        self._constants: dict[str, ir.Value] = {}

    def constant(self, attribute: ir.Attribute) -> ir.Value:
        """An arith.constant."""
        key = str(attribute)
        if key not in self._constants:
            with ir.InsertionPoint(self.forall):
                self._constants[key] = arith.ConstantOp(attribute.type, attribute).result
        return self._constants[key]

    def index(self, number: int | ir.Value) -> ir.Value:
        """A number as an index value."""
        if isinstance(number, ir.Value):
            return number
        return self.constant(ir.IntegerAttr.get(ir.IndexType.get(), number))

    def splat(self, attribute: ir.Attribute, shape: Sequence[int]) -> ir.Value:
        """A scalar attribute as a constant vector."""
        kind = ir.VectorType.get(shape, attribute.type)
        return self.constant(ir.DenseElementsAttr.get_splat(kind, attribute))

    def arrange(
        self, value: ir.Value, axes: Sequence[int | None], loops: Sequence[int], shape: Sequence[int]
    ) -> ir.Value:
        """A vector whose dims run along ``axes`` as a vector over ``loops`` of ``shape``."""
        kept = [axis for axis in axes if axis in loops]
        ordered = sorted(kept, key=loops.index)
        if kept != ordered:
            value = reshape(
                value, [size for size, axis in zip(value.type.shape, axes, strict=True) if axis in loops]
            )
            value = vector.TransposeOp(
                ir.VectorType.get(
                    [value.type.shape[kept.index(axis)] for axis in ordered], value.type.element_type
                ),
                value,
                [kept.index(axis) for axis in ordered],
            ).result
        aligned = [size if loop in kept else 1 for loop, size in zip(loops, shape, strict=True)]
        leading = next((at for at, loop in enumerate(loops) if loop in kept), len(loops))
        if list(value.type.shape) != aligned:
            value = reshape(value, aligned[leading:])
        return self.stretch(value, shape)

    def stretch(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A scalar or a vector broadcast to ``shape``."""
        if isinstance(value.type, ir.VectorType):
            if list(value.type.shape) == list(shape):
                return value
            element = value.type.element_type
        else:
            element = value.type
        literal = literal_of(value)
        if literal is not None:
            return self.splat(literal, shape)
        return vector.BroadcastOp(ir.VectorType.get(shape, element), value).result
