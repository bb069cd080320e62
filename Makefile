# SPDX-License-Identifier: Apache-2.0 OR MIT
# Tasks. The work itself lives in cargo, pytest and the `perigee` command.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Everything that the extension is built from.
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
PYTHON_SOURCES := python orbcc studies tests docs examples bench .ci/budget .ci/dist .ci/links .ci/subjects
DEMO := runs/demo
# The agent of hosts in real time, which wheels carry.
AGENT := python/perigee_lab/hosts/perigee-hosts
AGENT_SOURCES := $(wildcard $(addprefix python/perigee_lab/hosts/agent/,*.c *.h namespaces/*.c namespaces/*.h))

.PHONY: help setup agent demo kernel gateway hosts capi install deb ebpf test learn cluster slow shipped check bench fuzz coverage kills faults conserve mutants figures docs site dist format vendor clean guards words

help:  ## List the tasks
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(VENV)/installed  ## Build and install into .venv, with what tests and lints need
	@$(MAKE) --no-print-directory agent || echo "without the agent (make agent) there are no hosts in real time"

agent: $(AGENT)  ## Compile the agent of hosts in real time (a C compiler, on Linux)

$(AGENT): $(AGENT_SOURCES)
	$(CC) -O2 -Wall -Wextra -s -o $@ $(filter %.c,$^)

# The first build compiles while pip fetches.
$(VENV)/maturin: requirements.hashes
	$(PYTHON) -m venv $(VENV)
	sed -nE '/^(maturin|tomli)==/,/[^\\]$$/p' requirements.hashes > $(VENV)/first.hashes
	$(PIP) --require-hashes -r $(VENV)/first.hashes
	touch $@

$(VENV)/requirements: $(VENV)/maturin
	$(PIP) --require-hashes -r requirements.hashes
	touch $@

$(VENV)/extension: $(VENV)/maturin $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --skip-install
	touch $@

$(VENV)/built: requirements.hashes $(SOURCES)
	$(MAKE) --no-print-directory -j2 $(VENV)/requirements $(VENV)/extension
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked
	touch $@

# The simulator alone: a cold demo compiles neither real hosts and captures nor learning.
$(VENV)/simulator: requirements.hashes $(SOURCES)
	$(MAKE) --no-print-directory -j2 $(VENV)/requirements $(VENV)/simulator-extension
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --no-default-features
	touch $@

$(VENV)/simulator-extension: $(VENV)/maturin $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --no-default-features --skip-install
	touch $@

$(VENV)/tools: $(VENV)/requirements requirements-dev.hashes
	$(PIP) --require-hashes -r requirements-dev.hashes
	touch $@

$(VENV)/installed: $(VENV)/built $(VENV)/tools studies/pyproject.toml
	$(PIP) --no-deps --no-build-isolation -e studies
	touch $@

demo: $(if $(wildcard $(VENV)/built),$(VENV)/built,$(VENV)/simulator)  ## Run London to New York with three schemes and write its report
	$(BIN)/perigee run scenarios/leo/london-new-york.toml --out $(DEMO) --force
	@echo "open $(abspath $(DEMO))/report.html"

kernel: setup  ## Build the Linux kernel of real hosts into the user's cache (some minutes, once)
	$(BIN)/perigee kernel build

gateway: $(VENV)/maturin  ## Build the gateway that splits connections (perigee gateway), into .venv/bin
	cargo build --release --locked -p perigee-gateway
	install -m 755 target/release/perigee-gateway target/release/perigee-delay-line $(BIN)/

hosts: kernel  ## The tests of real hosts
	$(BIN)/python -m pytest -q tests/hosts/test_hosts*.py tests/hosts/test_why_hosts.py tests/hosts/test_exec.py

capi:  ## The controllers for C (libperigee_cc), into target/release
	cargo build --release --locked -p perigee-capi

install: capi  ## The controllers for C into PREFIX (/usr/local), with a file for pkg-config
	crates/perigee-capi/install.sh

deb: capi  ## The controllers for C as Debian packages, in build/deb (needs dpkg-deb)
	crates/perigee-capi/deb.sh

ebpf:  ## OrbCC for Linux's own TCP (needs clang), into build/orbcc
	$(MAKE) --no-print-directory -C orbcc

test: setup  ## Quick tests, Rust and Python: at most ten minutes on two cores, once built
	cargo test --locked --quiet --tests
	cargo test --locked --quiet --doc
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow and not alone"
	$(BIN)/python -m pytest -q -m "alone and not slow"

learn: setup  ## The extra "learn" (Gymnasium, PettingZoo) into .venv, and its tests
	$(PIP) --require-hashes -r requirements-learn.hashes
	$(BIN)/python -m pytest -q tests/learn/test_learn.py tests/learn/test_weights.py

cluster: setup  ## The extra "cluster" (Dask, object stores) into .venv, and its tests
	$(PIP) --require-hashes -r requirements-cluster.hashes
	$(BIN)/python -m pytest -q tests/runs/test_cluster.py tests/runs/test_cluster_trust.py

slow: setup  ## The tests that `make test` leaves out
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow and not release and not alone"
	$(BIN)/python -m pytest -q -m "slow and alone and not release"

shipped: setup .venv-site/installed  ## The tests of what a release consists of, with the wheel of `make dist`
	PERIGEE_DIST=dist $(BIN)/python -m pytest -q -m "slow" tests/repository/test_install.py tests/repository/test_site.py tests/repository/test_pages.py

check: setup  ## Formatting, lints, types, links, spelling, subjects of commits
	.ci/subjects
	.ci/links
	.ci/deny
	$(BIN)/typos
	$(BIN)/python tests/words.py --changed
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy -p perigee-py --no-default-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --exclude perigee-py --locked
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest perigee_lab._core --mypy-config-file pyproject.toml

bench: setup  ## The speed table
	$(BIN)/perigee bench

vendor:  ## Bundle the libraries of the globe anew (needs npm)
	cd web && npm ci --silent --ignore-scripts && npm run --silent bundle

fuzz: setup  ## A million damaged inputs for each parser and codec
	cargo run --release --locked -p perigee-fuzz -- all 1000000
	$(BIN)/python tests/fuzz_logs.py 1000000
	$(BIN)/python tests/fuzz_readers.py 100000

coverage: setup  ## Inputs guided by coverage for each parser and codec, two minutes of CPU time each (needs a C++ compiler)
	$(BIN)/python tests/fuzz_coverage.py 120

faults: setup  ## A hundred kills of commands at random times, and sixty full disks
	$(BIN)/python examples/faults.py kills 100
	$(BIN)/python examples/faults.py full 60

kills: setup  ## Kills each part of runs with real hosts, 50 times by each clock, and counts what is left
	$(BIN)/python examples/kills.py

conserve:  ## A thousand million packets over random networks: none may be lost without a reason
	cargo run --release --locked -p perigee-sim --example conservation -- 1000000000

guards: setup  ## Table hashes of every shipped scenario against tests/guards.json: a refactoring keeps them
	$(BIN)/python tests/guards.py

words: $(VENV)/tools  ## Rates of words to avoid in comments, against two other network stacks
	$(BIN)/python tests/words.py

mutants: $(VENV)/tools  ## Small faults that the Rust tests must notice (hours; goes on where it was)
	$(BIN)/python tests/mutants.py

figures: demo  ## Draw the figure of the README from the demo's record
	$(BIN)/python docs/make/figures.py $(DEMO)

docs: setup  ## API documentation of the crates, references of scenario files, congestion controls and queues
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --exclude perigee-py --locked
	$(BIN)/python docs/make/scenario_pages.py
	$(BIN)/perigee schema > docs/reference/scenario.schema.json
	$(BIN)/python docs/make/schemes.py
	$(BIN)/perigee columns --markdown > docs/reference/columns.md
	$(BIN)/python docs/make/disciplines.py
	$(BIN)/python docs/make/record_tables.py
	$(BIN)/python docs/make/demand_tables.py
	$(BIN)/python docs/make/kernel.py
	$(BIN)/python docs/make/orbcc_module.py
	$(BIN)/python docs/make/unsafe.py
	$(BIN)/python docs/make/inet.py

.venv-site/installed: requirements-site.hashes
	$(PYTHON) -m venv .venv-site
	.venv-site/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-site.hashes
	touch $@

site: setup .venv-site/installed  ## The documentation site, in site/: open site/index.html, without a server or a network
	$(BIN)/python docs/make/site.py build/site-source .venv-site/bin/mkdocs

dist: setup  ## Crates, sdist and wheels of a release, in dist/ (PARTS="crates sdist wheel", or targets of rustc)
	$(PIP) --require-hashes -r requirements-dist.hashes
	$(BIN)/python .ci/dist $(PARTS)

format: $(VENV)/tools  ## Format everything
	cargo fmt --all
	$(BIN)/ruff format $(PYTHON_SOURCES)
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)

clean:  ## Remove what was built
	rm -rf target $(VENV) .venv-site build dist site
