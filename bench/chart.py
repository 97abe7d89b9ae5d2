"""The chart of a run: how long each peer takes, mlopt being 1, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def threads(record: Record) -> str:
    """The panel of a row on the CPU."""
    return f"{record.threads} thread{'s' if record.threads > 1 else ''}"


@dataclass(frozen=True)
class View:
    """What is drawn of each row and peer: ``value``, in the panel that ``panel`` names.

    What lies beyond ``farthest`` is drawn there, hollow. ``ours``: mlopt is drawn, too, and not what is 1.
    """

    title: str = "Time of each peer / time of mlopt (right of 1: mlopt is faster)"
    value: Callable[[Record, str], float | None] = ratio_to
    panel: Callable[[Record], str] = threads
    farthest: float = 16.0
    ours: bool = False
    log: bool = True


def chart(run: Run, path: Path, view: View | None = None) -> None:
    """Draw the rows that have figures into an SVG file; by default ratios, a panel a number of threads."""
    view = view or View()
    ordered = sorted(run.records, key=lambda record: record.threads)
    names = list(dict.fromkeys(map(view.panel, ordered)))
    panels = {each: [r for r in run.records if view.panel(r) == each and best_peer(r)] for each in names}
    longest = max(map(len, panels.values()), default=0)
    if not longest:
        return
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mlopt", "font.size": 8}):
        figure, axes = pyplot.subplots(
            1, len(names), squeeze=False, sharex=True, figsize=(3 + 4 * len(names), 1.4 + _ROW * longest)
        )
        for number, each in enumerate(names):
            _panel(axes[0][number], panels[each], each, number == 0, view)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.suptitle(f"{view.title}\n{run.machine}, {run.date}")
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        figure.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(figure)


def _panel(axes: Axes, records: list[Record], title: str, named: bool, view: View) -> None:
    places = range(len(records), 0, -1)
    axes.axvline(1.0, color="black", linewidth=1)
    peers = dict.fromkeys(name for record in records for name in record.peers if view.ours or name != NAME)
    for peer, colour, marker in zip(peers, _COLOURS, _MARKERS, strict=False):
        found = [(view.value(record, peer), place) for record, place in zip(records, places, strict=True)]
        points = [(value, place) for value, place in found if value is not None]
        axes.scatter(
            [min(value, view.farthest) for value, _ in points],
            [place for _, place in points],
            s=18,
            marker=marker,
            edgecolors=colour,
            facecolors=[colour if value <= view.farthest else "none" for value, _ in points],
            label=peer,
        )
    if view.log:
        axes.set_xscale("log", base=2)
    axes.set_xlim(left=None if view.log else 0.0, right=view.farthest * 1.1)
    axes.xaxis.set_major_formatter("{x:g}")
    titles = [record.title + ("" if record.faults else ", memory kept") for record in records]
    axes.set_yticks(list(places), titles if named else [""] * len(titles))
    axes.set_ylim(0.3, len(records) + 0.7)
    axes.grid(axis="both", linewidth=0.3)
    axes.set_title(title)
