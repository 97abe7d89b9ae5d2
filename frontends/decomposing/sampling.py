"""grid_sample: the arithmetic of eager's CPU kernels, in their order.

What lies outside of an image is 0, whatever the image holds. Torch's decomposition reads the pixel
at [0, 0] there and multiplies it by 0, which is NaN for an infinite one; its NaN coordinates give 0.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from .registry import aten, compute_dtype, count, ours

_NEAREST, _BICUBIC = 1, 2
_ZEROS, _REFLECTION = 0, 2
_CUBIC = -0.75  # the slope of the cubic one element away, as in torch's


@ours(aten.grid_sampler_2d.default)
def _grid_sampler_2d(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    positions = _positions(x, grid, align_corners)
    if mode == _BICUBIC:
        return _as_images(_bicubic(x, positions, padding, align_corners), x, grid)
    sized = zip(positions, _extents(x), strict=True)
    positions = [_padded(position, size, padding, align_corners) for position, size in sized]
    if mode == _NEAREST:
        return _as_images(_nearest(x, positions), x, grid)
    places = _neighbours(x, positions)
    past = [position - position.floor() for position in positions]
    down, right = [(1.0 - each, each) for each in past]
    terms = [
        _elements(x, places[0][row], places[1][column]) * (down[row] * right[column])
        for row, column in product((0, 1), repeat=2)
    ]
    return _as_images(reduce(operator.add, terms), x, grid)


@ours(aten.grid_sampler_3d.default)
def _grid_sampler_3d(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    """Another kernel of eager's: NaN is the last element, and weights of what is outside do not count."""
    positions = _positions(x, grid, align_corners)
    for dim, size in enumerate(_extents(x)):
        if padding == _REFLECTION:
            positions[dim] = _turned(positions[dim], size, align_corners)
        if padding != _ZEROS:
            inside = positions[dim].clamp(min=0.0)
            positions[dim] = torch.where(inside < size - 1.0, inside, size - 1.0)
    if mode == _NEAREST:
        return _as_images(_nearest(x, positions), x, grid)
    neighbours = _neighbours(x, positions)
    floors = [position.floor() for position in positions]
    weights = [(floor + 1.0 - each, each - floor) for each, floor in zip(positions, floors, strict=True)]
    result = torch.zeros((), dtype=positions[0].dtype)
    for sides in product((0, 1), repeat=3):
        deep, down, right = [of[side] for of, side in zip(weights, sides, strict=True)]
        places = [of[side] for of, side in zip(neighbours, sides, strict=True)]
        value = _elements(x, *places) * (right * down * deep)
        result = result + torch.where(_is_inside(places), value, 0.0)
    return _as_images(result, x, grid)


def _as_images(points: Tensor, x: Tensor, grid: Tensor) -> Tensor:
    return points.to(x.dtype).reshape(*x.shape[:2], *grid.shape[1:-1])


def _extents(x: Tensor) -> list[float | Tensor]:
    """The sizes of an image of ``x``; tensors where they are symbolic, of which floats cannot be computed."""
    dtype = compute_dtype(x.dtype)
    return [float(n) if isinstance(n, int) else torch.full((), n, dtype=dtype) for n in x.shape[2:]]


def _positions(x: Tensor, grid: Tensor, align_corners: bool) -> list[Tensor]:
    """Of all points along each dimension of an image of ``x``: coordinates are -1 and 1 at its ends."""
    positions = []
    points = grid.reshape(grid.shape[0], count(grid.shape[1:-1]), grid.shape[-1])
    for coordinate, size in zip(reversed(points.unbind(-1)), _extents(x), strict=True):
        from_end = coordinate.to(compute_dtype(x.dtype)).unsqueeze(1) + 1.0
        positions.append(from_end * ((size - 1.0) / 2) if align_corners else from_end * (size / 2) - 0.5)
    return positions


class _Place(NamedTuple):
    """Along one dimension."""

    element: Tensor
    is_inside: Tensor


def _place(whole: Tensor, size: float | Tensor) -> _Place:
    """The first element for what is outside of ``size``, NaN and infinities among it, which no integer is."""
    is_inside = (whole >= 0) & (whole <= size - 1.0)
    return _Place(torch.where(is_inside, whole, 0.0).to(torch.int64), is_inside)


def _neighbours(x: Tensor, positions: Sequence[Tensor]) -> list[tuple[_Place, _Place]]:
    """Two along each dimension."""
    floors = [position.floor() for position in positions]
    sized = zip(floors, _extents(x), strict=True)
    return [(_place(floor, size), _place(floor + 1.0, size)) for floor, size in sized]


def _is_inside(places: Sequence[_Place]) -> Tensor:
    return reduce(operator.and_, [place.is_inside for place in places])


def _elements(x: Tensor, *places: _Place) -> Tensor:
    """Those of all channels, 0 at what is outside."""
    image = x.reshape(*x.shape[:2], count(x.shape[2:]))
    first, *others = places
    index = first.element
    for place, size in zip(others, x.shape[3:], strict=True):
        index = index * size + place.element
    found = torch.gather(image, 2, index.expand(-1, x.shape[1], -1))
    return torch.where(_is_inside(places), found.to(compute_dtype(x.dtype)), 0.0)


def _nearest(x: Tensor, positions: Sequence[Tensor]) -> Tensor:
    return _elements(x, *[_place(p.round(), size) for p, size in zip(positions, _extents(x), strict=True)])


def _padded(position: Tensor, size: float | Tensor, padding: int, align_corners: bool) -> Tensor:
    """Inside of ``size`` unless zeros are beyond it; then NaN is the first element."""
    if padding == _ZEROS:
        return position
    if padding == _REFLECTION:
        position = _reflected(position, size, align_corners)
    return torch.where(position > 0, position, 0.0).clamp(max=size - 1.0)


def _reflected(position: Tensor, size: float | Tensor, align_corners: bool) -> Tensor:
    """At the centers of the outermost elements, or at their edges; NaN between two ends that are one."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, size)
    distance = (position - low).abs()
    rest = distance - (distance / (2 * span)).trunc() * (2 * span)
    return torch.minimum(rest, 2 * span - rest) + low


def _turned(position: Tensor, size: float | Tensor, align_corners: bool) -> Tensor:
    """As :func:`_reflected`, with an exact remainder."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, size)
    distance = (position - low).abs()
    rest = torch.fmod(distance, span)
    half_turns = (distance / span).floor() / 2
    return torch.where(half_turns == half_turns.floor(), rest + low, span - rest + low)


def _bicubic(x: Tensor, positions: Sequence[Tensor], padding: int, align_corners: bool) -> Tensor:
    """Of four by four elements, each of which the padding may move."""
    places, weights = [], []
    for position, size in zip(positions, _extents(x), strict=True):
        floor = position.floor()
        four = [_padded(floor + (side - 1.0), size, padding, align_corners) for side in range(4)]
        places.append([_place(each, size) for each in four])
        weights.append(_cubic(position - floor))
    rows = []
    for row in places[0]:
        terms = [
            _elements(x, row, place) * weight for place, weight in zip(places[1], weights[1], strict=True)
        ]
        rows.append(reduce(operator.add, terms))
    return reduce(operator.add, map(operator.mul, rows, weights[0]))


def _cubic(past: Tensor) -> list[Tensor]:
    """The weights of four elements, for a position that is ``past`` the second one."""

    def near(x: Tensor) -> Tensor:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    return [far(past + 1.0), near(past), near(1.0 - past), far(2.0 - past)]
