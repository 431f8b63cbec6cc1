# firn: `make` builds it, `make run` talks to it, `make test` proves it.
#
#   make build   bin/firn
#   make run     build, then open a chat on the offline model (firn chat)
#   make demo    build, then walk the whole story once (firn demo)
#   make test    install what the tests need, then run them all
#   make check   format, vet, other systems, staticcheck, race detector, known holes
#   make bench   measure, and print the ratios that count
#   make fuzz    every fuzz target for FUZZTIME each
#   make soak    the kill -9 tests, KILLS times over
#   make fmt     format

SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c

GO ?= go
# Tools have a module of their own, so that what they need stays out of ours.
TOOL := $(GO) tool -modfile=tools/go.mod
# The CI passes -count=1 here; at home the test cache is welcome.
TESTFLAGS ?=
FUZZTIME ?= 30s
KILLS ?= 2000
BENCHFLAGS ?=

.DEFAULT_GOAL := build
.PHONY: build run demo test check bench fuzz soak fmt setup
.PHONY: check-format check-vet check-systems check-static check-race check-holes

build:
	$(GO) build -o bin/firn ./cmd/firn

run: build
	@bin/firn chat

demo: build
	@bin/firn demo

setup:
	@tools/setup.sh

# The SDKs of the providers have a module of their own too, which is slow to
# compile the first time.
test: setup
	$(GO) test $(TESTFLAGS) ./...
	cd interop/sdk && $(GO) test -vet=all $(TESTFLAGS) ./...

# Cheap checks first: a missing space should not cost a race run.
check: check-format check-vet check-systems check-static check-race check-holes

check-format:
	@tools/format.sh

check-vet:
	$(GO) vet ./...

# Vet compiles everything, tests too, without running it.
check-systems:
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...

check-static:
	$(TOOL) staticcheck ./...

# With -short the heaviest tests do fewer rounds; none is left out.
# Not what measures, nor what tries other programs; of the command, what several
# use at once. Its scripts run without the detector, which makes every start slow.
check-race: setup
	$(GO) test -race -short $(TESTFLAGS) $$($(GO) list ./... | grep -v -e /bench$$ -e /interop$$ -e /cmd/firn$$)
	$(GO) test -race -short $(TESTFLAGS) -run 'TestTwo|TestGatewayScripts' ./cmd/firn

check-holes:
	@GO="$(GO)" tools/holes.sh

# The report holds figures against targets; BENCHFLAGS=-h tells what it takes.
# The benchmarks of single packages come after it.
bench:
	$(GO) run ./bench $(BENCHFLAGS)
	$(GO) test ./... -run '^$$' -bench . -benchmem | grep -v -e 'no test files' -e '^PASS'

fuzz:
	@GO="$(GO)" tools/fuzz.sh $(FUZZTIME)

soak:
	FIRN_KILLS=$(KILLS) $(GO) test ./... -run Kill -count=1 -timeout 4h

fmt:
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')
