"""lit's configuration for a folder of passes and their tests: `lit .` in an environment that has mlopt."""

import os
import sys
import sysconfig
from pathlib import Path

import lit.formats

config.name = "passes"  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.excludes = ["build"]  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.test_exec_root = Path(__file__).parent / "build"  # noqa: F821
llvm = Path(sysconfig.get_paths()["purelib"]) / "llvm" / "bin"  # FileCheck, not
config.environment["PATH"] = os.pathsep.join(  # noqa: F821
    [str(Path(sys.executable).parent), str(llvm), os.environ["PATH"]]
)
