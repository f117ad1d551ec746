# Two commands matter: `make run` shows a demo vault, `make test` checks everything. Both set up what they need.

PYTHON ?= python3
BIN := .venv/bin
export UV_COMPILE_BYTECODE := 1
export UV_NO_PROGRESS := 1
export UV_SYSTEM_CERTS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export LANCE_LOG := error

.PHONY: run setup test lint types floors drift plugin test-py test-slow nightly bench schema clean

run: .stamps/python
	@bash fixtures/demo.sh

setup: .stamps/python .stamps/node

.stamps/python: uv.lock pyproject.toml
	@mkdir -p .stamps
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet "uv>=0.9"
	@$(BIN)/uv sync --quiet --frozen --all-groups
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q vir_core
	@touch $@

.stamps/node: obsidian-plugin/package-lock.json
	@mkdir -p .stamps
	cd obsidian-plugin && npm ci --no-audit --no-fund
	@touch $@

test: setup lint types floors drift plugin test-py

lint: .stamps/python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .stamps/python
	$(BIN)/pyright

floors: .stamps/python
	$(BIN)/lint-imports

drift: .stamps/python
	$(BIN)/vir_core schema --check

schema: .stamps/python
	$(BIN)/vir_core schema

plugin: .stamps/node .stamps/python
	cd obsidian-plugin && npm run lint && npm run typecheck && npm test && npm run build

test-py: .stamps/python
	$(BIN)/python -m pytest -n 2 -m "not slow and not nightly"

test-slow: .stamps/python
	$(BIN)/python -m pytest -n 2 -m "not nightly"

nightly: .stamps/python
	VIR_TEST_SCALE=1 $(BIN)/python -m pytest -n 2

bench: .stamps/python
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q vir_core
	$(BIN)/python -m bench

clean:
	rm -rf .venv .stamps obsidian-plugin/node_modules obsidian-plugin/main.js demo-vault
