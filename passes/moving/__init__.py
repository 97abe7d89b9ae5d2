"""The rewrites of `mlopt-fold-moves`, one a module; each takes a function and rewrites all of it."""
