"""What the passes up to the kernels do keeps every result: each linalg text runs before and after them."""

import functools
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TEXTS = sorted((FOLDER / "linalg").glob("*.mlir"))
TOLERANCE = {"bf16": 2e-2, "large_totals": 1e-4}  # sums in another order are rounded otherwise


@functools.cache
def differences() -> dict[str, float]:
    """All texts in one process; those that are missing from its output are what it died of."""
    command = [sys.executable, str(FOLDER / "linalg_run.py"), *map(str, TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    print(done.stderr)
    return {Path(name).stem: float(value) for name, value in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("name", [path.stem for path in TEXTS])
def test_results_are_kept(name: str) -> None:
    assert differences()[name] <= TOLERANCE.get(name, 1e-5)
