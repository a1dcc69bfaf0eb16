# `make demo` and `make test` do all the set-up that a fresh clone needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all coverage browser check format docs bench clean

demo: $(VENV)/.installed
	$(BIN)/evolute run cartpole --new
	$(BIN)/evolute report "$$(ls -td runs/cartpole-* | head -n 1)" -o demo.html

# Two processes share the tests by file. `make test` leaves out what is marked slow, `make test-all` runs everything.
TEST := $(BIN)/pytest -n 2 --dist loadfile

test: $(VENV)/.installed-dev
	$(TEST) -m "not slow"

test-all: $(VENV)/.installed-dev browser
	$(TEST)

coverage: $(VENV)/.installed-dev
	$(TEST) -m "not slow" --cov=evolute --cov-report=term:skip-covered


# The tests of pages need a Chromium; where it cannot be installed they are skipped and say so.
browser:
	@command -v chromium chromium-browser >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	  || echo "no Chromium: the tests of pages will be skipped"

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, in site/; once everything is installed, this needs no network.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/overhead.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache
