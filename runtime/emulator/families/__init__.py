"""Families of instructions: each module decodes those of some sections of the PTX ISA.

A module here is imported, and its instructions exist; to add a family is to add a module.
"""

from importlib import import_module
from pkgutil import iter_modules

FAMILIES = sorted(module.name for module in iter_modules(__path__))
for _name in FAMILIES:
    import_module(f"{__name__}.{_name}")
