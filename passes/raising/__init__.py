"""The rewrites of `mlopt-raise`, one a module; each takes a function and rewrites all of it."""
