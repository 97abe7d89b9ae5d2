"""Decompositions of our own, by kind of op; `mlopt.frontends.decompositions` is the whole table."""
