"""Modules in plain torch that everything is tested on.

``CASES`` maps a name to a `Case`; ``DEMO`` holds the two models of ``make demo``, which are
too large for most tests.
"""

from .cases import CASES, DEMO, Case

__all__ = ["CASES", "DEMO", "Case"]
