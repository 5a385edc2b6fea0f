# What people and CI run. `make` alone tells what there is.
#
# Everything is installed into .venv (packages) and .peers (real servers to test against); `make clean` removes both.

PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
SOURCES := pyrepl cli bench tests

.DEFAULT_GOAL := help
.PHONY: help demo test matrix bench lint format peers clean

help:
	@echo "make demo     a master, a replica, a cut and its healing, on this machine, in a minute"
	@echo "make test     all tests but the full-size ones"
	@echo "make matrix   interop with real servers at full size, and every sync broken at every point"
	@echo "make bench    figures against Redis 8.2, side by side (BENCH='commands fullsync rdbchannel', ROUNDS=3, SCALE=1)"
	@echo "make lint     ruff, mypy --strict, import rules"
	@echo "make format   ruff, rewriting"
	@echo "make clean    remove .venv and .peers"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pyrepl needs Python 3.11 or later: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "No venv module here; on Debian: apt-get install python3-venv"; exit 1; }

.venv/.installed: $(BIN)/python setup.cfg
	$(BIN)/pip install -q --disable-pip-version-check -e .
	@touch $@

.venv/.for-tests: .venv/.installed
	$(BIN)/pip install -q --disable-pip-version-check -e '.[test]'
	@touch $@

peers: .venv/.for-tests
	$(BIN)/python -m tests.peers.finder

demo: .venv/.installed
	$(BIN)/python -m bench.demo

test: peers
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

matrix: peers
	$(BIN)/python -m pytest -m matrix -n $(WORKERS) --dist worksteal

.venv/.for-bench: .venv/.for-tests
	$(BIN)/pip install -q --disable-pip-version-check -e '.[bench]'
	@touch $@

BENCH ?= commands fullsync rdbchannel
ROUNDS ?= 3
SCALE ?= 1
bench: peers .venv/.for-bench
	$(BIN)/python -m bench $(BENCH) --rounds $(ROUNDS) --scale $(SCALE)

lint: .venv/.for-tests
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.for-tests
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:
	rm -rf .venv .peers
