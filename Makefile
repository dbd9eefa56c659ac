# Everything goes into .venv; PYTHON chooses the interpreter it is made with (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
HEAD_ORACLE := clef-finetune==0.1.0

.PHONY: demo test test-slow check bench deps wheel clean

demo: $(VENV)/base.stamp  ## answers questions about a ticket, a photo, a spoken order and a clip with sound
	$(BIN)/omniclef demo

test: deps  ## the fast tests
	$(BIN)/python -m pytest -q

test-slow: deps  ## the tests that take minutes
	$(BIN)/python -m pytest -q -m slow

check: deps  ## lint and types
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: deps  ## speed beside a peer
	$(BIN)/python benchmarks/nano.py

deps: $(VENV)/dev.stamp  ## the environment for development, with torch

wheel: deps  ## the package that users install, in dist/
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/python.stamp:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	touch $@

$(VENV)/base.stamp: $(VENV)/python.stamp pyproject.toml
	$(PIP) --editable .
	touch $@

# Only the oracle's head is compared with, and that needs none of what the package requires (torchvision, peft, ...).
$(VENV)/dev.stamp: $(VENV)/python.stamp pyproject.toml
	$(PIP) 'torch>=2.13,<2.14' --editable '.[torch]' --group dev
	$(PIP) --no-deps $(HEAD_ORACLE)
	touch $@ $(VENV)/base.stamp
