# formledger: the menu is "make help".

GO ?= go
# Debian packages: a C compiler for SQLite, and what the tests drive.
BUILD_PACKAGES = gcc libc6-dev
TEST_PACKAGES  = $(BUILD_PACKAGES) chromium chromium-driver procps
# How long a short fuzz run is, in tries: a limit in seconds can end a run in
# the middle of the fuzzer's own bookkeeping.
FUZZ ?= 3000x

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this menu
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: run
run: build ## Start the demo: a form, its receipts, and a folder for the mail
	./formledger serve

.PHONY: build
build: compiler ## Build the program: ./formledger
	$(GO) build -o formledger ./cmd/formledger

.PHONY: test
test: deps check ## Run every check and test (about ten minutes on two cores)
	$(GO) test -race ./...
	$(GO) test -race -tags failpoints ./ledger/failpoint ./relay/maildir
	@$(MAKE) --no-print-directory fuzz

.PHONY: check
check: ## Look for vet, staticcheck and gofmt complaints
	$(GO) vet ./...
	$(GO) vet -tags failpoints ./...
	$(GO) tool staticcheck ./...
	@unformatted="$$(gofmt -l cmd handlers ledger relay web *.go)"; \
	if [ -n "$$unformatted" ]; then echo "gofmt -w is due in:"; echo "$$unformatted"; exit 1; fi

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZ=3000x, or FUZZ=10m)
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "fuzz $$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 5x $$package; \
	  done; \
	done

.PHONY: soak
soak: deps ## Run the tests twenty times over and fuzz for long (hours)
	$(GO) test -race -count=20 -timeout 4h ./...
	@$(MAKE) --no-print-directory fuzz FUZZ=10m

.PHONY: bench
bench: compiler ## Measure submissions per second, with and without the ledger
	$(GO) run ./cmd/bench

# SQLite is C, so Go needs a C compiler.
.PHONY: compiler
compiler:
	@command -v gcc >/dev/null || $(MAKE) --no-print-directory install PACKAGES="$(BUILD_PACKAGES)"

.PHONY: deps
deps: ## Install the Debian packages that the tests use, where this machine allows it
	@missing=""; for p in $(TEST_PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -n "$$missing" ]; then $(MAKE) --no-print-directory install PACKAGES="$$missing"; fi

# Without root or apt-get the tests say what they could not test; under CI they
# fail then.
.PHONY: install
install:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES) >/dev/null; \
	else \
	  echo "Please install these packages, for example with: sudo apt-get install $(PACKAGES)"; \
	fi
