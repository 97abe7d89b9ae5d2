"""Equal layers are compiled once: most of them leave @main before a stage, and come back after it."""
