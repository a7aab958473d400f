# Everything that a person or CI does with this repository. `make` alone lists it.
#
# Variables: PYTHON (3.11 or newer), WORKERS (test processes), PYTEST_ARGS (more arguments for pytest),
# BENCH_ARGS (more for the benchmark), DEMO (the folder of the demo's workspace).

PYTHON ?= $(shell command -v python3.11 || command -v python3)
WORKERS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=
SCRATCH := .stackproof/demo
DEMO ?= $(SCRATCH)

BIN := .venv/bin
# On a terminal pip shows its progress; elsewhere it says only what goes wrong.
PIP := $(BIN)/python -m pip install --disable-pip-version-check $(shell test -t 2 || echo --quiet)
PYTEST := $(BIN)/python -m pytest $(PYTEST_ARGS)

# $(call need,TOOL:PACKAGE …) ends the recipe with the install command when a tool is missing.
need = @missing=; for pair in $(1); do command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair\#\#*:}"; done; \
	if [ -n "$$missing" ]; then echo "error: $@ needs more packages; install them: sudo apt-get install$$missing" >&2; exit 2; fi

.DEFAULT_GOAL := help
.PHONY: help demo test lint format site test-engines test-browser test-faults bench-traces bench-smoke bench-telemetry bench-verdicts bench-agreement clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

demo: .venv/.run ## run the example benchmark in a scratch workspace and build its site (under 5 minutes)
	$(call need,git:git)
	@if [ "$(DEMO)" = "$(SCRATCH)" ]; then rm -rf "$(SCRATCH)"; fi
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh -euc '\
		step() { printf "\n$$ %s\n" "$$1"; eval "$$1"; }; \
		step "stackproof init $(DEMO) --example cpu-training"; \
		step "cd $(DEMO)"; \
		step "stackproof collect cpu-training --profile demo"; \
		step "stackproof query \"SELECT stack, role, state, reason, count(*) AS runs FROM runs GROUP BY ALL ORDER BY ALL\""; \
		step "stackproof compare cpu-training"; \
		step "stackproof build"; \
		printf "\nThe site is ready: open file://%s/site/index.html\n" "$$PWD"; \
		printf "To use stackproof in this shell: . %s/$(BIN)/activate\n" "$(CURDIR)"'

test: lint ## lint, types, one-way imports and all tests that need nothing but Python
	$(PYTEST) -n $(WORKERS) -m "not engines and not browser and not faults"

lint: .venv/.dev ## ruff, mypy and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

site: .venv/.run ## build the site of this repository's own evidence into site/
	$(BIN)/stackproof build --strict

test-engines: .venv/.engines ## launch torch, DeepSpeed, vLLM, llama.cpp and transformers (ten minutes, 8 GB of disk)
	$(call need,g++:g++)
	$(PYTEST) -m "torch or engines"

test-browser: .venv/.dev ## open the built site in a real Chromium
	$(call need,chromium:chromium)
	$(PYTEST) -m browser

test-faults: .venv/.dev ## kill sealing at every system call, fail and fill the disk, fake a GPU driver
	$(call need,strace:strace unshare:util-linux mount:mount gcc:gcc)
	$(PYTEST) -n $(WORKERS) -m faults

bench-traces: .venv/.dev ## how fast traces are read, beside other readers of the same files (half an hour, 4 GB of disk)
	$(BIN)/python tests/performance/trace_reading.py --memory-limit 1GiB $(BENCH_ARGS)

bench-smoke: .venv/.dev ## both in short, on a small trace: do they run, are the answers right (under a minute)
	$(BIN)/python tests/performance/trace_reading.py --smoke --events 1e5 $(BENCH_ARGS)
	$(BIN)/python tests/performance/telemetry_overhead.py --smoke
	$(BIN)/python tests/performance/verdict_simulation.py --smoke
	$(BIN)/python tests/performance/crossing_simulation.py --smoke

bench-telemetry: .venv/.dev ## what sampling telemetry costs the job beside it (two minutes)
	$(BIN)/python tests/performance/telemetry_overhead.py $(BENCH_ARGS)

bench-verdicts: .venv/.dev ## whether verdicts hold their error rates, by simulation (a minute)
	$(BIN)/python tests/performance/verdict_simulation.py $(BENCH_ARGS)
	$(BIN)/python tests/performance/crossing_simulation.py

bench-agreement: .venv/.dev ## whether Holistic Trace Analysis says the same of GPU traces; STACKPROOF_SHARED adds real ones
	$(BIN)/python tests/performance/trace_agreement.py $(BENCH_ARGS)

clean: ## remove what can be made again: environment, caches, built sites
	rm -rf .venv .stackproof site build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say which extras are installed. The second needs the first, so that pip never runs twice at once; the lock
# holds that line between two makes.
.venv/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
		{ echo "error: Python's venv is missing; install it: sudo apt-get install python3-venv" >&2; exit 2; }
	@echo "Installing stackproof with torch into .venv (about 1.3 GB on disk, once) …"
	@mkdir -p .venv
	flock .venv sh -euc 'test -x $(BIN)/pip || $(PYTHON) -m venv .venv; $(PIP) --editable ".[torch]"'
	@touch $@

.venv/.dev: .venv/.run
	flock .venv $(PIP) --editable ".[torch,dev]"
	@touch $@

# The servers get environments of their own, made by their adapters.
.venv/.engines: .venv/.dev
	flock .venv $(PIP) --editable ".[torch,deepspeed,dev]"
	@touch $@
