# Two commands for a fresh machine with Python 3.11 or newer: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test lint audit test-oldest bench-quick clean

demo: $(VENV)/demo
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n 2

# Check the committed results, and the tables and statements made from them.
audit: $(VENV)/dev
	$(BIN)/python -m pytest audits

# Style, types, the order of the layers, and complete docstrings of the public API.
lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_docstrings.py

# The tests with the oldest dependencies that pyproject.toml allows (Python 3.11).
test-oldest: $(OLDEST)/test
	$(OLDEST)/bin/python -m pytest -n 2

# Every benchmark end to end on small generated data, in a few minutes.
bench-quick: $(VENV)/dev
	BIN=$(BIN) benchmarks/quick.sh

# Environments are made once; a change of the pins or of pyproject.toml updates them.
$(VENV)/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/dev: $(VENV)/demo
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# Wheels only: versions that would have to be compiled are too old. Linters are not needed here.
$(OLDEST)/test: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --only-binary :all: --constraint constraints-oldest.txt \
	  --editable '.[all,dask]' distributed hypothesis polars pytest pytest-xdist triton
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) demo-output bench-quick bench-results build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
