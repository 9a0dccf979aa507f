# `make demo` and `make test` need Python 3.10 or newer with pip, and nothing else.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/bin
DEMO_TRACE ?= sample_traces/h200/py_alloc_sync.sqlite
PYTEST_ARGS ?=
MUTANTS ?= 400

.PHONY: mutation golden help demo test check format schema readme docs audit sbom clean

help:
	@echo 'make demo     analyze a bundled capture of an H200 and print the report'
	@echo 'make test     install what the tests need and run every check'
	@echo 'make check    every check again, in the virtual environment that is there'
	@echo 'make format   apply the formatter and the safe lint fixes'
	@echo 'make schema   write the JSON Schema of the analysis document again'
	@echo 'make readme   write the examples of README.md and the tutorial again'
	@echo 'make docs     build the documentation as a site in build/site'
	@echo 'make audit    ask for known vulnerabilities of what is installed'
	@echo 'make sbom     write a CycloneDX bill of materials, build/sbom.json'
	@echo 'make golden   write the analyses of the sample traces, the schema and the example again'
	@echo 'make mutation  plant small faults in timeline and waits and count those that the tests notice'
	@echo 'make clean    remove the virtual environment and the caches'

demo: $(VENV)/.installed
	@$(BIN)/stallscope analyze $(DEMO_TRACE)

test: $(VENV)/.installed-dev
	tools/apt-packages.sh
	NSYS="$$(tools/nsys.sh)"; export STALLSCOPE_NSYS="$${STALLSCOPE_NSYS:-$$NSYS}"; \
	[ -n "$$STALLSCOPE_NSYS" ] || unset STALLSCOPE_NSYS; \
	export OLD_NSYS="$$(for suite in bullseye bookworm; do NSYS_DEBIAN_SUITE=$$suite tools/nsys.sh; done)"; $(MAKE) --no-print-directory check

check:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/audit.py
	$(BIN)/pytest $(PYTEST_ARGS)

format:
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema:
	$(BIN)/python -m stallscope.schema.generate

golden: schema readme
	$(BIN)/python tools/golden.py

mutation:
	$(BIN)/python benchmarks/mutation.py cover
	$(BIN)/python benchmarks/mutation.py run --sample $(MUTANTS)
	$(BIN)/python benchmarks/mutation.py report

readme:
	$(BIN)/python tools/readme.py
	$(BIN)/python tools/tutorial.py

audit:
	$(BIN)/python tools/audit.py

sbom:
	@mkdir -p build
	$(BIN)/cyclonedx-py environment --output-reproducible --of JSON -o build/sbom.json $(BIN)/python

docs:
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/bin/python:
	tools/venv.sh $(VENV)

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev --editable '.[dashboard,cluster]'
	@touch $@

clean:
	rm -rf $(VENV) .nsys .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
