# Everything goes into .venv; PYTHON chooses the interpreter it is made with (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The publisher's code as others packaged it. Tests check the hashes of the two files they run.
ORACLES := clef-finetune==0.1.0 ollajev==0.4.0
ORACLE := .venv-oracle
RELEASED := tests/test_release.py tests/test_precision.py $(wildcard tests/backbones/test_qwen_*.py)

.PHONY: demo test test-slow soak browser clients oracle check bench deps wheel clean

demo: $(VENV)/base.stamp  ## answers questions about a ticket, a photo, a spoken order and a clip with sound
	$(BIN)/omniclef demo

test: deps  ## the fast tests
	$(BIN)/python -m pytest -q

test-slow: deps  ## the tests that take minutes
	$(BIN)/python -m pytest -q -m slow

soak: deps  ## servers under attack, killed and under load; networks of a real size
	$(BIN)/python -m pytest -q -m soak

browser: deps  ## the playground in headless Chromium (Debian package chromium)
	$(PIP) --group browser
	$(BIN)/python -m pytest -q -m browser

clients: deps  ## published clients in .venv-clients against a server with nano (node and npm for two of them)
	$(BIN)/python -m pytest -q -m clients

oracle: $(ORACLE)/oracle.stamp  ## released models beside the publisher's code with transformers' own processors (6 GB)
	PYTHONPATH=src $(ORACLE)/bin/python -m pytest -q $(RELEASED)
	PYTHONPATH=src:$(ORACLE)/oldest $(ORACLE)/bin/python -m pytest -q $(RELEASED)

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
	rm -rf $(VENV) $(ORACLE) .venv-clients build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/python.stamp:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	touch $@

$(VENV)/base.stamp: $(VENV)/python.stamp pyproject.toml
	$(PIP) --editable .
	touch $@

# One file of each oracle is run, and that needs none of what the packages require (torchvision, peft, ...).
$(VENV)/dev.stamp: $(VENV)/python.stamp pyproject.toml
	$(PIP) 'torch>=2.13,<2.14' --editable '.[quantized,serve,otel]' --group dev
	$(PIP) --no-deps --ignore-requires-python $(ORACLES)
	touch $@ $(VENV)/base.stamp

# The versions the released weights were made with, and beside them the oldest transformers that is supported.
$(ORACLE)/oracle.stamp: pyproject.toml
	$(PYTHON) -m venv $(ORACLE)
	$(ORACLE)/bin/python -m pip install --quiet torch==2.14.1 torchvision==0.29.1 transformers==5.21.1 --editable '.[quantized]' pytest
	$(ORACLE)/bin/python -m pip install --quiet --no-deps --ignore-requires-python $(ORACLES)
	$(ORACLE)/bin/python -m pip install --quiet --no-deps --target $(ORACLE)/oldest transformers==5.19.0
	touch $@
