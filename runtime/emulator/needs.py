"""Which .target and .version of a text an instruction or a special register needs, as ptxas says.

Instructions that every text for sm_80 of version 7.8 may have, which brought sm_90, are not here.
"""

from __future__ import annotations

import re
from functools import cache

from .errors import EmulatorError
from .ptx import Instruction, Module

Version = tuple[int, int]
# Names begin so; behind the name of an instruction is how many operands it has. A target with … is one of
# the kind, or a later one: with an a or an f if it has an a.
_NEEDS: tuple[tuple[str, str, Version], ...] = (
    (r"wgmma\.", "sm_90a", (8, 0)),
    (r"setmaxnreg\.", "sm_90a…", (8, 0)),
    (r"tensormap\.replace\.", "sm_90a…", (8, 3)),
    (r"tensormap\.cp_fenceproxy\.|fence\.proxy\.tensormap", "sm_90…", (8, 3)),
    (r"cp\.(reduce\.)?async\.bulk[. ]|elect\.|prefetch\..*tensormap", "sm_90…", (8, 0)),
    (r"cp\.async\.bulk\.(tensor\.\dd\.)?shared::cta\.", "sm_90…", (8, 6)),
    (r"mbarrier\..*(expect_tx|complete_tx|shared::cluster)", "sm_90…", (8, 0)),
    (r"mbarrier\..*\.(acquire|release)", "sm_80…", (8, 0)),
    (r"mbarrier\.arrive(?!.*(expect_tx|noComplete)).* 3", "sm_90…", (7, 8)),
    (r"mbarrier\.(arrive|test_wait|try_wait).*\.relaxed", "sm_90…", (8, 6)),
    (r"mbarrier\.try_wait|mapa|getctarank|stmatrix|griddepcontrol", "sm_90…", (7, 8)),
    (r"barrier\.cluster\..*(acquire|release|relaxed)|fence\.(mbarrier_init|proxy\.async)", "sm_90…", (8, 0)),
    (r"fence\..*sync_restrict", "sm_90…", (8, 6)),
    (r"(st|red)\.async|(atom|red)\..*\.v[248]\.", "sm_90…", (8, 1)),
    (r".*\.(shared::)?cluster[. ]|%n?cluster|%is_explicit_cluster", "sm_90…", (7, 8)),
    (r"%aggr_smem_size", "sm_90…", (8, 1)),
    (r"(add|min|max)\..*[us]16x2|(min|max)\.relu\.s32", "sm_90…", (8, 0)),
    (r"(add|sub|mul|ex2|tanh|setp|set|atom.*\.add|red.*\.add)\..*bf16", "sm_90…", (7, 8)),
    (r"cvt\..*(\.bf16\.(?!f32 )|\.(?!f32)\w+\.bf16 )|cvt\.r[nz]\.(.*\.)?tf32\.", "sm_90…", (7, 8)),
    (r"mma\.sync\..*m16n8k\d+\..*f64", "sm_90…", (7, 8)),
    (r"mma\.sync\..*\.e[45]m[23]\.", "sm_89…", (8, 4)),
    (r"cvt\..*e[45]m[23]x2", "sm_89…", (7, 8)),
    (r"(min|max)\..*xorsign", "sm_86…", (7, 2)),
    (r"cvt\..*satfinite(?!.*m[23]x2)", "sm_80…", (8, 1)),
    (r".*\.param::entry", "sm_80…", (8, 3)),
)


def check(name: str, module: Module, where: str) -> None:
    """EmulatorError if the target or version of a module does not have what ``name`` names."""
    targets, version = _needed(name)
    shown = repr(name.partition(" ")[0])
    for least in [target.removesuffix("…") for target in targets if not _has(module.target, target)]:
        what = f"{shown} needs .target {least}, and the text is for {module.target}"
        raise EmulatorError(what, where=where, remedy=f"compile for {least}")
    if module.version < version:
        wanted, found = (".".join(map(str, each)) for each in (version, module.version))
        what = f"{shown} needs .version {wanted}, and the text has {found}"
        raise EmulatorError(what, where=where, remedy=f"write .version {wanted}, if nothing else forbids it")


def check_instruction(i: Instruction, module: Module) -> None:
    """The same for an instruction."""
    name = _name(i.opcode, i.mods, len(i.operands))
    if not _is_there(name, module.target, module.version):
        check(name, module, f"PTX line {i.line}: {i.text}")


@cache
def _name(opcode: str, mods: tuple[str, ...], operands: int) -> str:
    return f"{'.'.join((opcode, *mods))} {operands}"


@cache
def _is_there(name: str, target: str, version: Version) -> bool:
    targets, least = _needed(name)
    return version >= least and all(_has(target, needed) for needed in targets)


@cache
def _needed(name: str) -> tuple[tuple[str, ...], Version]:
    found = [(target, version) for pattern, target, version in _NEEDS if re.match(pattern, name)]
    return tuple(target for target, _ in found), max((version for _, version in found), default=(0, 0))


@cache
def _has(target: str, needed: str) -> bool:
    if not needed.endswith("…"):
        return target == needed
    found, least = (re.fullmatch(r"sm_(\d+)([af]?)…?", each) for each in (target, needed))
    if found is None or least is None:
        return False
    return int(found[1]) >= int(least[1]) and (not least[2] or bool(found[2]))
