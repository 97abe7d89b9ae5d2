"""What is done when a GPU is at hand, rehearsed without one."""

import json

import pytest
import torch
from mlopt.bench.gpu import corpus, visit
from mlopt.bench.gpu.corpus import Outcome, difference


def test_results_that_differ():
    wanted = torch.tensor([1.0, -4.0, torch.nan, torch.inf])
    assert difference(wanted.clone(), wanted) == 0.0
    assert difference(torch.tensor([1.5, -4.0, torch.nan, torch.inf]), wanted) == pytest.approx(0.125)
    for other in (
        [1.0, -4.0, 0.0, torch.inf],
        [1.0, -4.0, torch.nan, -torch.inf],
        [torch.nan, -4.0, torch.nan, torch.inf],
    ):
        assert difference(torch.tensor(other), wanted) == float("inf")
    assert difference(torch.tensor([1, 2]), torch.tensor([1, 3])) == pytest.approx(1 / 3)
    assert difference(torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64)) == float("inf")
    assert difference(torch.empty(0), torch.empty(0)) == 0.0


def test_a_fault_costs_one_program(monkeypatch):
    """Another process goes on after the program at which one has ended, told or not."""
    asked = []

    def run(command, **_):
        left = command[command.index("--exactly") + 1 :]
        asked.append(left)
        printed, status = {4: ("a: right\nb: CUDA error: an illegal access\n", 3), 2: ("", -6)}.get(
            len(left), ("d: right\n", 0)
        )
        return type("Done", (), {"stdout": printed, "returncode": status})()

    monkeypatch.setattr(corpus.subprocess, "run", run)
    outcomes = corpus.check_apart("folder", list("abcd"), (), 100.0)
    assert asked == [list("abcd"), list("cd"), ["d"]]
    assert outcomes == [
        Outcome("a", ""),
        Outcome("b", "CUDA error: an illegal access"),
        Outcome("c", "its process ended with status -6"),
        Outcome("d", ""),
    ]


def test_a_visit_on_the_emulator(tmp_path, capsys):
    """One row and one program, compiled before."""
    prepared, out = tmp_path / "prepared", tmp_path / "out"
    flags = ["--tiny", "--target", "cuda:sm_80", "--only", "relu_scale", "one-f32"]
    assert visit.main(["--prepare", str(prepared), *flags]) == 0
    for text in prepared.glob("*/*.mlir"):
        text.unlink()
    status = visit.main(["--from", str(prepared), "--output", str(out), "--device", "emulator"])
    told = capsys.readouterr().out
    logs = "\n".join(log.read_text() for log in out.glob("*.txt"))
    assert status == 0, told + logs
    assert "1 of 1 programs are right on the emulator" in told
    assert "left out: there is no GPU" in told
    (kept,) = out.glob("gpu-*.json")
    (row,) = json.loads(kept.read_text())["records"]
    assert row["peers"]["mlopt"]["problem"] == ""
    assert row["peers"]["mlopt"]["build"] is None
