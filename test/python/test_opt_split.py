"""mlopt-opt on files of many chunks: each has a context of its own, maybe where an earlier one was."""

import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("mlopt-opt"))
CHUNKS = 150
_LINE = re.compile(r"(?<=chunks\.mlir):\d+")  # of a decision: its chunk's place in the file
MARK = "// -----\n"


def test_a_chunk_becomes_the_same_alone_and_behind_others(tmp_path: Path) -> None:
    kinds = [_transposed(order) for rank in (2, 3) for order in permutations(range(rank))]
    alone = {text: _folded(text, tmp_path) for text in kinds}
    chunks = [kinds[number * 3 % len(kinds)] for number in range(CHUNKS)]
    together = _folded(MARK.join(chunks), tmp_path)
    together, alone = _LINE.sub("", together), {text: _LINE.sub("", made) for text, made in alone.items()}
    assert [part.strip() for part in together.split(MARK)] == [alone[text].strip() for text in chunks]


def _transposed(order: tuple[int, ...]) -> str:
    """A transposed tensor, and what reads it element by element."""
    dims = ", ".join(f"d{dim}" for dim in range(len(order)))
    moved = ", ".join(f"d{dim}" for dim in order)
    shape = "x".join(["8"] * len(order))
    kinds = ", ".join(['"parallel"'] * len(order))
    return f"""
#same = affine_map<({dims}) -> ({dims})>
#moved = affine_map<({dims}) -> ({moved})>
func.func @f(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %e = tensor.empty() : tensor<{shape}xf32>
  %t = linalg.generic {{indexing_maps = [#moved, #same], iterator_types = [{kinds}], mlopt.op = "transpose"}}
      ins(%x : tensor<{shape}xf32>) outs(%e : tensor<{shape}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }} -> tensor<{shape}xf32>
  %y = linalg.generic {{indexing_maps = [#same, #same], iterator_types = [{kinds}], mlopt.op = "exp"}}
      ins(%t : tensor<{shape}xf32>) outs(%e : tensor<{shape}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  }} -> tensor<{shape}xf32>
  return %y : tensor<{shape}xf32>
}}
"""


def _folded(text: str, folder: Path) -> str:
    source = folder / "chunks.mlir"
    source.write_text(text)
    command = [SCRIPT, str(source), "--mlopt-fold-moves", "--split-input-file"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout
