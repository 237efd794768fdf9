# The first two lines of the README: everything is set up in .venv when it is first needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SET := labelled_pairs/support_desk
CALIBKIT := $(BIN)/calibkit

.PHONY: calibrate lab test check clean

calibrate: $(VENV)/ready
	$(CALIBKIT) calibrate $(SET) --scorer token_recall_f1 --precision 0.9 --locale en_US --out out/policy.yaml --report out/report.html
	$(CALIBKIT) grade $(SET) --policy out/policy.yaml --out out/verdicts.jsonl

test: $(VENV)/ready
	$(BIN)/python -m pytest -q

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lab: $(VENV)/ready
	$(CALIBKIT) lab

# requirements.lock holds every version; PIP_ARGS may name another index, for example PyTorch's of CPU builds.
$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "calibkit needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo 'setting up $(VENV): some minutes the first time'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) out
