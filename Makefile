# Everything needs only Go, git, make and a shell. `make` alone lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

GO ?= go
TOOL := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
FUZZTIME ?= 30s
VERSION ?= $(patsubst v%,%,$(shell git describe --tags --match='v*' --dirty 2>/dev/null))
VERSION_VAR := github.com/holdfast-dev/holdfast/internal/platform/version.Version

# Without this tag kustomize imports the package plugin; then the linker keeps every exported method and calls
# the C linker, which takes half as long again. internal/testkit/nested and hack/build set it too.
WITHOUT_PLUGINS := -tags=kustomize_disable_go_plugin_support
export GOFLAGS := $(strip $(filter-out $(WITHOUT_PLUGINS),$(shell $(GO) env GOFLAGS)) $(WITHOUT_PLUGINS))

# A cluster of your own instead of the local control plane: `make demo KUBECONFIG=path`, the same for
# up and test. It must be one without Holdfast, and is left as it was; tests that break things and
# the bench never run on it. Only what stands on the command line counts: a KUBECONFIG that your shell
# happens to export is never touched.
ifeq ($(origin KUBECONFIG),command line)
export HOLDFAST_KUBECONFIG := $(abspath $(KUBECONFIG))
else
unexport KUBECONFIG
endif

##@ See it work

.PHONY: demo
demo: ## Build everything, start a local control plane, protect things and try to delete them.
	@echo "Compiling the demo; the first time that takes some minutes." >&2
	@$(GO) run ./demo run

.PHONY: up
up: ## Leave a local control plane running, with Holdfast in it; prints its KUBECONFIG. FEATURES=all, or some of trees,sync,serviceaccounts
	@echo "Compiling; the first time that takes some minutes." >&2
	@$(GO) run ./demo up -features="$(FEATURES)"

.PHONY: down
down: ## End what `make up` started.
	@$(GO) run ./demo down

##@ Change it

.PHONY: build
build: ## Build the two binaries into bin/, the plugin under its other names too.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w $(if $(VERSION),-X $(VERSION_VAR)=$(VERSION))' -o bin/ ./cmd/...
	@cd bin; for name in kubectl-hns kubectl_complete-holdfast kubectl_complete-hns; do ln -sf kubectl-holdfast $$name; done

.PHONY: image
image: ## Build the manager's image into bin/image, as an OCI layout; BASE=image to put it on, such as one with git.
	$(GO) run ./hack/image -o bin/image $(if $(VERSION),-version=$(VERSION)) $(if $(BASE),-base=$(BASE))

.PHONY: krew
krew: ## Build the plugin's archives and krew's manifest of a release into bin/krew; VERSION=1.2.3.
	$(GO) run ./hack/krew -o bin/krew -version=$(VERSION)

TEST := $(GO) run ./hack/test
CHOSEN = $(if $(RUN),-run='$(RUN)') $(if $(RACE),-race=$(RACE)) $(ARGS) $(PKG)

.PHONY: test
test: ## Run the tests that a change needs; PKG=./internal/deletion/... RUN=TestName to choose.
	@$(TEST) $(CHOSEN)

.PHONY: test-all
test-all: ## Run every test, with the race detector; PKG and RUN as above, SHARD=1/3 for one part of three.
	@$(TEST) -all $(if $(SHARD),-shard=$(SHARD)) $(CHOSEN)

.PHONY: flake
flake: ## Run tests 10 times beside 8 busy processes, and list those that fail; PKG and RUN as above, N=3 for another number.
	@$(TEST) -times=$(or $(N),10) -busy=$(or $(BUSY),8) $(CHOSEN)

.PHONY: soak
soak: ## Run all features under mixed load while managers are killed and the API server restarts; FOR=30m NAMESPACES=500.
	@$(GO) run ./hack/localcluster > /dev/null
	$(GO) test -count=1 -v -timeout 3h -run '^TestSoak$$' ./test/soak -soak.for=$(or $(FOR),30m) -soak.namespaces=$(or $(NAMESPACES),500)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (30s); FUZZ=name to choose.
	@GO="$(GO)" hack/fuzz.sh "$(FUZZTIME)" "$(FUZZ)"

.PHONY: bench
bench: ## Measure Holdfast against the bare API server in the same run; ARGS=-run=name to choose.
	$(if $(HOLDFAST_KUBECONFIG),$(error the bench runs on a local control plane only: leave KUBECONFIG away))
	@$(GO) run ./test/bench $(ARGS)

.PHONY: generate
generate: ## Make deep copies, CRDs and the reference docs from the types and commands, config/ from the chart.
	$(TOOL) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	@rm -f config/crd/*.yaml config/crd/hnc/*.yaml config/crd/configsync/*.yaml
	$(TOOL) controller-gen crd paths=./api/holdfast/... output:crd:dir=config/crd
	@# In a folder of their own, which "kubectl apply -f config/crd" passes by: the feature is off by
	@# default, and a cluster may have HNC's.
	$(TOOL) controller-gen crd paths=./api/hnc/... output:crd:dir=config/crd/hnc
	$(GO) run ./hack/crd config/crd/hnc/hnc.x-k8s.io_hierarchyconfigurations.yaml:name=hierarchy \
		config/crd/hnc/hnc.x-k8s.io_hncconfigurations.yaml:name=config
	$(TOOL) controller-gen crd paths=./api/configsync/... paths=./api/kpt/... output:crd:dir=config/crd/configsync
	$(GO) run ./hack/crd config/crd/configsync/configsync.gke.io_rootsyncs.yaml:version=v1alpha1
	@$(call reference,holdfast,api.md,The holdfast.dev API)
	@$(call reference,hnc,hnc.md,The hnc.x-k8s.io API)
	@$(call reference,configsync,configsync.md,The configsync.gke.io API)
	@$(call reference,config,configuration.md,The configuration file)
	$(GO) run ./hack/clidocs > docs/reference/cli.md
	cd charts && $(GO) run ./manifests ..

# $(call reference,folder of api,file of docs/reference,title)
reference = echo 'crd-ref-docs api/$(1) > docs/reference/$(2)'; \
	$(TOOL) crd-ref-docs --log-level=WARN --renderer=markdown --config=hack/crd-ref-docs/config.yaml \
	--templates-dir=hack/crd-ref-docs/templates --template-value='title=$(3)' \
	--source-path=api/$(1) --output-path=docs/reference/$(2)

.PHONY: fmt
fmt: ## Format the code and sort its imports.
	$(TOOL) golangci-lint fmt . kwok localcluster
	@$(call in-modules,charts test/clients test/gitops,fmt .)

.PHONY: lint
lint: ## Lint; the dependency rules of the tree are among the linters.
	$(TOOL) golangci-lint run --allow-parallel-runners
	@$(call in-modules,charts kwok localcluster test/clients test/gitops,run)

# $(call in-modules,folders of modules,arguments of golangci-lint)
in-modules = lint=$$($(TOOL) -n golangci-lint) root=$$PWD; \
	for module in $(1); do (set -x; cd $$module; "$$lint" $(2) --config=$$root/.golangci.yml); done

.PHONY: verify
verify: ## What CI checks before the tests: generated files, go.mod files, lint, vulnerabilities, nothing uncommitted.
	@MAKE="$(MAKE)" GO="$(GO)" VULNDB="$(VULNDB)" VULNCHECK="$(VULNCHECK)" hack/verify.sh

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what Holdfast calls; needs the Go vulnerability database.
	@GO="$(GO)" VULNDB="$(VULNDB)" hack/vulncheck.sh

.PHONY: clean
clean: ## Remove bin/ and .local/; the built control plane stays in its cache.
	rm -rf bin .local

.PHONY: help
help: ## List the targets.
	@while IFS= read -r line; do \
		if [[ $$line =~ ^'##@ '(.*) ]]; then printf '\n%s\n' "$${BASH_REMATCH[1]}"; \
		elif [[ $$line =~ ^([a-z-]+):.*'## '(.*) ]]; then printf '  make %-10s %s\n' "$${BASH_REMATCH[1]}" "$${BASH_REMATCH[2]}"; fi; \
	done < Makefile
