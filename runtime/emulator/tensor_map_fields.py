"""tensormap.replace: single fields of a tensor map. Section 9.7.9.26 of the PTX ISA."""

from __future__ import annotations

from collections.abc import Sequence

from .tensor_maps import FILLS, FORM, INTERLEAVES, MARK, SIZE, SWIZZLES, TYPES, need

# What tensormap.replace changes: the place of a field's first value in the form, and how many there are.
FIELDS = {
    "rank": (1, 1),
    "elemtype": (2, 1),
    "interleave_layout": (3, 1),
    "swizzle_mode": (4, 1),
    "fill_mode": (6, 1),
    "global_address": (7, 1),
    "global_dim": (8, 5),
    "global_stride": (13, 4),
    "box_dim": (17, 5),
    "element_stride": (22, 5),
}
# Its names for types, by number; those that the ISA has for sm_100 only are left out.
_ELEMENTS = [*list(TYPES)[:8], "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz"]
_LIMITS = {"rank": 256, "box_dim": 1 << 16, "element_stride": 256, "global_dim": 1 << 32}
_CHOICES: dict[str, Sequence[str]] = {
    "elemtype": _ELEMENTS,
    "interleave_layout": INTERLEAVES,
    "swizzle_mode": SWIZZLES,
    "fill_mode": FILLS,
}


def replaced(raw: bytes, field: str, place: int, value: int) -> bytes | None:
    """A map with another value in a field, as tensormap.replace makes it; None for bytes that are no map.

    A map of zeros alone is one whose fields have yet to be given.
    """
    form = list(FORM.unpack(raw[: FORM.size]))
    if form[0] != MARK and any(raw):
        return None
    first, count = FIELDS[field]
    choices = _CHOICES.get(field)
    need(place < count, field, place, f"has {count} values")
    if choices is not None:
        need(value < len(choices), field, value, f"is one of 0 to {len(choices) - 1}")
    if field == "elemtype":
        value = list(TYPES).index(_ELEMENTS[value])
    form[0] = MARK
    form[first + place] = {"rank": value + 1, "global_dim": value - 1 & 0xFFFFFFFF}.get(field, value)
    need(0 <= form[first + place] < _LIMITS.get(field, 1 << 64), field, value, "fits into its field")
    return FORM.pack(*form).ljust(SIZE, b"\0")
