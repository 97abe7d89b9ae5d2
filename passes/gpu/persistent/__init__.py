"""Blocks that make tile after tile: who does what in them, and what they take of shared memory."""
