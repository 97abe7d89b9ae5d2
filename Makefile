# Everything happens in .venv/, which each target sets up first if need be.
# `make help` lists the targets.

PYTHON ?= python3.11
PIP_FLAGS ?=
BIN := .venv/bin
STAMP := .venv/installed

# Seeds of `make fuzz`: others each time, unless FIRST is given.
GRAPHS := 2000
BENCH_BIN := .venv-bench/bin
BENCH_STAMP := .venv-bench/installed
FIRST := $(shell date +%s)

.PHONY: help venv test fuzz demo bench docs lint format clean

help: ## list the targets
	@echo "make TARGET [PYTHON=python3.11] [PIP_FLAGS=…]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12
	@echo "PIP_FLAGS is passed to pip: name the index of torch's CPU builds there to leave out CUDA (ten times smaller)."

venv: $(STAMP) ## set up .venv: torch, the pinned compilers, mlopt itself (editable)

test: $(STAMP) ## all checks: ruff, mypy, lit, call overhead, pytest (GROUPS="lint lit" for some of them)
	@$(BIN)/python test/run.py $(GROUPS)

fuzz: $(STAMP) ## random graphs, windows and dtypes, compared with what they must be; FIRST=seed GRAPHS=1 repeats one
	@echo "seeds $(FIRST) to $$(($(FIRST) + $(GRAPHS) - 1))"
	@MLOPT_FUZZ=$(GRAPHS) MLOPT_FUZZ_FIRST=$(FIRST) $(BIN)/pytest -vv test/python/test_fuzz_graphs.py test/python/test_fuzz_windows.py test/python/test_fuzz_dtypes.py

demo: $(STAMP) ## compile and time ResNet-18 and a GPT-2 block; the stages go to build/demo/
	@$(BIN)/python examples/demo.py

bench: $(BENCH_STAMP) ## mlopt beside its peers on the CPU, an hour (ARGS="--only softmax --quick", ARGS=--help)
	@$(BENCH_BIN)/python -P -m mlopt.bench $(ARGS)

docs: $(STAMP) ## write the pages that are made from the sources
	@$(BIN)/python -m mlopt.options > docs/options.md
	@$(BIN)/python -m mlopt.tools.opt_driver.reference > docs/passes.md

lint: $(STAMP) ## ruff and mypy
	@$(BIN)/python test/run.py lint

format: $(STAMP) ## let ruff lay out the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

clean: ## remove the environment and all that was built
	rm -rf .venv .venv-bench build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch first and by itself: its pin decides what all else is resolved against. No bytecode:
# compiling all of torch's takes half a minute, and what is used is compiled when it is imported.
$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: mlopt needs Python 3.11; say where it is: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "make: mlopt needs Python 3.11, $(PYTHON) is another version" >&2; exit 1; }
	@echo "setting up .venv (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --no-compile $(PIP_FLAGS) "torch==2.13.0" "setuptools>=77"
	@$(BIN)/python -m pip install -q --no-compile --no-build-isolation $(PIP_FLAGS) -e ".[dev]"
	@mkdir -p .venv/mypy && ln -sfn ../.. .venv/mypy/mlopt # the root by its package name, for mypy
	@touch $(STAMP)

# The peers have an environment of their own; one that does not install is named, and left out.
$(BENCH_STAMP): pyproject.toml bench/environment.py $(wildcard bench/peers/*.py)
	@command -v $(PYTHON) >/dev/null || { echo "make: mlopt needs Python 3.11; say where it is: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up .venv-bench (once)"
	@test -x $(BENCH_BIN)/python || $(PYTHON) -m venv .venv-bench
	@$(BENCH_BIN)/python -m pip install -q $(PIP_FLAGS) "torch==2.13.0" "setuptools>=77"
	@$(BENCH_BIN)/python -m pip install -q --no-build-isolation $(PIP_FLAGS) -e ".[bench]"
	@$(BENCH_BIN)/python -P -m mlopt.bench.environment $(PIP_FLAGS)
	@touch $(BENCH_STAMP)
