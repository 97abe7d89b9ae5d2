"""Runs many command lines of mlopt-opt: loads MLIR once, then each runs in a child of its own.

Reads a JSON list of {"arguments", "folder", "input"} from standard input and writes for each status,
standard output and standard error (Latin-1 stands for bytes).
"""

import json
import os
import sys
import tempfile

from mlopt.tools import opt
from mlopt.tools.opt_driver import mlir_main

SECONDS = 120


def in_child(case: dict[str, object]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as into:
        into.write(str(case["input"]).encode("latin-1"))
        into.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in enumerate((into, out, err)):
                os.dup2(file.fileno(), number)
            os.chdir(str(case["folder"]))
            sys.argv = ["mlopt-opt", *case["arguments"]]  # type: ignore[misc]
            opt.entry_point()
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("latin-1"))
    return {"status": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    mlir_main.load()
    from mlopt.tools.opt_driver import driver  # noqa: F401

    sys.stdout.flush()
    json.dump([in_child(case) for case in cases], sys.stdout)
