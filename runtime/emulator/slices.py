"""Interleaved tensor maps: channels go in slices of 16 or 32 bytes. Section 5.5.6 of the PTX ISA.

The innermost dimension is C, the outermost N, and memory has the order N, C / 8, D, H, W, C % 8 (of halves in
slices of 16 bytes). Shared memory has the same order, and the swizzle moves its 16 bytes as ever. Strides say
nothing of the distance of slices: it is known where the pixels of one lie together and fill N's stride. The
last slice, if it is not full, is padded with zeros in memory, says the ISA: so it is loaded.
"""

from __future__ import annotations

from dataclasses import replace

from .ptx import Array
from .tensor_maps import TensorMap

Place = tuple[int, ...]


def bytes_of_slice(box: TensorMap) -> int:
    """16 or 32; 0 of a map that is not interleaved."""
    return 0 if box.interleave == "none" else int(box.interleave[:-1])


def unknown(box: TensorMap, *, writes: bool) -> str:
    """What the ISA leaves open of an interleaved map whose boxes are loaded, or written; empty if nothing."""
    if box.im2col:
        return "an interleaved im2col map, the order of whose slices and pixels the ISA leaves open"
    size = bytes_of_slice(box) // box.element
    if box.box[0] % size or box.element_strides[0] != 1:
        counts = f"{box.dims[0]} channels, {box.box[0]} in its box"
        return f"an interleaved map of {counts}: parts of slices of {size}"
    if box.dims[0] % size and (writes or box.fill != "zeros"):
        why = "what a store does to the rest" if writes else "whether the rest is zeros or NaNs"
        return f"an interleaved map of {box.dims[0]} channels in slices of {size}: {why}, the ISA leaves open"
    filled = -(-box.dims[0] // size) * _slice_stride(box)
    if box.strides[-1] != filled:
        return (
            f"an interleaved map whose images are {box.strides[-1]} bytes apart, not the {filled} of their"
            " slices, whose distance the ISA leaves open then"
        )
    return ""


def sliced(box: TensorMap, at: Place) -> tuple[TensorMap, Place]:
    """The same as a plain map, in which slices are a dimension inside of N, and coordinates in it."""
    size = bytes_of_slice(box) // box.element
    channels, *pixels, images = range(box.rank)

    def dims(values: tuple[int, ...], within: int, slices: int) -> tuple[int, ...]:
        return (within, *(values[dim] for dim in pixels), slices, values[images])

    plain = replace(
        box,
        dims=dims(box.dims, size, -(-box.dims[channels] // size)),
        box=dims(box.box, size, box.box[channels] // size),
        element_strides=dims(box.element_strides, 1, 1),
        strides=(*box.strides[:-1], _slice_stride(box), box.strides[-1]),
        interleave="none",
        padding=-box.dims[channels] % size,
    )
    return plain, dims(at, 0, at[channels] // size)


def _slice_stride(box: TensorMap) -> int:
    """Bytes from slice to slice: all pixels of an image."""
    return box.dims[-2] * box.strides[-2]


def padded(plain: TensorMap, at: Place, data: Array) -> bool:
    """Whether zeros fill the last slice of such a plain map, as far as it is in the box with this data."""
    if not plain.padding:
        return True
    size, slices, images = plain.counts[0], plain.counts[-2], plain.counts[-1]
    last = plain.dims[-2] - 1 - at[-2]
    if not 0 <= last < slices:
        return True
    each = data.reshape(images, slices, -1, size, plain.element)
    return not each[:, last, :, size - plain.padding :].any()
