"""What `mlopt explain` says, for tests."""

from pathlib import Path

from mlopt.tools import cli, explain
from typer.testing import CliRunner


def reasons_in(source: str | Path) -> list[str]:
    found = explain.explain(str(source), "main", "cpu", "cpu").as_dict()
    return [
        each["reason"] for edge in found["edges"] if edge["function"] == "main" for each in edge["reasons"]
    ]


def printed(*arguments: str) -> str:
    """What the command prints with these arguments; it must not fail."""
    result = CliRunner().invoke(cli.app, ["explain", *arguments])
    assert result.exit_code == 0, result.output
    return result.output
