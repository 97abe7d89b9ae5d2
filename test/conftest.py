"""Compilations of the tests meet no cache of the user's, and leave none behind; their threads sleep.

The garbage collector goes over what the tests make, and not over what they import: a tenth of their time.
"""

import gc
import os
import shutil
import tempfile

# Read when torch loads OpenMP, which the conftest.py below this one does. Threads that wait for work would
# take the cores from the workers and the tests beside them: a Verifier took six times the CPU time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Objects that are made before the garbage collector looks: after Python's 700, importing torch alone had it
# look hundreds of times.
gc.set_threshold(10_000)


def pytest_configure(config):
    """One cache for all files, whichever of xdist's workers runs them: those find it in their environment."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="mlopt-test-cache-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
