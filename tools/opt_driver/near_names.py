"""Passes of plug-ins whose names a command nearly has: MLIR knows only those that are named exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...passes.registry import UnknownPassError, did_you_mean, foreign_passes
from . import mlir_main
from .handover import Flag


def near_flags(flags: Sequence[Flag]) -> list[str]:
    """The passes that flags may have meant: once they are registered, MLIR's own message suggests them."""
    return [match for flag in flags for match in _near(flag.name)]


def check_pipelines(flags: Sequence[Flag]) -> None:
    """`UnknownPassError` for an unknown name in a pipeline that is nearly a plug-in's pass."""
    for flag in flags:
        if flag.name == "pass-pipeline" and any(map(_near, _words(flag.value or ""))):
            for name in _pass_names(flag.value or ""):
                if near := _near(name):
                    raise UnknownPassError(f"unknown pass '{name}'{did_you_mean(name, near)}")


def _near(name: str) -> list[str]:
    """The passes of plug-ins that differ from ``name`` by little, if no pass is called that."""
    near = [each for each in foreign_passes() if _may_be(name, each)]
    known = near and (name in foreign_passes() or mlir_main.has_pass(name))
    return [] if known else [each for each in near if did_you_mean(name, [each])]


def _may_be(name: str, other: str) -> bool:
    """Whether it pays to compare: `difflib` takes milliseconds to import."""
    return abs(len(name) - len(other)) <= 2 and name[:1] == other[:1]


def _words(pipeline: str) -> Iterable[str]:
    return pipeline.replace("(", ",").replace(")", ",").replace("{", ",").split(",")


def _pass_names(pipeline: str) -> list[str]:
    from ...pipelines.text import NestNode, PassNode, PipelineSyntaxError, parse_pipeline

    def names(node: PassNode | NestNode) -> list[str]:
        if isinstance(node, PassNode):
            return [node.name]
        return [name for element in node.elements for name in names(element)]

    try:
        return names(parse_pipeline(pipeline))
    except PipelineSyntaxError:  # MLIR says what is wrong
        return []
