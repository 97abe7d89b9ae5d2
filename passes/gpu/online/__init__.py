"""How `mlopt-gpu-online-sums` finds its loops (`match`), and writes steps of them again (`steps`)."""
