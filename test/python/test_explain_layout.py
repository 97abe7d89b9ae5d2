"""`mlopt explain --layout`: pictures of which thread holds what."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mlopt.dialects.layouts import Layout
from mlopt.errors import InputError
from mlopt.tools import cli, explain_copies, explain_layout
from typer.testing import CliRunner

ROWS = Layout.parse("reg 4:(0,256) 4:(0,1) lane 32:(0,4) warp 2:(1,0) 2:(0,128)")

SOFTMAX = """
import torch

def softmax():
    return (lambda x: x.softmax(-1)), torch.ones(64, 1000)

def parts():
    return (lambda x, i: (x.gather(1, i), x.t().contiguous())), torch.ones(64, 50), torch.zeros(64, 9).long()

def products():
    x = torch.ones(2048, 512, dtype=torch.bfloat16)
    return (lambda x: (x.t() @ x, x[:16] @ x.t())), x

def large():
    x = torch.ones(4096, 4096, dtype=torch.bfloat16)
    return (lambda x, y: x @ y), x, x

def short():
    x = torch.ones(4096, 512, dtype=torch.bfloat16)
    return (lambda x, y, z: torch.nn.functional.gelu(x @ y.t()) + z), x, x, torch.ones(4096, 4096).bfloat16()

def attention():
    x = torch.ones(4, 8, 2048, 128, dtype=torch.bfloat16)
    return torch.nn.functional.scaled_dot_product_attention, x, x, x
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("layouts") / "programs.py"
    path.write_text(SOFTMAX)
    return path


def cells(picture: str) -> list[list[str]]:
    return [line.split() for line in picture.splitlines()]


def test_a_cell_is_the_thread_and_the_registers() -> None:
    own, head, first, second = cells(explain_layout.draw(ROWS, [2, 1024]))
    assert own == ["a", "thread", "holds", "16", "elements"]
    assert head == ["0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31", "…", "1020-1023"]
    assert first[:3] == ["0", "0:0/0-3", "0:1/0-3"]
    assert second[-2:] == ["…", "3:31/12-15"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("reg 2:(32,0) 8:(0,1) lane 4:(0,8) 8:(1,0) warp 4:(8,0)", [64, 32]),
        ("reg 3:(0,128) 4:(0,1) lane 32:(0,4) warp 1:(0,0)", [1, 300]),
        ("reg 2:(0,0,1) lane 32:(0,1,0) warp 2:(1,0,0)", [2, 9, 2]),
    ],
)
def test_cells_say_what_the_layout_says(text: str, shape: list[int]) -> None:
    layout = Layout.parse(text)
    head, *rows = cells(explain_layout.draw(layout, shape))[1:]
    for row in (row for row in rows if row[0] != "…"):
        for span, cell in zip(head, row[1:], strict=True):
            if span == "…":
                assert cell == "…"
                continue
            place, registers = cell.split("/")
            warp, lane = map(int, place.split(":"))
            own = layout.thread_position(32 * warp + lane)
            there = layout.register_positions[int(registers.split("-")[0])]
            position = [one + other for one, other in zip(own, there, strict=True)]
            assert position == [*[0] * (len(shape) - 2), int(row[0]), int(span.split("-")[0])]


def test_copies_are_counted_and_scalars_have_no_picture() -> None:
    assert "and 128 threads the same ones" in explain_layout.draw(
        Layout.parse("reg lane 32:() warp 4:()"), []
    )
    assert cells(explain_layout.draw(Layout.parse("reg lane 32:(0) warp 4:(1)"), [4]))[-1] == [
        "0", "0:0/0", "1:0/0", "2:0/0", "3:0/0",
    ]  # fmt: skip


def test_the_command_draws_every_kernel(file: Path) -> None:
    arguments = ["explain", f"{file}:softmax", "--layout", "--target", "cuda:sm_80"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    legend, _, name, *_ = result.output.splitlines()
    assert legend == explain_layout.LEGEND
    assert name == "kernel_0_softmax: 128 threads, 4 warps"
    assert "vector<1x1000xf32>  reg 2:(0,512) 4:(0,1) lane 32:(0,4) warp 4:(0,128)" in result.output
    assert f"transfer_read {file}:5" in result.output
    assert "multi_reduction" in result.output


def test_layouts_for_programs(file: Path) -> None:
    arguments = ["explain", f"{file}:softmax", "--layout", "--json", "--target", "cuda:sm_80"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    (kernel,) = json.loads(result.output)
    assert kernel["name"] == "kernel_0_softmax"
    first = kernel["tiles"][0]
    assert first["op"] == "vector.transfer_read" and first["shape"] == [1, 1000]
    assert Layout.parse(first["layout"]).threads == 128


def test_a_kernel_without_tiles_says_so() -> None:
    text = explain_layout.kernel_text({"name": "kernel_0_sort", "tiles": []})
    assert text == "kernel_0_sort: no tiles; a thread runs each task alone"


def test_what_threads_do_alone_and_what_moves(file: Path) -> None:
    printed = explain_layout.text(explain_layout.kernels_of(f"{file}:parts", "main", "cuda:sm_80"))
    assert "kernel_0_gather: no tiles; a thread runs each task alone" in printed
    assert f"\n  convert_layout through shared memory {file}" in printed


def test_a_cpu_has_no_layouts(file: Path) -> None:
    with pytest.raises(InputError, match="layouts are of GPU kernels"):
        explain_layout.kernels_of(f"{file}:softmax", "main", "cpu")


def test_products_say_what_makes_them(file: Path) -> None:
    arguments = ["explain", f"{file}:products", "--layout", "--target", "cuda:sm_90a"]
    printed = CliRunner().invoke(cli.app, arguments, catch_exceptions=False).stdout
    assert re.search(r"\n  warpgroup_mma by m64n\d+k16.bf16, of what TMA copies", printed)
    assert "\n  contract by m16n8k16.bf16, not by warpgroups: its 16 rows are not 64" in printed
    assert re.search(
        r"\n  4 warps multiply \(mma.sync\), not warpgroups: its 16 rows are not 64 .*; "
        r"their threads copy \(cp.async\)\n  ring of \d+ steps, ",
        printed,
    )


def described(source: str) -> list[str]:
    """What is said of the only kernel that a program has on sm_90a."""
    (kernel,) = explain_layout.kernels_of(source, "main", "cuda:sm_90a")
    (grid,) = kernel["copies"]
    return list(explain_copies.lines(grid))


def test_roles_ring_and_pairs_of_a_product(file: Path) -> None:
    assert described(f"{file}:large") == [
        "2 warpgroups multiply (wgmma); one more warp copies by TMA, with as many registers",
        f"ring of 4 steps, {4 * (128 + 256) * 64 * 2} bytes: 128x64xbf16, 64x256xbf16",
        "mbarriers: 4 for full slots (2 arrivals each), 4 for read ones (16 arrivals each)",
        "clusters of 2 blocks: each copies its part of 64x256xbf16 to all (multicast)",
        "132 blocks at most, each of which makes tile after tile (a persistent grid)",
        "TMA stores 128x256xbf16, from shared memory (stmatrix)",
    ]


def test_warpgroups_take_turns_where_much_comes_behind_the_product(file: Path) -> None:
    assert described(f"{file}:short") == [
        "2 warpgroups multiply (wgmma), with 232 registers a thread; "
        "one more warpgroup copies by TMA, with 40 (setmaxnreg)",
        f"ring of 8 steps, {8 * (128 + 128) * 32 * 2} bytes: 128x32xbf16, 128x32xbf16",
        "mbarriers: 8 for full slots (2 arrivals each), 8 for read ones (8 arrivals each)",
        "mbarriers: 2 for turns (4 arrivals each)",
        "clusters of 2 blocks: each copies its part of 128x32xbf16 to all (multicast)",
        "132 blocks at most, each of which makes tile after tile (a persistent grid)",
        "its warpgroups take turns with these: one multiplies while the other ends its own (ping-pong)",
        "TMA stores 128x128xbf16, from shared memory (stmatrix)",
    ]


def test_roles_of_attention_have_registers(file: Path) -> None:
    roles, once, ring, *_ = described(f"{file}:attention")
    assert roles == (
        "2 warpgroups multiply (wgmma), with 232 registers a thread; "
        "one more warpgroup copies by TMA, with 40 (setmaxnreg)"
    )
    assert once == f"copied once, {128 * 128 * 2} bytes: 1x1x128x128xbf16"
    assert ring.startswith("ring of 2 steps, ")


def test_why_threads_copy_for_warpgroups() -> None:
    (only, ring, store) = explain_copies.lines(
        {
            "multiply": {"unit": "warpgroup", "count": 1, "registers": None},
            "copy": None,
            "tma": False,
            "why": ["a block runs its loop several times"],
            "rings": [{"type": "64x64xf16", "stages": 3, "bytes": 24576, "both": False}],
            "barriers": [],
            "cluster": 1,
            "persistent": None,
            "consumers": 1,
            "stores": [{"type": "64x64xf32", "why": "elements have 4 bytes, those of stmatrix 2"}],
        }
    )
    assert only == (
        "one warpgroup multiplies (wgmma); their threads copy (cp.async), not TMA: "
        "a block runs its loop several times"
    )
    assert ring == "ring of 3 steps, 24576 bytes: 64x64xf16"
    assert store == "threads store 64x64xf32, not TMA: elements have 4 bytes, those of stmatrix 2"
