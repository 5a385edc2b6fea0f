# What people and CI run. `make` alone tells what there is.
#
# Everything is installed into .venv (packages) and .peers (real servers to test against); `make clean` removes both.
# The hot modules (pyproject.toml, [tool.pyrepl.kernels]) are compiled where there is a C compiler, and again whenever
# one of them changes; with PYREPL_PURE=1 in the environment they run as they are written.

PYTHON ?= python3
BIN := .venv/bin
# More than there are cores on the machines that CI has (2): tests of servers mostly wait for them.
WORKERS ?= 5
SOURCES := pyrepl cli bench manual release tests examples setup.py setup_shown.py
FORM := $(if $(filter-out 0,$(PYREPL_PURE)),pure,compiled)
LIST_KERNELS := import tomllib; \
	tools = tomllib.load(open("pyproject.toml", "rb"))["tool"]["pyrepl"]["kernels"]; \
	print(*(name.replace(".", "/") + ".py" for names in tools.values() for name in names))
KERNELS := $(shell $(PYTHON) -c '$(LIST_KERNELS)' 2>/dev/null) $(wildcard pyrepl/*/*.pxd pyrepl/*/*/*.pxd)
# Byte code is kept, whatever the environment says: without it every worker of every run of pytest compiles all tests anew,
# which takes a quarter of a minute.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/pip install -q --disable-pip-version-check

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo demo-mailboxes build test test-pure matrix simulate fuzz bench lint format site man picture changelog dist fresh peers clean

help:
	@echo "make demo     a master, a replica, a cut and its healing, on this machine, in a minute"
	@echo "make demo-mailboxes  three nodes with one mailbox, two writers at once, a node pulled out and put back"
	@echo "make build    compile the hot modules, or with PYREPL_PURE=1 run them as they are written"
	@echo "make test     all tests but the full-size ones"
	@echo "make test-pure  on the pure form, those that say more there: all that reach a compiled module (tests/forms.py)"
	@echo "make matrix   interop with real servers at full size, every sync broken at every point, a node killed at every step"
	@echo "make simulate  seeded histories on a bad network: 5,000 of replication, 100,000 of mailboxes, an hour on two cores"
	@echo "              (SEEDS=1000 for so many of each; FIRST=n to begin there, or repeat one)"
	@echo "make fuzz     hostile snapshots, edits, requests, streams and masters, the compiled form under AddressSanitizer"
	@echo "              (MINUTES=60 for all; TARGET=edits for one; SEED=n with TARGET to repeat a case; FIRST=n to begin there)"
	@echo "make bench    figures against Redis 8.2, side by side (BENCH='commands start', ROUNDS=5, SCALE=1; default all)"
	@echo "make lint     ruff, mypy --strict, import rules"
	@echo "make format   ruff, rewriting"
	@echo "make site     the manual as a site, in build/manual/site"
	@echo "make man      pages for man(1), in build/manual/man"
	@echo "make picture  the picture of README.md, anew"
	@echo "make dist     a release, in dist/: sdist and wheel, built twice to the same bytes, and an SBOM"
	@echo "make changelog  what is in changelog.d goes into CHANGELOG.md, for a release"
	@echo "make fresh    the demo, and the ways to install, on bare roots of Debian 12, 13 and Ubuntu 24.04 (SUITES, STEPS;"
	@echo "              STEPS=all: make test too, on Debian), and the set-up of mailboxes on two machines (STEPS=mailboxes)"
	@echo "make clean    remove .venv and .peers"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pyrepl needs Python 3.11 or later: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(PYTHON) -m tests.peers.debian python3-venv
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# Packages first, always pure and quick; the form comes last, so that nothing is compiled twice.
.venv/.installed: $(BIN)/python setup.cfg
	@rm -f .venv/.form-*
	PYREPL_PURE=1 $(PIP) -e .
	@touch $@

.venv/.for-tests: .venv/.installed
	@rm -f .venv/.form-*
	PYREPL_PURE=1 $(PIP) -e '.[test]'
	@touch $@

.venv/.for-bench: .venv/.for-tests
	@rm -f .venv/.form-*
	PYREPL_PURE=1 $(PIP) -e '.[bench]'
	@touch $@

.venv/.form-$(FORM): .venv/.installed setup.py pyproject.toml $(KERNELS)
	@rm -f .venv/.form-*
	@$(BIN)/python setup_shown.py .venv/build.log $(BIN)/pip install -v --disable-pip-version-check --no-deps -e .
	@$(BIN)/pyrepl --version >$@.new && cat $@.new && mv $@.new $@

# Byte code as well, as pip makes it of a wheel: without it a start takes twice as long, and where
# PYTHONDONTWRITEBYTECODE is set no start would ever leave it. Only what changed is compiled again.
build: .venv/.form-$(FORM)
	@$(BIN)/python -m compileall -q pyrepl cli

# All that the tests need besides packages of Python: real servers, Java, PostgreSQL, a compiler. What was built before
# there was a compiler, is built again.
peers: .venv/.for-tests
	$(BIN)/python -m tests.peers.finder
	@grep -qs '(compiled)' .venv/.form-compiled || rm -f .venv/.form-compiled

demo: build
	$(BIN)/python -m bench.demo

demo-mailboxes: build
	$(BIN)/python -m bench.demo_mailboxes

test: peers build
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20

test-pure: export PYREPL_PURE := 1
test-pure: peers
	$(MAKE) build
	files=$$($(BIN)/python -m tests.forms) && \
		$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $$files

matrix: peers build
	$(BIN)/python -m pytest -m matrix -n $(WORKERS) --dist worksteal
	$(BIN)/python -m pytest -m 'not matrix' -n $(WORKERS) --dist worksteal tests/interop/test_dovecot_*.py
	$(BIN)/python -m pytest --hypothesis-profile explore -n $(WORKERS) --dist worksteal \
		$$(grep -rl '^from hypothesis' tests --include='test_*.py')

SEEDS ?= 5000
MAILBOX_SEEDS ?= $(if $(filter file,$(origin SEEDS)),100000,$(SEEDS))
simulate: .venv/.for-tests build
	$(BIN)/python -m tests.simulation.many --seeds $(SEEDS) --workers $(WORKERS) $(if $(FIRST),--first $(FIRST))
	$(BIN)/python -m tests.simulation.mailbox.many --seeds $(MAILBOX_SEEDS) --workers $(WORKERS) $(if $(FIRST),--first $(FIRST))

# Compiled once more, with the sanitizer, into build/fuzz: what is installed stays as it is.
MINUTES ?= 60
fuzz: .venv/.for-tests
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(if $(TARGET),--target $(TARGET)) $(if $(SEED),--seed $(SEED)) \
		$(if $(FIRST),--first $(FIRST))

BENCH ?=
ROUNDS ?= 5
SCALE ?= 1
bench: peers .venv/.for-bench build
	$(BIN)/python -m bench $(BENCH) --rounds $(ROUNDS) --scale $(SCALE)

lint: .venv/.for-tests
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/.for-site: .venv/.installed docs/requirements.txt
	$(PIP) -r docs/requirements.txt
	@touch $@

# Strict: a link that leads nowhere fails it. The variable is for a notice about MkDocs 2 in each run.
site: .venv/.for-site
	@rm -rf build/manual/pages
	$(BIN)/python -m manual.site build/manual/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

man: .venv/.installed
	$(BIN)/python -m manual.man build/manual/man

# What README.md shows, drawn of real servers.
picture: peers build
	$(BIN)/python -m manual.picture docs/images/status.svg

.venv/.for-dist: .venv/.installed release/requirements.txt
	$(PIP) -r release/requirements.txt
	@touch $@

# In dist/: the sdist and a wheel for this machine. What goes with a release and cannot be run here is linted.
dist: .venv/.for-dist
	$(BIN)/hadolint Containerfile
	$(BIN)/kubernetes-validate --strict --quiet examples/kubernetes/pyrepl.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/release.yml
	$(BIN)/zizmor --offline --quiet .github/workflows/release.yml
	$(BIN)/python -m release dist

# Before the tag of a release: gathers changelog.d into CHANGELOG.md, under the version of pyrepl/__init__.py.
changelog: .venv/.for-dist
	$(BIN)/towncrier build --yes --version $$($(BIN)/python -c 'import pyrepl; print(pyrepl.VERSION)')

# Roots of Debian 12 and 13 and Ubuntu 24.04, in build/fresh; as root. STEPS and SUITES choose: tests/fresh/__main__.py has what there is.
STEPS ?=
SUITES ?= bookworm trixie noble
fresh: .venv/.for-tests
	$(BIN)/python -m tests.fresh $(STEPS) --suites $(SUITES)

format: .venv/.for-tests
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

clean:
	rm -rf .venv .peers build dist pyrepl/kernels.json
	find pyrepl -name '*.so' -delete
