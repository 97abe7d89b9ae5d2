"""Which pass is running, and which one is to blame for a failure."""

from __future__ import annotations

from ..runtime import progress


class Whereabouts:
    """Follows a pipeline run by what its callbacks report.

    MLIR says that a pipeline failed, not where, and goes on with the next function after a pass
    has failed on one. So a pass is suspected when an error is reported while it runs, and
    blamed when it turns out not to have come to its end.
    """

    def __init__(self) -> None:
        self.running = ""
        self._suspect = ""
        self._blamed = ""

    def start(self, text: str) -> None:
        """The pass ``text`` starts to run."""
        self._blamed = self._blamed or self._suspect
        self.running = text
        progress.running(text)

    def finish(self, following: str) -> None:
        """The running pass came to its end; ``following`` is up next on the same operation, if anything."""
        self._suspect = ""
        self.start(following)

    def report_error(self) -> None:
        """An error was reported."""
        self._suspect = self._suspect or self.running

    def fail(self) -> None:
        """The running pass has failed."""
        self._blamed = self._blamed or self.running

    @property
    def culprit(self) -> str:
        """The pass to blame; empty if the pipeline failed before any ran."""
        return self._blamed or self._suspect or self.running
