"""What a batch may not leave behind when its threads have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .batch import Batch


def report_left(batch: Batch) -> None:
    """Report mbarriers that expect bytes which never came, or have had more than they expect."""
    findings = batch.launch.findings
    for state in batch.objects.unfinished():
        what = "bytes that nobody brought" if state.bytes > 0 else "bytes more than were expected"
        detail = f"the kernel ends with an mbarrier that has {abs(state.bytes)} {what}"
        finding = findings.at(state.instruction, "transaction-count", detail)
        batch.locate(finding, state.lane)
        findings.add(finding, "left")
