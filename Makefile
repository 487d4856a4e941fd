# xapp-operator. `make help` lists the targets; every one of them makes .venv ready first when it needs it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

BIN := .venv/bin

# make run
CLUSTER ?= local
AUTH ?= none
XAPP_PORT ?= 31315

# make test
WORKERS ?= $(shell nproc)
PYTEST_ARGS ?=
# Files of a folder one after the other, so that they share its clusters; the short ones last, so that no worker waits.
IN_ORDER := --dist loadfile --no-loadscope-reorder

# make lock
UPGRADE ?=

# make image, make image-archive, make deploy
IMAGE ?= xapp-operator:dev
ARCHIVE ?= dist/image.tar
OVERLAY ?= development

##@ General

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target>" } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: venv ## Everything on this machine, with two sample xApps (CLUSTER=local|kind|current NODE=simulated|real|auto AUTH=none|kubernetes XAPP_PORT=31315).
	@exec $(BIN)/python -m tests.localrun --cluster $(CLUSTER) --auth $(AUTH) --port $(XAPP_PORT)

.PHONY: clean
clean: ## Remove what runs and tests leave behind; .venv and the tools in the user's cache stay.
	@if [[ -x $(BIN)/python ]]; then $(BIN)/python -m tests.localcluster down; fi
	@rm -rf .local .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist build
	@find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Development

.PHONY: venv
venv: ## Make .venv ready: Python 3.11 or newer (PYTHON=…), locked packages.
	@PYTHON="$(PYTHON)" hack/venv

.PHONY: tools
tools: venv ## Fetch or build the programs for the local cluster (once per machine).
	@$(BIN)/python -m tests.localcluster tools

.PHONY: format
format: venv ## Format the code and mend what the linter can mend.
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: crds
crds: venv ## Generate crds/ from the models in operator/xapp_operator/api.
	@$(BIN)/python -m xapp_operator.api.crds crds

.PHONY: lock
lock: venv ## Write requirements.lock and requirements-dev.lock from pyproject.toml (needs uv; UPGRADE=--upgrade for new versions).
	@PATH="$(BIN):$$PATH"; compile="uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header"; \
	  $$compile $(UPGRADE) pyproject.toml -o requirements.lock; \
	  $$compile $(UPGRADE) pyproject.toml --group dev -o requirements-dev.lock

##@ Test

.PHONY: test
test: lint types imports ## Everything: lint, types, imports, unit, integration and e2e tests. Needs no Docker, cluster or root.
	@$(BIN)/pytest -n $(WORKERS) $(IN_ORDER) $(PYTEST_ARGS) tests/e2e tests/integration tests/unit

.PHONY: test-unit
test-unit: venv ## The tests that need no cluster.
	@$(BIN)/pytest $(PYTEST_ARGS) tests/unit

.PHONY: test-integration
test-integration: venv ## The tests against a real API server and the real helm (CLUSTER=local|kind|current).
	@CLUSTER=$(CLUSTER) $(BIN)/pytest -n $(WORKERS) $(IN_ORDER) $(PYTEST_ARGS) tests/integration

.PHONY: test-deep
test-deep: venv ## The property and fuzz tests with many random examples (for a nightly run; PYTEST_ARGS=tests/unit without a cluster).
	@$(BIN)/pytest -n $(WORKERS) --hypothesis-profile=deep --timeout=0 -m 'hypothesis or fuzz' $(PYTEST_ARGS)

.PHONY: lint
lint: venv ## Style (ruff).
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: venv ## Types (mypy --strict).
	@$(BIN)/mypy

.PHONY: imports
imports: venv ## Layers (import-linter).
	@$(BIN)/lint-imports

.PHONY: bench
bench: venv ## Measure what the design promises (tests/bench).
	@for file in tests/bench/*_bench.py; do $(BIN)/python -m "tests.bench.$$(basename "$$file" .py)"; done

##@ Build

.PHONY: image
image: ## Build the container image (needs Docker; IMAGE=xapp-operator:dev).
	@docker build --tag $(IMAGE) .

.PHONY: image-archive
image-archive: venv ## The same image without Docker, from the interpreter of .venv, as an archive (ARCHIVE=dist/image.tar IMAGE=…).
	@$(BIN)/python -m tests.localcluster.appimage --name $(IMAGE) --output $(ARCHIVE)

.PHONY: sample-image
sample-image: venv ## Build the image of the sample xApps without Docker and print where it lies.
	@$(BIN)/python -m tests.localrun.image

##@ Deploy

.PHONY: deploy
deploy: ## Apply an overlay of manifests/ to the current cluster (OVERLAY=development|high-availability).
	@kubectl apply --server-side -k manifests/overlays/$(OVERLAY)

.PHONY: undeploy
undeploy: ## Remove it again; refused while there are XApps, which only a running operator can remove.
	@xapps=$$(kubectl get xapps --all-namespaces --output name --ignore-not-found); \
	  if [[ -n $$xapps ]]; then echo "error: delete these first:" $$xapps >&2; exit 1; fi
	@kubectl delete --ignore-not-found -k manifests/overlays/$(OVERLAY)
