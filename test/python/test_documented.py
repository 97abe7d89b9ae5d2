"""What documents show of `mlopt explain` is what it prints; and our bytes are no more than Inductor's."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from mlopt.tools import explain, explain_text

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^\$ (mlopt explain .*)\n((?:.*\n)*?)```$", re.M)
MOVED = json.loads((ROOT / "bench/results/bytes_moved.json").read_text(encoding="utf-8"))
RECORDED = {row["module"]: row for row in MOVED["rows"]}
LEFT_OUT = "…"


def explained(name: str, target: str) -> explain.Explanation:
    source = f"{ROOT}/examples/blocks.py:{name}"
    return explain.explain(source, "main", target, "cpu" if target == "cpu" else "")


def words_of(line: str) -> list[str]:
    """Files without their folders; columns and ends of lines may be left out."""
    words = (word.rsplit("/", 1)[-1].removeprefix("(") if ".py" in word else word for word in line.split())
    return [word for word in words if word != LEFT_OUT]


def is_part(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


@pytest.mark.parametrize(
    ("document", "arguments", "name", "target"),
    [
        ("README.md", "examples/blocks.py:gpt2_block --machine cpu", "gpt2_block", "cpu"),
        ("docs/explain.md", "examples/blocks.py:mlp --target cuda:sm_80", "mlp", "cuda:sm_80"),
    ],
)
def test_what_is_shown_is_printed(document: str, arguments: str, name: str, target: str) -> None:
    """Line by line, in order: a document shows parts."""
    blocks = dict(BLOCK.findall((ROOT / document).read_text(encoding="utf-8")))
    shown = blocks[f"mlopt explain {arguments}"].splitlines()
    printed = explain_text.text(explained(name, target))
    lines = iter(printed.splitlines())
    for line in filter(words_of, shown):
        assert any(is_part(words_of(line), words_of(each)) for each in lines), (
            f"{document} has this line, and mlopt explain does not, or not there:\n{line}\n\n{printed}"
        )


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLOPT_CPU", MOVED["cpu"])
        return {name: explained(name, "cpu").as_dict()["total"] for name in ("gpt2_block", "resnet18")}


@pytest.mark.parametrize("name", ["gpt2_block", "resnet18"])
def test_bytes_are_no_more_than_inductors(counted: dict[str, dict[str, Any]], name: str) -> None:
    """As bench/bytes_moved.py recorded it: ``--save`` does so again, with another torch."""
    assert MOVED["versions"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    row, total = RECORDED[name], counted[name]
    theirs = [row[side]["bytes"] for side in ("inductor", "inductor, frozen")]
    assert total["bytes"] <= min(theirs)
    assert {"kernels": total["calls"], "bytes": total["bytes"]} == row["mlopt"]


def test_bytes_in_half_floats_are_no_more_than_inductors() -> None:
    """The block's are half of those in float32 (test_fusion_counts_halves.py), and so they were recorded."""
    row = RECORDED["gpt2_block, bf16"]
    assert 2 * row["mlopt"]["bytes"] == RECORDED["gpt2_block"]["mlopt"]["bytes"]
    assert row["mlopt"]["bytes"] <= min(row[side]["bytes"] for side in ("inductor", "inductor, frozen"))


def test_the_table_for_people_has_the_recorded_figures() -> None:
    """`python bench/bytes_moved.py --save` writes both."""
    text = (ROOT / "bench/results/bytes_moved.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| ")][2:]
    shown = {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line] for line in lines)}
    assert shown.keys() == RECORDED.keys()
    for name, cells in shown.items():
        sides = [RECORDED[name].get(side) for side in ("mlopt", "inductor", "inductor, frozen")]
        kernels = [str(side["kernels"]) if side else "" for side in sides]
        assert cells[:6] == kernels + [f"{side['bytes'] / 1e6:.3f}" if side else "" for side in sides], name


def test_the_readme_has_inductors_figures() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    block, net = RECORDED["gpt2_block"], RECORDED["resnet18"]
    frozen, ours = net["inductor, frozen"], net["mlopt"]
    assert (
        f"it runs the block as {block['inductor']['kernels']} kernels that move"
        f" {block['inductor']['bytes'] / 1e6:.3f} MB, and ResNet-18, {ours['kernels']} kernels and"
        f" {ours['bytes'] / 1e6:.3f} MB here, as {frozen['kernels']} and {frozen['bytes'] / 1e6:.3f} where it"
    ) in text
