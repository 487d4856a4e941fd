# `make help` lists the targets. A target that needs .venv sets it up first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
# Images of Python often set it. Then every gateway, operator and command that a test starts compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin

# make run
CLUSTER ?= local
AUTH ?= none
XAPP_PORT ?= 31315

# make test, make mutate
WORKERS ?= $(shell nproc)
PYTEST_ARGS ?=
# Runs the files of a folder one after the other, so that they share its clusters. The short files come last, so that no
# worker waits for a long one at the end.
IN_ORDER := --dist loadfile --no-loadscope-reorder

# make chaos, make mutate
SEED ?=
ROUNDS ?= 20

# make mutate
SAMPLE ?= 100
MODULES ?=

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
run: venv ## Run everything on this machine, with two sample xApps (CLUSTER=local|kind|current NODE=simulated|real|auto AUTH=none|kubernetes XAPP_PORT=31315).
	@exec $(BIN)/python -m tests.localrun --dashboard --cluster $(CLUSTER) --auth $(AUTH) --port $(XAPP_PORT)

.PHONY: doctor
doctor: ## Tell what this machine lacks for `make run`, `make test`, a real node and Docker, and how to install it on Debian.
	@hack/doctor

.PHONY: clean
clean: ## Remove what runs and tests leave behind; .venv and the tools in your cache stay.
	@if [[ -x $(BIN)/python ]]; then $(BIN)/python -m tests.localcluster down; fi
	@rm -rf .local .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist build
	@rm -rf operator/xapp_operator/gateway/static operator/xapp_operator/gateway/static.next operator/dashboard/node_modules
	@rm -rf operator/dashboard/.built operator/dashboard/openapi.gen.json operator/dashboard/src/api/schema.gen.d.ts tests/browser/screenshots
	@find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Development

.PHONY: venv
venv: ## Set up .venv with the locked packages (PYTHON=… chooses the interpreter, 3.11 or newer).
	@PYTHON="$(PYTHON)" hack/venv

.PHONY: tools
tools: venv ## Download or build the programs of the local cluster (once per machine).
	@$(BIN)/python -m tests.localcluster tools

.PHONY: dashboard
dashboard: ## Build the dashboard into the package, if it has changed (brings its own Node.js 24 if PATH has none).
	@hack/dashboard build

.PHONY: dashboard-dev
dashboard-dev: venv ## Serve the dashboard from its sources on http://127.0.0.1:5173, with the gateway of `make run`.
	@hack/dashboard schema
	@exec hack/node npm run --silent dev

.PHONY: format
format: venv ## Format the code and fix what the linters can fix.
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@hack/dashboard schema
	@hack/node npm run --silent lint -- --fix
	@hack/node npm run --silent format

.PHONY: crds
crds: venv ## Generate crds/ and their copies in the chart from the models in operator/xapp_operator/api.
	@$(BIN)/python hack/crds.py crds
	@$(BIN)/python hack/chart.py manifests/chart

.PHONY: chart
chart: venv ## Write into the Helm chart what it has in common with crds/ and manifests/base, and its version.
	@$(BIN)/python hack/chart.py manifests/chart

.PHONY: cli-docs
cli-docs: venv ## Generate docs/cli-reference.md from the commands in operator/xapp_operator/cli.
	@$(BIN)/python hack/cli_reference.py docs/cli-reference.md

.PHONY: reference
reference: venv ## Generate docs/reference from the CRDs, the OpenAPI document, the settings, the metrics and the conditions.
	@$(BIN)/python hack/reference.py docs/reference

.PHONY: docs
docs: venv ## Build the documentation as a website (dist/docs/index.html).
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: lock
lock: venv ## Write the lock files with hashes from pyproject.toml and package.json (needs uv, see hack/requirements-uv.lock; UPGRADE=--upgrade updates versions).
	@PATH="$(BIN):$$PATH"; compile="uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header"; \
	  $$compile $(UPGRADE) pyproject.toml -o requirements.lock; \
	  $$compile $(UPGRADE) pyproject.toml --extra cli --group dev -o requirements-dev.lock; \
	  $$compile $(UPGRADE) --group build -o requirements-build.lock; \
	  $$compile $(UPGRADE) --group node -o hack/requirements-node.lock; \
	  $$compile $(UPGRADE) --group uv -o hack/requirements-uv.lock; \
	  $$compile $(UPGRADE) --group go -o tests/localcluster/gotools/requirements-go.lock
	@cd operator/dashboard && ../../hack/node --node-only npm install --package-lock-only --ignore-scripts

##@ Test

.PHONY: test
test: venv ## Check everything: lint, types, imports, and all tests. Needs no Docker, cluster or root.
	@$(MAKE) --jobs=2 --output-sync=target lint types imports workflows test-dashboard dashboard
	@$(BIN)/pytest -n $(WORKERS) $(IN_ORDER) --retry-cluster-tests $(PYTEST_ARGS) tests/browser tests/e2e tests/integration tests/security tests/unit

.PHONY: test-unit
test-unit: venv ## Run the tests that need no cluster.
	@$(BIN)/pytest $(PYTEST_ARGS) tests/unit

.PHONY: test-integration
test-integration: venv ## Run the tests against a real API server and the real helm (CLUSTER=local|kind|current).
	@CLUSTER=$(CLUSTER) $(BIN)/pytest -n $(WORKERS) $(IN_ORDER) $(PYTEST_ARGS) tests/integration

.PHONY: test-dashboard
test-dashboard: venv ## Check the dashboard without a browser: lint, types, format, and its unit tests.
	@hack/dashboard schema
	@for check in lint typecheck format:check test; do hack/node npm run --silent $$check; done

.PHONY: test-browser
test-browser: venv dashboard ## Test the dashboard in Chromium against a real control plane (needs chromium-headless-shell).
	@$(BIN)/pytest -n $(WORKERS) $(IN_ORDER) $(PYTEST_ARGS) tests/browser tests/e2e/test_dashboard.py

.PHONY: screenshots
screenshots: venv dashboard ## Take screenshots of all pages (tests/browser/screenshots), and draw those of the documentation (docs/images; needs a real node).
	@$(BIN)/pytest $(PYTEST_ARGS) --screenshots tests/browser tests/e2e/dashboard_pictures.py

.PHONY: test-deep
test-deep: venv ## Run property and fuzz tests with many random examples, for a nightly job (PYTEST_ARGS=tests/unit needs no cluster).
	@$(BIN)/pytest -n $(WORKERS) --hypothesis-profile=deep --timeout=0 -m 'hypothesis or fuzz' $(PYTEST_ARGS)

.PHONY: chaos
chaos: venv ## Inject faults at random into a control plane with two operators and 20 XApps, and count what is lost (SEED=… ROUNDS=20).
	@exec $(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)) --rounds $(ROUNDS)

.PHONY: mutate
mutate: venv ## Change the code in many places, one at a time, and list what no unit test notices (SAMPLE=100 of each package, 0 for all; SEED=… MODULES=domain/planning/plan.py).
	@exec $(BIN)/python -m tests.mutation --sample $(SAMPLE) $(if $(SEED),--seed $(SEED)) --jobs $(WORKERS) $(MODULES)

.PHONY: lint
lint: venv ## Check the style (ruff).
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: venv ## Check the types (mypy --strict).
	@$(BIN)/mypy

.PHONY: imports
imports: venv ## Check the layers (import-linter).
	@$(BIN)/lint-imports

.PHONY: workflows
workflows: venv ## Check the workflows in .github with actionlint.
	@program=$$($(BIN)/python -m tests.localcluster tools actionlint | cut -f2); "$$program" -color

.PHONY: audit
audit: venv ## Look for known vulnerabilities of the locked packages and the Go programs (AUDIT_REQUIRED=1 fails if the data is not reachable).
	@$(BIN)/python -m tests.audit

.PHONY: bench
bench: venv ## Run the benchmarks (tests/bench).
	@for file in tests/bench/*_bench.py; do $(BIN)/python -m "tests.bench.$$(basename "$$file" .py)"; done

##@ Build

.PHONY: image
image: ## Build the container image (needs Docker; IMAGE=xapp-operator:dev).
	@docker build --build-arg COMMIT="$$(git describe --always --abbrev=40 --dirty --exclude '*')" \
	  --build-arg VERSION="$$(sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)" --tag $(IMAGE) .

.PHONY: image-archive
image-archive: venv ## Build the same image without Docker, from the interpreter of .venv, as an archive with a list of its contents (ARCHIVE=dist/image.tar IMAGE=…).
	@$(BIN)/python -m tests.localcluster.appimage --name $(IMAGE) --output $(ARCHIVE)

.PHONY: image-sbom
image-sbom: venv ## Write what the image of `make image` contains, as CycloneDX (needs Docker; dist/docker-image.tar.cdx.json).
	@mkdir -p dist && docker save --output dist/docker-image.tar $(IMAGE)
	@$(BIN)/python -m tests.localcluster.appimage.sbom dist/docker-image.tar $(IMAGE)

.PHONY: base-images
base-images: ## Print the base images of the Dockerfile with the current digests of their tags (needs Docker).
	@sed -n 's/^FROM \([^ ]*\)@sha256:.*/\1/p' Dockerfile | while read -r image; do \
	  echo "$$image@$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$$image")"; done

.PHONY: sample-image
sample-image: venv ## Build the image of the sample xApps without Docker and print its path.
	@$(BIN)/python -m tests.localrun.image

##@ Deploy

.PHONY: deploy
deploy: ## Apply an overlay of manifests/ to the current cluster (OVERLAY=development, or another folder of manifests/overlays).
	@kubectl apply --server-side -k manifests/overlays/$(OVERLAY)

.PHONY: undeploy
undeploy: ## Remove what deploy applied. Refused while XApps exist: only a running operator can remove them.
	@xapps=$$(kubectl get xapps --all-namespaces --output name --ignore-not-found); \
	  if [[ -n $$xapps ]]; then echo "error: delete these first:" $$xapps >&2; exit 1; fi
	@kubectl delete --ignore-not-found -k manifests/overlays/$(OVERLAY)
