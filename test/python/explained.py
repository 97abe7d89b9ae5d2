"""What `mlopt explain` says, for tests."""

from pathlib import Path

from mlopt.tools import explain


def reasons_in(source: str | Path) -> list[str]:
    found = explain.explain(str(source), "main", "cpu", "cpu").as_dict()
    return [
        each["reason"] for edge in found["edges"] if edge["function"] == "main" for each in edge["reasons"]
    ]
