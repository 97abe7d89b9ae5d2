"""How `mlopt-gpu-chunk-rows` steps through a dim: which (`choice`), and the tiles of a step (`slices`)."""
