"""What pyproject.toml cannot say: the root is the package ``mlopt``, its folders are subpackages."""

from setuptools import find_packages, setup

FOLDERS = ("dialects", "frontends", "passes", "pipelines", "runtime", "tools")

found = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])
setup(packages=["mlopt", *(f"mlopt.{package}" for package in found)])
