# empathia: `make run` does the main job, `make test` checks it; both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIGHT := $(VENV)/.installed-light

.PHONY: run setup check test test-all bench results docs clean browser

run: $(LIGHT) ## fetch what is missing, start the server, print the address of the page
	$(BIN)/empathia serve

setup: $(STAMP)

$(LIGHT): pyproject.toml constraints.txt # the default install: no torch, no tools for development
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[train,dev]'
	touch $(LIGHT) $@

browser: ## Chromium for the browser tests, from the system's packages
	@command -v chromium >/dev/null 2>&1 || { \
	  echo "installing Chromium for the browser tests"; \
	  apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	} || echo "WARNING: no Chromium and none could be installed: browser tests will be skipped (they fail in CI)"

check: setup ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup browser ## everything that takes under ten minutes
	$(BIN)/python -m pytest -m "not slow"

test-all: setup browser ## the slow ones too
	$(BIN)/python -m pytest

bench: setup ## speed, as ratios within one run, recorded on the board
	$(BIN)/python benchmarks/decoding_and_training.py --record

results: setup ## the board: every recorded figure beside the published one
	$(BIN)/empathia results

docs: setup ## rebuild the generated parts of docs/
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) build dist *.egg-info
