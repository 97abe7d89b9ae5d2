"""MLIR's own CUDA runtime, run against a driver that records what it is asked for."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from mlopt.runtime.cuda import library
from mlopt.test.python.cuda import stub
from mlopt.test.python.cuda.run_scenarios import SCENARIOS

HERE = Path(__file__).parent / "cuda"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """The folder with what the scenarios printed, and their exit statuses."""
    folder = tmp_path_factory.mktemp("cuda")
    stub.build(folder)
    subprocess.run([sys.executable, HERE / "programs.py", folder / "programs.pickle"], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_LAUNCH_BLOCKING"}
    command = [sys.executable, HERE / "run_scenarios.py", folder]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=300, check=True)
    return folder, json.loads(done.stdout)


SHT_DYNSYM = 11


def test_the_number_of_symbols_is_that_of_the_hash_table(tmp_path):
    """GNU's table in MLIR's library, System V's in tcc's; sections, which no linker loads, say the same."""
    for path in (library.runtime_path(), stub.build(tmp_path, quiet=True)):
        image = bytearray(path.read_bytes())
        (start,), (size, count) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<HH", image, 58)
        sections = [struct.unpack_from("<IIQQQQ", image, start + size * number) for number in range(count)]
        (length,) = (section[5] for section in sections if section[1] == SHT_DYNSYM)
        segments = library._segments(image)
        tags = {tag: value for _, tag, value in library._dynamic_entries(image, segments)}
        assert library._symbol_count(image, segments, tags) == length // 24


def test_nothing_but_symbols_and_one_link_are_changed():
    """Other bytes that look like a symbol of the kind stay."""
    before = library.runtime_path().read_bytes()
    after = library.private_copy(before)
    changed = [place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert len(changed) < 8


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_on_the_stub_driver(outcomes, scenario):
    folder, statuses = outcomes
    assert statuses[scenario] == 0, (folder / f"{scenario}.log").read_text()
