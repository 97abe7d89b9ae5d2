"""`mlopt explain`: what the host function does between kernels, copies and loops, has numbers too."""

from pathlib import Path

import pytest
from mlopt.passes.costs.machine import find_machine
from mlopt.passes.fusion.edges import PARTS
from mlopt.pipelines import explain_edges
from mlopt.tools import explain

from .explained import printed

FACTORIES = """
import torch

def summed():
    rows = torch.tensor([5, 9000, 5])
    return (lambda i, s: torch.zeros(70000, 512).index_add(0, i, s)), rows, torch.ones(3, 512)

def added():
    rows = torch.tensor([5, 9000, 5])
    return (lambda x, i, s: x.index_add(0, i, s.relu()) * 2), torch.ones(70000, 512), rows, torch.ones(3, 512)

def scattered():
    return (lambda x, y: x.slice_scatter(y.exp(), 0, 2, 6)), torch.ones(300, 512), torch.ones(4, 512)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


def test_loops_of_the_host_function_are_shown(file: Path, tmp_path: Path) -> None:
    """An index_add of more elements than comparisons are worth is a loop, into what a kernel copies."""
    drawing = tmp_path / "kernels.svg"
    text = printed(f"{file}:added", "--machine", "cpu", "--svg", str(drawing))
    assert "of 5 kernels and 1 step of the host, " in text
    found = explain.explain(f"{file}:added", "main", "cpu", "cpu")
    hosts = [kernel for kernel in found.kernels if not kernel.is_kernel]
    assert [kernel.name for kernel in hosts] == ["host_0_loop"]
    assert [kernel.cost.bytes for kernel in hosts] == [3 * 8 + 3 * 512 * 3 * 4]  # an index for a row
    assert hosts[0].cost.elementwise == {"f32": 3 * 512}
    data = found.as_dict()
    pairs = {(edge["from_kernel"], edge["to_kernel"]): edge for edge in data["edges"]}
    named = {kernel.calls[0]["ops"][0]["op"]: kernel for kernel in found.kernels}
    assert named["copy"].cost.bytes == 2 * 70000 * 512 * 4
    last = named["mul"].name
    added, whole = 3 * 512 * 4, 70000 * 512 * 4
    through = {  # what nobody else reads is not written, either; a buffer is, and read as it is added to
        (named["relu"].name, "host_0_loop"): 2 * added,
        (named["copy"].name, "host_0_loop"): 2 * added,
        ("host_0_loop", last): whole,
    }
    for pair in through:
        writes = f"{explain_edges.HOST}a loop that writes 1536 elements where indices say"
        (reason,) = pairs[pair]["reasons"]
        assert reason["reason"] == writes
        assert reason["bytes_saved"] == through[pair] and reason["seconds_saved"] != 0
    assert pairs["host_0_loop", last]["bytes"] == whole
    assert f"{writes}; would save 0.012 MB and cost " in text
    for name in (named["copy"].name, "host_0_loop"):
        assert f"\n{name} " in text
        assert f">{name}<" in drawing.read_text()


def test_a_part_of_a_copy_is_written_once_by_one_kernel(file: Path) -> None:
    """The copy is made after mlopt-fuse has decided: what it need not write is the part, and a launch."""
    (edge,) = explain.explain(f"{file}:scattered", "main", "cuda:sm_80").edges
    (reason,) = edge["reasons"]
    assert (reason["reason"], reason["bytes_saved"]) == (PARTS, 4 * 512 * 4)
    machine = find_machine("a100")
    assert reason["seconds_saved"] == pytest.approx(machine.launch + 4 * 512 * 4 / machine.bandwidth)


def test_sums_into_zeros_are_made_in_the_result(file: Path) -> None:
    """The zeros are written once, to where the loop adds to them: no copy of them, on no thread."""
    found = explain.explain(f"{file}:summed", "main", "cpu", "cpu")
    assert [kernel.name for kernel in found.kernels if not kernel.is_kernel] == ["host_0_loop"]
    whole = 70000 * 512 * 4
    moved = sum(kernel.cost.bytes for kernel in found.kernels if kernel.function == "main")
    assert whole <= moved < 1.02 * whole
