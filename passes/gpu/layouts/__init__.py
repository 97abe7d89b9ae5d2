"""How `mlopt-gpu-assign-layouts` finds layouts.

- `dims`: which dims of which tiles run along with each other: the classes that a kernel's layout is about.
- `access`: where the elements of a transfer lie in memory, and how wide its accesses may be.
- `spread`: one layout for a kernel, given class by class; a tile's layout is its projection.
- `order`: reads before what uses them.
- `anchors`: the registry of ops that want layouts of their own (contractions).
"""
