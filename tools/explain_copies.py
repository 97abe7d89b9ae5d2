"""What ``mlopt explain --layout`` says of kernels on tensor cores: who copies, who multiplies, who stores.

Below the name of a kernel::

    2 warpgroups multiply (wgmma); one more warp copies by TMA, with as many registers
    ring of 2 steps, 98304 bytes: 128x64xbf16, 64x256xbf16
    mbarriers: 2 for full slots (2 arrivals each), 2 for read ones (8 arrivals each)
    TMA stores 128x256xbf16, from shared memory (stmatrix)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SLOTS = ("full slots", "read ones")
_TURNS = ("turns",)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Of one grid of blocks, as `mlopt.pipelines.explain_copies.copies_of` describes it."""
    yield f"{_multiply(found)}; {_copy(found)}" if found["rings"] else _multiply(found)
    for stages in dict.fromkeys(ring["stages"] for ring in found["rings"]):
        rings = [ring for ring in found["rings"] if ring["stages"] == stages]
        tiles = f"{sum(ring['bytes'] for ring in rings)} bytes: {', '.join(ring['type'] for ring in rings)}"
        yield f"ring of {stages} steps, {tiles}" if stages > 1 else f"copied once, {tiles}"
    for number, each in enumerate(found["barriers"]):
        is_order = found["consumers"] > 1 and number > 0
        slots = zip(each["arrivals"], _TURNS if is_order else _SLOTS, strict=False)
        yield "mbarriers: " + ", ".join(
            f"{each['slots']} for {what} ({count} arrival{'s' if count > 1 else ''} each)"
            for count, what in slots
        )
    if found["cluster"] > 1:
        shared = ", ".join(ring["type"] for ring in found["rings"] if ring["both"])
        yield f"clusters of {found['cluster']} blocks: each copies its part of {shared} to all (multicast)"
    if found["persistent"] is not None:
        yield f"{found['persistent']} blocks at most, each of which makes tile after tile (a persistent grid)"
    if found["consumers"] > 1:
        yield "its warpgroups take turns with these: one multiplies while the other ends its own (ping-pong)"
    for each in found["stores"]:
        is_kept = each["why"] is not None
        yield (
            f"threads store {each['type']}, not TMA: {each['why']}"
            if is_kept
            else f"TMA stores {each['type']}, from shared memory (stmatrix)"
        )


def _multiply(found: Mapping[str, Any]) -> str:
    """Who multiplies, and by which instruction."""
    role = found["multiply"]
    many, registers = role["count"] > 1, role["registers"]
    made = f"{role['count']} {role['unit']}s multiply" if many else f"one {role['unit']} multiplies"
    if _in_groups(found):
        return f"{made} (wgmma)" + ("" if registers is None else f", with {registers} registers a thread")
    return f"{made} (mma.sync)" + (f", not warpgroups: {'; '.join(found['why'])}" if found["why"] else "")


def _copy(found: Mapping[str, Any]) -> str:
    """Who copies what they multiply."""
    if not found["tma"]:
        is_told = _in_groups(found) and found["why"]
        return "their threads copy (cp.async)" + (f", not TMA: {'; '.join(found['why'])}" if is_told else "")
    if (role := found["copy"]) is None:
        return "one of their threads copies by TMA"
    given = "as many registers" if role["registers"] is None else f"{role['registers']} (setmaxnreg)"
    return f"one more {role['unit']} copies by TMA, with {given}"


def _in_groups(found: Mapping[str, Any]) -> bool:
    return bool(found["multiply"]["unit"] == "warpgroup")
