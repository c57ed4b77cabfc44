# formledger: the menu is "make help".

GO ?= go
# Debian packages: a C compiler for SQLite, and what the tests drive.
BUILD_PACKAGES = gcc libc6-dev
TEST_PACKAGES  = $(BUILD_PACKAGES) chromium chromium-driver curl dovecot-imapd openssl postfix php-cli $(NODE_PACKAGES)
# Node may be there from elsewhere; Debian's would not go together with it.
NODE_PACKAGES  = $(if $(shell command -v node 2>/dev/null),,nodejs) $(if $(shell command -v npm 2>/dev/null),,npm)
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
test: deps check ## Run every check and test (about fourteen minutes on two cores)
	@$(MAKE) --no-print-directory quietly RUN="-race $(ALONE)"
	@$(MAKE) --no-print-directory quietly AT_ONCE=2 RUN="-race $$($(GO) list ./... | grep -vE '/(cmd/formledger|cmd/bench|handlers)$$' | tr '\n' ' ')"
	@$(MAKE) --no-print-directory quietly AT_ONCE=2 RUN="-race -tags failpoints ./ledger/failpoint ./relay/maildir ./relay/smtp ./relay/server"
	@$(MAKE) --no-print-directory quietly RUN="-run Flood ./relay/server"
	@$(MAKE) --no-print-directory fuzz

# The flood of a million calls runs without the race detector, which makes it
# slow; with it, it is a smaller one.
#
# quietly builds side by side and tests one package after the other, or AT_ONCE:
# the browsers and processes of some need the machine, and others mostly wait. What
# could not be tested is said in any case; the rest only if something fails.
ALONE   = ./cmd/bench ./cmd/formledger ./handlers
AT_ONCE = 1
.PHONY: quietly
quietly:
	@$(GO) test -run '^$$' $(RUN) >/dev/null
	@log="$$(mktemp)"; status=0; $(GO) test -p $(AT_ONCE) -v $(RUN) >"$$log" 2>&1 || status=$$?; \
	if [ $$status = 0 ]; then grep -E '^ok |NOT TESTED' "$$log"; \
	else grep -vE '^ *(=== (RUN|PAUSE|CONT|NAME)|--- PASS)' "$$log"; fi; \
	rm -f "$$log"; exit $$status

.PHONY: check
check: ## Look for vet, staticcheck and gofmt complaints
	$(GO) vet ./...
	$(GO) vet -tags failpoints ./...
	$(GO) tool staticcheck ./...
	@unformatted="$$(gofmt -l cmd handlers ledger relay web *.go)"; \
	if [ -n "$$unformatted" ]; then echo "gofmt -w is due in:"; echo "$$unformatted"; exit 1; fi

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZ=3000x, or FUZZ=10m)
	@set -e; for package in $$(grep -rl --include=*_test.go '^func Fuzz' cmd handlers ledger relay web | xargs -n1 dirname | sort -u | sed 's,^,./,'); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "fuzz $$package $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 5x $$package; \
	  done; \
	done

.PHONY: screenshots
screenshots: deps ## Write a picture of every state of the pages to ./screenshots
	FORMLEDGER_SCREENSHOTS="$(CURDIR)/screenshots" $(GO) test -count=1 -run '^TestScreenshots$$' ./handlers

.PHONY: soak
soak: deps ## Run the tests twenty times over and fuzz for long (hours)
	$(GO) test -race -count=20 -timeout 4h ./...
	@$(MAKE) --no-print-directory fuzz FUZZ=10m

.PHONY: bench
bench: compiler ## Measure submissions and mails per second, and what the ledger costs
	$(GO) run ./cmd/bench

# SQLite is C, so Go needs a C compiler.
.PHONY: compiler
compiler:
	@command -v gcc >/dev/null || $(MAKE) --no-print-directory install PACKAGES="$(BUILD_PACKAGES)"
	@command -v gcc >/dev/null

.PHONY: deps
deps: ## Install the Debian packages that the tests use, where this machine allows it
	@missing=""; for p in $(TEST_PACKAGES); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -n "$$missing" ]; then $(MAKE) --no-print-directory install PACKAGES="$$missing"; fi

# policy-rc.d keeps a package from starting its service: the tests start what
# they need in folders of their own.
# Without root or apt-get the tests say what they could not test; under CI they
# fail then.
.PHONY: install
install:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  if [ ! -e /usr/sbin/policy-rc.d ]; then \
	    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; \
	    trap 'rm -f /usr/sbin/policy-rc.d' EXIT; \
	  fi; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES) >/dev/null; \
	else \
	  echo "Please install these packages, for example with: sudo apt-get install $(PACKAGES)"; \
	fi
