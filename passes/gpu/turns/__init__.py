"""What the tasks of a block that takes turns share, and what can be read ahead (`reads`)."""
