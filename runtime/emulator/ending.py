"""What a batch may not leave behind when its threads have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .batch import Batch


def report_left(batch: Batch) -> None:
    """Report copies that nobody waited for, and mbarriers whose bytes are not those that they expect."""
    findings = batch.launch.findings
    flying = [place for place, actions in batch.copies.deferred.items() if actions]
    batch.copies.settle(np.array(flying, np.int64))
    for place in flying:
        state = batch.objects.states.get(place)
        if state is not None:
            detail = "the kernel ends before anybody has waited for the copies that arrive at this mbarrier"
            finding = findings.at(state.instruction, "async-exit", detail)
            batch.locate(finding, state.lane)
            findings.add(finding, "copies")
    for store in batch.bulk.finish():
        detail = "a thread ends before it has waited for this copy to have read shared memory"
        finding = findings.at(store.instruction, "async-exit", detail)
        batch.locate(finding, store.lane)
        findings.add(finding, "stores")
    for operation in batch.warpgroups.flying:
        detail = "a warpgroup ends before it has waited for this wgmma"
        finding = findings.at(operation.instruction, "async-exit", detail)
        batch.locate(finding, operation.lane)
        findings.add(finding, "wgmma")
    for warp, instruction in batch.pool.uneven():
        detail = "a warp executes setmaxnreg, and others of its warpgroup do not"
        finding = findings.at(instruction, "setmaxnreg", detail)
        batch.locate(finding, int(np.argmax(batch.shape.warp == warp)))
        findings.add(finding, "uneven")
    for state in batch.objects.unfinished():
        what = "bytes that nobody brought" if state.bytes > 0 else "bytes more than were expected"
        detail = f"the kernel ends with an mbarrier that has {abs(state.bytes)} {what}"
        finding = findings.at(state.instruction, "transaction-count", detail)
        batch.locate(finding, state.lane)
        findings.add(finding, "left")
