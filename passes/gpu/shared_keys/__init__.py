"""Which loops over keys `mlopt-gpu-split-keys` can divide (`match`), and what joins their parts (`join`)."""
