"""What is run against the stub driver, each in a process of its own:

python run_scenarios.py FOLDER    with libcuda.so.1 and programs.pickle; prints the exit statuses
"""

import inspect
import json
import os
import sys
import traceback
from pathlib import Path

from mlopt.test.python.cuda.calls import StubGpu
from mlopt.test.python.cuda.scenarios import capturing, failing, finding, launching, overlapping

SCENARIOS = {
    name: function
    for module in (launching, failing, finding, overlapping, capturing)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
}


def in_child(name, stub, log):
    """Run one scenario in a child process, its output to ``log``; the exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        SCENARIOS[name](stub)
        assert not [line for line in stub.log() if line.startswith("unexpected")]
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    stub = StubGpu(folder)
    print(json.dumps({name: in_child(name, stub, folder / f"{name}.log") for name in SCENARIOS}))
