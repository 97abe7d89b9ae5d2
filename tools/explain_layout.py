"""``mlopt explain --layout``: which thread of a block holds which elements of each tile, as a picture.

    kernel_0_sum: 128 threads, 4 warps

    vector<2x1024xf32>  reg 4:(0,256) 4:(0,1) lane 32:(0,4) warp 2:(1,0) 2:(0,128)
      transfer_read x.py:3
      a thread holds 16 elements
         0-3      4-7      8-11     …  1020-1023
      0  0:0/0-3  0:1/0-3  0:2/0-3  …  2:31/12-15
      1  1:0/0-3  1:1/0-3  1:2/0-3  …  3:31/12-15

`LEGEND` stands above all pictures, and says what a cell is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dialects.layouts import WARP, Layout, Position
from ..errors import InputError
from ..options import Options
from ..runtime.cuda.chips import is_cuda
from ..tables import aligned
from . import explain_copies
from .explain import ask, in_source
from .programs import check_func
from .sources import read

_LAYOUTS = "mlopt.pipelines.explain_layouts:layouts_of_text"
LEGEND = (
    "a cell is warp:lane/registers of the first thread that holds the elements; its column says which along "
    "the tile's last dim, its row which along the one before"
)
COLUMNS, ROWS = 8, 8  # of a picture; one more for the last


def kernels_of(source: str, func: str, target: str | None) -> list[dict[str, Any]]:
    """The kernels of a program, as `layouts_of_text` says them; InputError for a target without threads."""
    check_func(source, func)
    options = Options.resolve(**({} if target is None else {"target": target}))
    if not is_cuda(options.target):
        raise InputError(
            f"layouts are of GPU kernels, and the target is {options.target}",
            remedy="pass --target cuda:sm_80",
        )
    kernels: list[dict[str, Any]] = ask(_LAYOUTS, read(source, func, options).linalg, func, options)
    for tile in (tile for kernel in kernels for tile in kernel["tiles"]):
        tile["where"] = in_source(source, tile["where"])
    return kernels


def text(kernels: Sequence[Mapping[str, Any]]) -> str:
    """The pictures of all kernels."""
    return "\n\n".join([LEGEND, *map(kernel_text, kernels)])


def kernel_text(kernel: Mapping[str, Any]) -> str:
    """A kernel's tiles; those of one type and layout share a picture."""
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for tile in kernel["tiles"]:
        alike.setdefault((tile["type"], tile["layout"]), []).append(tile)
    if not alike:
        return f"{kernel['name']}: no tiles; a thread runs each task alone"
    threads = max(Layout.parse(layout).threads for _, layout in alike)
    head = f"{kernel['name']}: {threads} threads, {threads // WARP} warps"
    copies = [line for grid in kernel["copies"] for line in explain_copies.lines(grid)]
    parts = ["\n".join([head, *(f"  {line}" for line in copies)])]
    for (kind, written), tiles in alike.items():
        ops = dict.fromkeys(f"{tile['op'].split('.', 1)[-1]} {tile['where']}".strip() for tile in tiles)
        picture = draw(Layout.parse(written), tiles[0]["shape"])
        parts.append("\n".join([f"{kind}  {written}", *(f"  {op}" for op in ops), picture]))
    return "\n\n".join(parts)


def draw(layout: Layout, shape: Sequence[int]) -> str:
    """Which thread holds which elements of a tile of this shape: its last two dims, from 0 in the others."""
    held, copies = len(layout.register_positions), 1 << layout.copies.bit_count()
    own = f"  a thread holds {held} element{'s' if held > 1 else ''}"
    own += f", and {copies} threads the same ones" if copies > 1 else ""
    if not shape:
        return own
    owners = _owners(layout, shape)
    width = layout.run(layout.rank - 1)
    spans = [(at, min(at + width, shape[-1])) for at in range(0, shape[-1], width)]
    columns = _shown(len(spans), COLUMNS)
    table = [["", *("…" if at is None else _numbers(*spans[at]) for at in columns)]]
    for row in _shown(shape[-2] if len(shape) > 1 else 1, ROWS):
        if row is None:
            table.append(["…", *("" for _ in columns)])
            continue
        before = (0,) * (len(shape) - 2) + ((row,) if len(shape) > 1 else ())
        cells = ("…" if at is None else _cell(owners, before, *spans[at]) for at in columns)
        table.append([str(row), *cells])
    return "\n".join([own, *(f"  {line}" for line in aligned(table, left=range(len(table[0]))))])


def _owners(layout: Layout, shape: Sequence[int]) -> dict[Position, tuple[int, int]]:
    """The first thread and register of each position."""
    found: dict[Position, tuple[int, int]] = {}
    for thread in range(layout.threads):
        if thread & layout.copies:
            continue
        own = layout.thread_position(thread)
        for number, register in enumerate(layout.register_positions):
            position = tuple(one + other for one, other in zip(own, register, strict=True))
            if all(at < size for at, size in zip(position, shape, strict=True)):
                found.setdefault(position, (thread, number))
    return found


def _shown(count: int, most: int) -> list[int | None]:
    """The first ``most`` of so many, and the last one; None where some are left out."""
    if count <= most + 1:
        return list(range(count))
    return [*range(most), None, count - 1]


def _cell(owners: Mapping[Position, tuple[int, int]], before: Position, start: int, end: int) -> str:
    """The thread and the registers of neighbours."""
    thread, register = owners[(*before, start)]
    return f"{thread // WARP}:{thread % WARP}/{_numbers(register, register + end - start)}"


def _numbers(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}-{end - 1}"
