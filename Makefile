# Every target sets up what it needs from nothing; nothing is asked and nothing is left outside .venv.
#   make demo     the traffic monitor at work        (make demo DATA=conn.log.gz for a file of your own)
#   make test     every test and every doctest        (make test ARGS="-k window" for some)
#   make check    format, lint, types, layers, fast tests: what a change must pass
#   make fmt      rewrite the code in house format
#   make clean    remove what the tools have left; `rm -r .venv` for the environment

BIN   := .venv/bin
READY := .venv/.ready
BROWSER := .venv/.browser
CLASSES := .venv/.spark-classes.jsa
BYTECODE := .venv/.bytecode
ARGS  ?=
DATA  ?=
export DATA

# Packages of the system are waited for while those of Python are, and classes are kept meanwhile.
MAKEFLAGS += --jobs=3

.DEFAULT_GOAL := help
.PHONY: help demo test check fmt clean

help:
	@sed -n 's/^#   //p' Makefile

$(READY): pyproject.toml tools/setup
	@tools/setup .venv
	@touch $@

$(BROWSER): tools/setup
	@tools/setup .venv browser
	@touch $@

$(CLASSES): tests/java_classes.py $(READY)
	@echo 'setup: keeping the classes of Spark and Kafka for the tests (half a minute, once)'
	@$(BIN)/python -m tests.java_classes 2>.venv/.classes.log || { cat .venv/.classes.log; echo 'setup: tests do without'; }

# Four processes at once would each compile all modules.
$(BYTECODE): $(READY)
	@$(BIN)/pytest -q --collect-only >/dev/null 2>&1 || true  # what is wrong is said by the run itself
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/traffic/demo.py $(if $(DATA),"$$DATA") $(ARGS)

# Four processes, a file of tests to each at a time: servers and sessions are waited for, and fewer would leave a part of
# two cores idle. Files are taken in the order of tests/conftest.py, not by the number of their tests: the longest have one.
# A process that crashes ends the run: the file that it was at would crash the next one too, and the run never end.
# PYTEST_STATUS, of the environment, names a file for pytest's exit code: make knows only failure, and says so on a line of its own.
test: $(READY) $(BROWSER) $(CLASSES) $(BYTECODE)
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(ARGS); status=$$?; \
	if [ -n "$$PYTEST_STATUS" ]; then echo $$status > "$$PYTEST_STATUS"; else exit $$status; fi

check: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo 'format: run "make fmt"'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/pyright --warnings
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -q -m "not slow and not system" $(ARGS)

fmt: $(READY)
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

clean:
	@rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@rm -rf htmlcov .coverage .coverage.* spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
