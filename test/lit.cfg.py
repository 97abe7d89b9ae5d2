"""lit's configuration: `.venv/bin/lit test` runs every .mlir file below this folder."""

import os
import sys
import sysconfig
from pathlib import Path

import lit.formats

_root = Path(__file__).resolve().parent.parent
_binaries = Path(sys.executable).parent  # mlopt-opt and mlopt of this environment
_llvm = Path(sysconfig.get_paths()["purelib"]) / "llvm" / "bin"  # FileCheck, not, count
_mlir = Path(sysconfig.get_paths()["purelib"]) / "mlir" / "bin"  # mlir-opt

config.name = "mlopt"  # noqa: F821
config.suffixes = [".mlir", ".test"]  # noqa: F821
config.excludes = ["corpus", "python", "Inputs"]  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.test_source_root = str(_root / "test")  # noqa: F821
config.test_exec_root = str(_root / "build" / "lit")  # noqa: F821
config.environment["PATH"] = os.pathsep.join([str(_binaries), str(_llvm), str(_mlir), os.environ["PATH"]])  # noqa: F821
config.environment["PYTHONDONTWRITEBYTECODE"] = ""  # noqa: F821
config.environment["MLOPT_CACHE"] = "0"  # noqa: F821
config.environment["XDG_STATE_HOME"] = str(_root / "build" / "lit" / "state")  # noqa: F821
config.substitutions.append(("%python", sys.executable))  # noqa: F821
config.substitutions.append(("%root", str(_root)))  # noqa: F821
