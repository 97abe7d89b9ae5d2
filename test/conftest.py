"""Compilations of the tests meet no cache of the user's, and leave none behind."""

import os
import shutil
import tempfile


def pytest_configure(config):
    config.cache_folder = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="mlopt-test-cache-")


def pytest_unconfigure(config):
    shutil.rmtree(config.cache_folder, ignore_errors=True)
