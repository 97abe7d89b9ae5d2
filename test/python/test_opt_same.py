"""mlopt-opt beside mlir-opt: output, messages, exit status and files, byte by byte.

Every command runs three times: in mlir-opt, in mlopt-opt as it is (which hands it over), and in
mlopt-opt with a Python pass that does nothing in front of its pipeline (so that ours drives).
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from mlopt.tools.opt_driver.handover import tool_path

from .opt_cases import FLAGS, PASSES, PIPELINES

TOOLS = Path(__file__).parent.parent / "tools" / "Inputs"
PLUGIN = f"--load-pass-plugin={TOOLS / 'planted.py'}"
NOTHING = "mlopt-test-nothing"
SCRIPT = str(Path(sys.executable).with_name("mlopt-opt"))

COMMANDS = [
    *(shlex.split(f"{file} {flags}") for file, lines in PASSES.items() for flags in lines),
    *([file, f"--pass-pipeline={text}"] for file, texts in PIPELINES.items() for text in texts),
    *(shlex.split(line) for line in FLAGS),
]


def test_there_are_enough_commands() -> None:
    assert len({tuple(command) for command in COMMANDS}) >= 150


def test_handed_over_or_driven_by_ours_a_command_gives_the_same(tmp_path: Path) -> None:
    cases = [
        _case([PLUGIN, *_in_front(command)], tmp_path / f"driven-{number}")
        for number, command in enumerate(COMMANDS)
    ]
    results = _serve(cases)
    different = []
    for number, (command, driven) in enumerate(zip(COMMANDS, results, strict=True)):
        reference = _run(tool_path(), command, tmp_path / f"reference-{number}")
        handed = _run(SCRIPT, command, tmp_path / f"handed-{number}")
        driven["files"] = _files(tmp_path / f"driven-{number}")
        text = shlex.join(command)
        if _plain(handed) != _plain(reference):
            different.append(f"handed over: {text}\n{_shown(reference)}\n{_shown(handed)}")
        if _without_nothing(driven) != _without_nothing(reference):
            different.append(f"driven by ours: {text}\n{_shown(reference)}\n{_shown(driven)}")
    assert not different, f"{len(different)} differ:\n" + "\n".join(different)


def _case(command: list[str], folder: Path) -> dict[str, Any]:
    shutil.copytree(TOOLS / "opt", folder)
    return {"arguments": command, "folder": str(folder), "input": (folder / "arith.mlir").read_text()}


def _in_front(command: list[str]) -> list[str]:
    """``command`` with a pass that does nothing in front of its pipeline."""
    named = next((at for at, word in enumerate(command) if "-pass-pipeline=" in word), None)
    if named is None:
        if "-run-reproducer" in command:  # the file names the pipeline
            return command
        return [f"--{NOTHING}", *command]
    flag, text = command[named].split("=", 1)
    changed = re.sub(r"\((?=\s*\))", f"({NOTHING}", text, count=1)
    if changed == text:
        changed = text.replace("(", f"({NOTHING},", 1)
    return [*command[:named], f"{flag}={changed}", *command[named + 1 :]]


def _serve(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    server = Path(__file__).with_name("opt_server.py")
    done = subprocess.run(
        [sys.executable, str(server)], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def _run(tool: str, command: list[str], folder: Path) -> dict[str, Any]:
    case = _case(command, folder)
    done = subprocess.run(
        ["mlopt-opt", *command],  # mlir-opt too under this name, for messages
        executable=tool,
        cwd=folder,
        input=case["input"].encode("latin-1"),
        capture_output=True,
        check=False,
    )
    texts = {"out": done.stdout.decode("latin-1"), "err": done.stderr.decode("latin-1")}
    return {"status": done.returncode, **texts, "files": _files(folder)}


def _files(folder: Path) -> dict[str, str]:
    inputs = {path.name for path in (TOOLS / "opt").iterdir()}
    made = (path for path in folder.rglob("*") if path.is_file() and path.name not in inputs)
    return {str(path.relative_to(folder)): path.read_text(encoding="latin-1") for path in sorted(made)}


def _shown(result: dict[str, Any]) -> str:
    files = "".join(f"\n[{name}]\n{text[:1500]}" for name, text in result["files"].items())
    return f"[{result['status']}]\n{result['out'][:1500]}\n[err]\n{result['err'][:1500]}{files}"


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    """Without times and addresses, which no two runs have in common."""
    texts = {key: _stable(result[key]) for key in ("out", "err")}
    return {**result, **texts, "files": {name: _stable(text) for name, text in result["files"].items()}}


def _stable(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]{6,}", "#", text)
    if "Execution time report" in text:
        text = re.sub(r"[\d.]+ \( *[\d.]+%\)|\d+\.\d+", "#", text)
        text = re.sub(r"# +|(?<=: ) +(?=#)", "# ", text)
    lines = [line for line in text.split("\n") if "--mlopt-" not in line]  # of --list-passes
    if "Execution time report" in text:
        lines.sort()  # as lists they are in the order of the times
    return "\n".join(line for line in lines if not line.startswith("// mlopt-"))  # a reproducer's head


def _without_nothing(result: dict[str, Any]) -> dict[str, Any]:
    """What is left if the traces of the pass that does nothing are taken out of reports and dumps."""
    plain = _plain(result)
    texts = {key: _taken_out(plain[key]) for key in ("out", "err")}
    files = {_renamed(name): _taken_out(text) for name, text in plain["files"].items() if NOTHING not in name}
    return {**plain, **texts, "files": files}


def _renamed(name: str) -> str:
    return re.sub(r"\d+_(?=[a-z])", "", name)  # the pass in front counts, too


def _taken_out(text: str) -> str:
    # A dump of the IR ends at the next one, or with the result, both after an empty line.
    text = re.sub(rf"// -----// IR Dump \w+ \w+ \({NOTHING}\).*?\n\n(?=\n|//|module|$)", "", text, flags=re.S)
    text = re.sub(rf"{NOTHING}(,\s*|(?=\)|\n))", "", text)
    text = re.sub(r"(?<=PassPipeline Parser:1:)\d+", "#", text)
    lines = [line for line in text.split("\n") if not re.search(r"\bNothing\b|^ *#? *(Rest|Total|#)", line)]
    text = "\n".join(line for line in lines if line.strip())
    text = re.sub(r"(disable_threading: )\w+|(?<=Pass Manager with )\d+", r"\1#", text)
    return re.sub(r"^ +| +(?= )", "", text, flags=re.M)
