"""The charts of a run on a GPU: which share of a copy's bandwidth, and how fast beside torch.compile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..chart import View, chart
from ..records import Record, Run


def charts(run: Run, path: Path) -> None:
    """Two SVG files beside ``path``: NAME-bandwidth.svg and NAME.svg."""
    timed = replace(run, records=[record for record in run.records if record.limit is not None])
    shares = View("Share of the bandwidth of a copy", _share, _together, farthest=1.25, ours=True, log=False)
    moving = replace(timed, records=[record for record in timed.records if "flops" not in record.ceilings])
    chart(moving, path.with_name(f"{path.stem}-bandwidth.svg"), shares)
    chart(timed, path.with_suffix(".svg"), View(panel=_together))


def _together(record: Record) -> str:  # noqa: ARG001
    """All rows are in one panel."""
    return ""


def _share(record: Record, name: str) -> float | None:
    """What a copy of the same bytes takes over what the peer takes."""
    seconds = record.peers[name].seconds if name in record.peers else None
    return record.limit / seconds if record.limit is not None and seconds else None
