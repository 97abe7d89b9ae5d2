"""Installs the peers into the environment of this Python, one at a time: one that does not install is named.

All packages are there as bytecode then, as pip leaves them by default.

python -m mlopt.bench.environment PIP_FLAGS…
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Sequence

from .peers import PEERS


def main(flags: Sequence[str]) -> int:
    """0 even where peers are missing: the benchmark runs without them, and says so."""
    for name, peer in PEERS.items():
        command = [sys.executable, "-m", "pip", "install", "-q", *flags, *peer.requirements]
        if peer.requirements and subprocess.run(command, check=False).returncode:
            print(f"{name} does not install here: {' '.join(peer.requirements)}", file=sys.stderr)
    # pip leaves it out where PYTHONDONTWRITEBYTECODE is set; a peer that is timed must not compile Python.
    compiled = [sys.executable, "-m", "compileall", "-qq", sysconfig.get_path("purelib")]
    subprocess.run(compiled, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
