"""The chart of a run: how long each peer takes, mlopt being 1, on a logarithmic scale."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes

from .peers.mlopt import NAME
from .records import Record, Run
from .summary import best_peer, ratio_to

_COLOURS = ("#7f7f7f", "#d62728", "#2ca02c", "#9467bd", "#1f77b4", "#e377c2")
_MARKERS = "osD^vP"
_ROW = 0.24  # inches
_FARTHEST = 16.0  # times: what lies beyond is drawn here, hollow


def chart(run: Run, path: Path) -> None:
    """Draw the rows that have figures, one panel for each number of threads, into an SVG file."""
    threads = sorted({record.threads for record in run.records})
    panels = {each: [r for r in run.records if r.threads == each and best_peer(r)] for each in threads}
    longest = max(map(len, panels.values()), default=0)
    if not longest:
        return
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mlopt", "font.size": 8}):
        figure, axes = pyplot.subplots(
            1, len(threads), squeeze=False, sharex=True, figsize=(3 + 4 * len(threads), 1.4 + _ROW * longest)
        )
        for number, each in enumerate(threads):
            _panel(axes[0][number], panels[each], f"{each} thread{'s' if each > 1 else ''}", number == 0)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.suptitle(
            f"Time of each peer / time of mlopt (right of 1: mlopt is faster)\n{run.machine}, {run.date}"
        )
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        figure.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(figure)


def _panel(axes: Axes, records: list[Record], title: str, named: bool) -> None:
    places = range(len(records), 0, -1)
    axes.axvline(1.0, color="black", linewidth=1)
    peers = dict.fromkeys(name for record in records for name in record.peers if name != NAME)
    for peer, colour, marker in zip(peers, _COLOURS, _MARKERS, strict=False):
        found = [(ratio_to(record, peer), place) for record, place in zip(records, places, strict=True)]
        points = [(value, place) for value, place in found if value is not None]
        axes.scatter(
            [min(value, _FARTHEST) for value, _ in points],
            [place for _, place in points],
            s=18,
            marker=marker,
            edgecolors=colour,
            facecolors=[colour if value <= _FARTHEST else "none" for value, _ in points],
            label=peer,
        )
    axes.set_xscale("log", base=2)
    axes.set_xlim(right=_FARTHEST * 1.1)
    axes.xaxis.set_major_formatter("{x:g}")
    titles = [record.title + ("" if record.faults else ", memory kept") for record in records]
    axes.set_yticks(list(places), titles if named else [""] * len(titles))
    axes.set_ylim(0.3, len(records) + 0.7)
    axes.grid(axis="both", linewidth=0.3)
    axes.set_title(title)
