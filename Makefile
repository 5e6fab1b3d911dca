# Two commands for a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test audit lint bench-quick clean

demo: $(VENV)/demo
	$(BIN)/python examples/demo.py

test: $(VENV)/test lint
	$(BIN)/python -m pytest -n 2

# Check the committed results, and the tables and statements made from them.
audit: $(VENV)/test
	$(BIN)/python -m pytest audits

# Run every benchmark on small synthetic data, in a few minutes.
bench-quick: $(VENV)/test
	BIN=$(BIN) benchmarks/quick.sh

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Environments are made once; a change of the pins or of pyproject.toml makes them anew.
$(VENV)/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/test: $(VENV)/demo
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,lint]'
	touch $@

clean:
	rm -rf $(VENV) demo-output bench-quick bench-results .pytest_cache .mypy_cache .ruff_cache
