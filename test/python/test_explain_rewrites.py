"""`mlopt explain`: rewrites of the graph before kernels, made or left, with what each of them saves."""

from pathlib import Path

import pytest
from mlopt.tools import explain, explain_text

FACTORIES = """
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count, self.make = count, nn.Linear(256, 256)

    def forward(self, x):
        return self.make(x).view(*x.shape[:2], self.count, -1).transpose(1, 2) * 2

def heads():
    return Heads(16), torch.ones(2, 128, 256)

class Scores(nn.Module):
    def __init__(self, returned):
        super().__init__()
        # Two of one width that are returned are one kernel, each of them by itself.
        self.returned, self.one = returned, nn.Linear(16, 16)
        self.other = nn.Linear(16, 8 if returned else 16)

    def forward(self, x):
        one, other = self.one(x), self.other(x)
        return (one, other) if self.returned else one @ other.T

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 128, 3, padding=1), nn.BatchNorm2d(128)
        self.last = nn.Conv2d(128, 32, 1)

    def forward(self, x):
        y = self.last(self.norm(self.conv(x)))
        return y.transpose(2, 3) * 2, nn.functional.pad(x, (1, 1)) + 1, x[0, 0].T.contiguous()

def block():
    return Block().eval(), torch.ones(2, 4, 6, 6)

def joined():
    return Scores(False), torch.ones(3, 16)

def apart():
    return Scores(True), torch.ones(3, 16)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "factories.py"
    path.write_text(FACTORIES)
    return path


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_products_that_read_one_tensor(file: Path, target: str) -> None:
    """Queries and keys are one product; what is returned is not a part of something."""
    lines = FACTORIES[: FACTORIES.index("self.one(x)")].count("\n") + 1
    taken, refused = (
        explain.explain(f"{file}:{name}", "main", target, "cpu" if target == "cpu" else "")
        for name in ("joined", "apart")
    )
    (one,) = taken.as_dict()["products"]
    (two,) = refused.as_dict()["products"]
    assert one["ops"] == two["ops"] == f"{file}:{lines}: matmul | matmul"
    assert one["reason"] == ""
    assert two["reason"].startswith("the caller reads one of them")
    assert one["bytes_saved"] == two["bytes_saved"] == 3 * 16 * 4
    assert one["seconds_saved"] == pytest.approx(two["seconds_saved"], rel=1e-9)
    assert two["seconds_saved"] > 0
    assert f"{one['ops']}: one product, saves 0.000 MB, " in explain_text.text(taken)
    assert f"{two['ops']}: {two['reason']}; would save 0.000 MB, " in explain_text.text(refused)


def test_why_a_product_does_not_make_heads(file: Path) -> None:
    found = explain.explain(f"{file}:heads", "main", "cpu", "cpu")
    reasons = [each["reason"] for edge in found.edges for each in edge["reasons"]]
    assert reasons == ["in parts of 16 columns, no multiple of 32, a product leaves registers empty"]


def test_rewrites_before_kernels_are_decisions_with_numbers(file: Path) -> None:
    """Moves, folded scales, packed weights and pads, made or left; a line of text for all that are alike."""
    found = explain.explain(f"{file}:block", "main", "cpu", "cpu")
    rewrites = found.as_dict()["rewrites"]
    assert all(each["where"][0].startswith(f"{file}:") for each in rewrites)
    told = {(each["pass"], each["ops"], each["reason"]): each for each in rewrites}
    launch, bandwidth = (
        found.machine.launch,
        found.machine.bandwidth * 8,
    )  # of the 16 processors it stands for
    padded = 2 * 2 * 4 * 8 * 8 * 4
    told_apart = 3 / (found.machine.vector["f32"] / 2 * 8)  # seconds of each element's tests
    for key, size in {
        ("mlopt-fold-moves", "transpose", ""): 2 * 2 * 32 * 6 * 6 * 4,
        ("mlopt-fold-moves", "transpose", "the caller gets it"): 2 * 6 * 6 * 4,
        ("mlopt-fuse", "pad read through by conv2d", ""): padded,
        ("mlopt-fuse", "pad computed where it is read", ""): padded * 6 // 8,
    }.items():
        assert told[key]["bytes_saved"] == size, key
        tests = size // (2 * 4) * told_apart if "computed" in key[1] else 0
        assert told[key]["seconds_saved"] == pytest.approx(launch + size / bandwidth - tests), key
    folded = told["mlopt-fold-scales", "conv2d -> mul", ""]
    assert folded["bytes_saved"] == 2 * 128 * 4  # the scale and the shift
    assert folded["bytes_kept"] == (128 * 4 * 9 + 128) * 4 and folded["seconds_saved"] > 0
    assert told["mlopt-pack-weights", "weights of conv2d", ""]["bytes_kept"] == 128 * 4 * 9 * 4
    few = told["mlopt-pack-weights", "weights of conv2d", "32 columns are no multiple of 64"]
    assert (few["bytes_kept"], few["bytes_saved"]) == (128 * 32 * 4, 0)
    text = explain_text.text(found).partition("or left:\n")[2]
    lines = [line.replace(f"{file}:", "") for line in text.splitlines()]
    assert "    mlopt-pack-weights: weights of conv2d (34): keeps 0.018 MB made of weights" in lines
    assert "; would keep 0.016 MB made of weights" in text and ": the caller gets it; would save " in text
