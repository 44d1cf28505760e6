# Tidelog. `make` lists what there is; everything sets itself up on a fresh machine and a second run installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/pytest
KERNEL_SOURCES := $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '_*.h') setup.py
PYTHON_SOURCES := $(shell find src -name '*.py')

.DEFAULT_GOAL := help
.PHONY: help setup build lint format test test-unit test-spec test-scenarios test-spark test-interop test-faults \
        demo bench docs soak mutants wheel clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

# --- set-up -----------------------------------------------------------------------------------------------------

# What compiles and packs, and nothing else: a wheel needs no Spark.
$(VENV)/.build-tools:
	@tools/system_packages.sh cc venv headers
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip "setuptools>=77" wheel "cython>=3.1"
	@touch $@

$(VENV)/.dependencies: pyproject.toml | $(VENV)/.build-tools
	$(BIN)/pip install -q --no-build-isolation -e ".[dev]"
	@touch $@

$(VENV)/.kernel: $(VENV)/.dependencies $(KERNEL_SOURCES)
	$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

# Byte code for those who keep none themselves (PYTHONDONTWRITEBYTECODE): without it a start takes twice as long.
$(VENV)/.bytecode: $(VENV)/.kernel $(PYTHON_SOURCES)
	$(BIN)/python -m compileall -q src
	@touch $@

setup: $(VENV)/.bytecode  ## the environment in .venv, with the compiled kernel

build: setup  ## compile the kernel

.PHONY: oracle
oracle: setup
	@tools/system_packages.sh java javac mvn strace kcat
	@$(BIN)/python tools/kafka_jars.py

# --- tests ------------------------------------------------------------------------------------------------------

lint: setup  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint test-unit test-spec test-scenarios test-spark test-interop test-faults  ## everything that CI runs
	@echo "All parts passed."

test-unit: setup  ## units and properties (under two minutes)
	$(PYTEST) -q -n 2 tests/unit tests/property tests/contract

test-spec: setup  ## the specification, statement by statement
	$(PYTEST) -q tests/spec

test-scenarios: setup  ## readable scenario files
	$(PYTEST) -q tests/scenarios

test-spark: oracle  ## Spark source and sink
	$(PYTEST) -q tests/spark

# Two at a time, each file by one of them: most of the time somebody waits for somebody else's program to start.
test-interop: oracle  ## real clients and real Kafka
	$(PYTEST) -q -n 2 --dist loadfile tests/interop

test-faults: oracle  ## crashes, kills, full disks
	$(PYTEST) -q tests/faults

soak: oracle  ## the long forms of faults, properties, Spark and the comparison with Kafka
	$(PYTEST) -q --soak tests/faults tests/property tests/spark tests/interop/differential

mutants: setup  ## seeded faults, each of which must turn a test red
	$(BIN)/python tools/mutants.py

# --- the rest ---------------------------------------------------------------------------------------------------

demo: setup  ## a broker, events, a Spark pipeline over them, and its result
	@tools/system_packages.sh java
	@$(BIN)/python tools/demo.py

# raw_load.py is the load generator that the others use; builds.py wants a revision to compare with.
BENCHES := $(filter-out bench/raw_load.py bench/builds.py,$(sort $(wildcard bench/*.py)))

bench: oracle  ## side by side with Apache Kafka and other peers (QUICK=--quick: only to see that it runs)
	@for script in $(BENCHES); do echo "== $$script"; PYTHONPATH=tests $(BIN)/python $$script $(QUICK) || exit 1; done

docs: setup  ## render the generated reference pages
	@for script in tools/render_*.py; do $(BIN)/python $$script || exit 1; done

format: setup  ## put all files in form
	$(BIN)/ruff check -q --fix . ; $(BIN)/ruff format -q . ; $(BIN)/python tools/wrap_prose.py

wheel: $(VENV)/.build-tools  ## a wheel that installs without a compiler
	$(BIN)/pip wheel -q --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

clean:  ## remove what was built (not the caches of jars)
	rm -rf build dist .venv src/*.egg-info
	find src -name '*.so' -delete
